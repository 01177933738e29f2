import { ConflictError, NotFoundError } from '../../errors.js';
import type { TaskState } from '../../model/states.js';
import { didYouMean } from '../../time/did-you-mean.js';
import type { KnownVersion } from '../version-cache.js';

/** What a retry is asked for. */
export interface RetrySelection {
  /** Ids of jobs. Absent: every task that failed, was cancelled, or could not run because of one that did. */
  readonly jobs?: readonly string[];
  /** Also what succeeded downstream of them. */
  readonly downstream?: boolean;
}

/**
 * The jobs whose tasks run again, in topological order. Pure.
 *
 * What was asked for, and everything downstream of it that did not succeed: a dependent that was skipped, failed or never
 * ran stands on a result that is about to change. What succeeded downstream stays, unless `downstream` asks for it.
 *
 * `states` are those of the tasks of a run that has ended; a job without one takes no part in the run. Throws NotFoundError for
 * a name that is no job of the run, ConflictError when nothing is left to do or a named job waits for one that did not succeed.
 */
export function chooseTasks(
  version: KnownVersion,
  states: ReadonlyMap<string, TaskState>,
  selection: RetrySelection = {},
): string[] {
  const asked = selection.jobs ?? [...states.keys()].filter((job) => isUndone(states.get(job)));
  for (const job of asked) {
    if (!states.has(job)) throw noSuchJob(job, [...states.keys()]);
  }
  if (asked.length === 0) {
    throw new ConflictError('There is nothing to retry: no task failed or was cancelled.', {
      hint: 'Name a job with --job to run it again all the same.',
    });
  }
  const chosen = new Set(asked);
  const seen = new Set(asked);
  const queue = [...asked];
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
    for (const dependent of version.dependents.get(job) ?? []) {
      const state = states.get(dependent);
      if (state === undefined || seen.has(dependent)) continue;
      seen.add(dependent);
      queue.push(dependent);
      if (state !== 'succeeded' || selection.downstream === true) chosen.add(dependent);
    }
  }
  if (selection.jobs !== undefined) refuseHopeless(version, states, chosen, selection.jobs);
  return version.definition.jobs.map((job) => job.id).filter((job) => chosen.has(job));
}

function isUndone(state: TaskState | undefined): boolean {
  return state === 'failed' || state === 'cancelled' || state === 'upstream-failed';
}

/** A named job whose upstream did not succeed, and does not run again, could only end as it did. */
function refuseHopeless(
  version: KnownVersion,
  states: ReadonlyMap<string, TaskState>,
  chosen: ReadonlySet<string>,
  asked: readonly string[],
): void {
  for (const job of asked) {
    for (const upstream of version.jobs.get(job)?.dependsOn ?? []) {
      const state = states.get(upstream);
      if (state === undefined || state === 'succeeded' || chosen.has(upstream)) continue;
      throw new ConflictError(
        `${job} cannot run again: it waits for ${upstream}, which ${told[state] ?? `is ${state}`}.`,
        {
          hint: `Retry that one, too: --job ${upstream}.`,
        },
      );
    }
  }
}

const told: Partial<Record<TaskState, string>> = {
  failed: 'failed',
  cancelled: 'was cancelled',
  skipped: 'was skipped',
  'upstream-failed': 'could not run either',
};

/** For a job that is named and not there. */
export function noSuchJob(job: string, known: readonly string[]): NotFoundError {
  const near = didYouMean(job, known);
  return new NotFoundError(`There is no job "${job}" here.`, {
    hint:
      near === undefined
        ? `The jobs are: ${known.slice(0, 20).join(', ')}.`
        : `Did you mean "${near}"?`,
  });
}
