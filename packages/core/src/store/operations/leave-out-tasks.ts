/**
 * Runs of a part of their graph: `part` of the run names the jobs that run.
 *
 * The other tasks are made, too, so that a run always shows its whole graph, but closed from the start: `skipped`. Those whose
 * results the part needs carry a copy of them, from the earlier run that `part.source` names; `takenFrom` says so. A copy, since
 * the earlier run may be removed, or retried, before this one is over. Making the tasks again gives the same documents.
 *
 * The part waits for nothing outside of it. Where a result is gone when the tasks are made, what needs it ends `cancelled`: it
 * never runs with less than it was promised.
 */
import type { Binary } from 'mongodb';
import { taskId } from '../../model/ids.js';
import type { RunDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import type { KnownVersion } from '../version-cache.js';

export type RunPart = NonNullable<RunDocument['part']>;

/** The jobs outside a part whose results it takes, in topological order. */
export function inputsOfPart(version: KnownVersion, jobs: readonly string[]): string[] {
  const part = new Set(jobs);
  const inputs = new Set(
    jobs.flatMap((job) => version.jobs.get(job)?.dependsOn ?? []).filter((job) => !part.has(job)),
  );
  return version.definition.jobs.map((job) => job.id).filter((job) => inputs.has(job));
}

/** The results that an earlier run has of some jobs. A job that is not in the answer has none there. */
export async function readResults(
  context: StoreContext,
  runId: string,
  jobs: readonly string[],
): Promise<Map<string, Binary | null>> {
  const found = await context.collections.tasks
    .find(
      { _id: { $in: jobs.map((job) => taskId(runId, job)) }, ...withResult },
      { projection: { jobId: 1, result: 1 } },
    )
    .toArray();
  return new Map(found.map((task) => [task.jobId, task.result]));
}

/** Of tasks that have a result, their own or a copy. */
export const withResult = {
  $or: [{ state: 'succeeded' as const }, { takenFrom: { $gt: '' } }],
};

/** The tasks of a run with those outside its part closed. */
export async function leaveOutTasks(
  context: StoreContext,
  { jobs, source }: RunPart,
  version: KnownVersion,
  tasks: readonly TaskDocument[],
): Promise<TaskDocument[]> {
  const part = new Set(jobs);
  const inputs = inputsOfPart(version, jobs);
  const results =
    source === null || inputs.length === 0
      ? new Map<string, Binary | null>()
      : await readResults(context, source, inputs);
  const endedAt = context.clock.estimate();
  return tasks.map((task) => {
    if (part.has(task.jobId)) {
      const dependsOn = version.jobs.get(task.jobId)!.dependsOn;
      const { feeds, ...rest } = task;
      const partFeeds = feeds?.filter((join) => part.has(join)) ?? [];
      return {
        ...rest,
        ...(partFeeds.length === 0 ? {} : { feeds: partFeeds }),
        root: !dependsOn.some((job) => part.has(job)),
        pending: task.pending?.filter(({ job }) => part.has(job)) ?? null,
        upstream: {
          ...task.upstream,
          cancelled: dependsOn.some((job) => !part.has(job) && !results.has(job)),
        },
      };
    }
    // Without `feeds`: no join of the part asks for it.
    const { feeds: _feeds, ...rest } = task;
    const taken = results.has(task.jobId) ? source : null;
    return {
      ...rest,
      state: 'skipped' as const,
      endedAt,
      result: results.get(task.jobId) ?? null,
      ...(taken === null ? {} : { takenFrom: taken }),
      error: { name: 'LeftOut', message: messageOf(task.jobId, taken, inputs, source) },
    };
  });
}

function messageOf(
  job: string,
  taken: string | null,
  inputs: readonly string[],
  source: string | null,
): string {
  if (taken !== null) return `not part of this run; its result is that of run ${taken}`;
  if (inputs.includes(job)) return `not part of this run; its result in run ${source} is gone`;
  return 'not part of this run';
}
