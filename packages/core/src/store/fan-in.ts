/**
 * How a task waits for its dependencies.
 *
 * Up to {@link largestPendingSet} of them stand in the task's own `pending` set, and each upstream task removes itself
 * from it. Above, no set is kept: whoever finishes asks "is any upstream still open?", answered by the `feeds` index,
 * so that finishing one of 10,000 costs as little as finishing one of two, and no document grows with the graph.
 */
import type { JobDefinition } from '../model/definition.js';
import type { KnownVersion } from './version-cache.js';

export const largestPendingSet = 100;

/** True when the job's task keeps no pending set. */
export function isWideJoin(job: JobDefinition): boolean {
  return job.dependsOn.length > largestPendingSet;
}

/** The wide joins that wait for a job. */
export function feedsOf(jobId: string, version: KnownVersion): string[] {
  return (version.dependents.get(jobId) ?? []).filter((id) => isWideJoin(version.jobs.get(id)!));
}
