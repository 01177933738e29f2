/**
 * What a pause does to scheduled and catch-up runs that are in the queue already: none of them starts once the pause has answered.
 *
 * Authority: `heldAtRev` of the run, for its first opening. Whoever admits has read the DAG, and may stand still between that
 * and any of its writes; a place is of no help, since under `overlap: allow` none is taken, and elsewhere it may be taken
 * already. So a pause, after it has marked the DAG, writes its revision into each such run, and an admission starts a run only
 * where no revision later than the one it has read stands there: start-run.ts says so in the very write that starts it.
 *
 * Revisions only grow, so nothing has to be taken back: an admission that reads the DAG after a resume has a later one.
 * Dying between the two writes of a pause leaves a paused DAG, of which every later reader starts nothing, and perhaps one
 * admission under way that still may: that pause has not answered. The next call of it writes the rest.
 */
import type { RunDocument } from '../collections.js';
import type { StoreContext } from '../context.js';

const heldCauses = ['schedule', 'catch-up'] as const;

/** True for runs that a pause holds: those of the schedule, until somebody retries them. */
export function isHeldByPause({ cause, openEpoch }: Pick<RunDocument, 'cause' | 'openEpoch'>) {
  return openEpoch === 0 && heldCauses.some((held) => held === cause);
}

/** The same, as a filter of runs. */
export const heldByPause = { openEpoch: 0, cause: { $in: [...heldCauses] } };

/**
 * The revision under which an admission may start the run, by its reading of a DAG that was not paused; null for a run that no
 * pause holds.
 */
export function revToStart(
  dag: { readonly scheduleRev: number },
  run: Pick<RunDocument, 'cause' | 'openEpoch'>,
): number | null {
  return isHeldByPause(run) ? dag.scheduleRev : null;
}

/** Holds what is queued, for a DAG that is paused in this revision. Repeatable. */
export async function holdQueuedRuns(
  context: StoreContext,
  dagId: string,
  scheduleRev: number,
): Promise<void> {
  await context.collections.runs.updateMany(
    { dagId, state: 'queued', ...heldByPause },
    { $max: { heldAtRev: scheduleRev } },
  );
}
