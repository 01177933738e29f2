import type { AnyBulkWriteOperation } from 'mongodb';
import { taskId } from '../../model/ids.js';
import { closedTaskStates, type TaskState } from '../../model/states.js';
import type { RunDocument, TaskDocument } from '../collections.js';
import { isWideJoin } from '../fan-in.js';
import type { KnownVersion } from '../version-cache.js';

/** What a retry knows of the tasks of its run. */
export interface RetriedTasks {
  /** The generations that the tasks had which run again, by job. */
  readonly generations: ReadonlyMap<string, number>;
  /** The states of those that stay as they are, by job; a job in neither takes no part in the run. */
  readonly staying: ReadonlyMap<string, TaskState>;
}

/**
 * The write that takes one closed task back to the start, in its next generation. Guarded by the generation that it had, so it
 * happens once. The history of attempts and the fencing token stay; failures and losses begin again at none.
 *
 * It waits for those of its dependencies that run again; what the others had to say is in `upstream` from the start.
 */
export function resetTask(
  run: Pick<RunDocument, '_id' | 'openEpoch'>,
  version: KnownVersion,
  jobId: string,
  { generations, staying }: RetriedTasks,
): AnyBulkWriteOperation<TaskDocument> {
  const job = version.jobs.get(jobId)!;
  const generation = generations.get(jobId)!;
  const waitsFor = job.dependsOn.filter((upstream) => generations.has(upstream));
  const said = job.dependsOn.map((upstream) => staying.get(upstream));
  return {
    updateOne: {
      filter: {
        _id: taskId(run._id, jobId),
        state: { $in: [...closedTaskStates] },
        generation,
      },
      update: {
        $set: {
          state: 'blocked',
          generation: generation + 1,
          openEpoch: run.openEpoch + 1,
          root: waitsFor.length === 0,
          pending: isWideJoin(job)
            ? null
            : waitsFor.map((upstream) => ({
                job: upstream,
                generation: generations.get(upstream)! + 1,
              })),
          upstream: {
            failed: said.some((state) => state === 'failed' || state === 'upstream-failed'),
            skipped: said.includes('skipped'),
            cancelled: said.includes('cancelled'),
          },
          readyAt: null,
          delayedUntil: null,
          lease: null,
          failures: 0,
          losses: 0,
          cancelRequestedAt: null,
          propagated: true,
          result: null,
          error: null,
          progress: null,
          startedAt: null,
          endedAt: null,
          expireAt: null,
        },
      },
    },
  };
}
