import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { requestCancel } from './cancel-run.js';
import { heldByPause } from './hold-runs.js';

const runsAtOnce = 100;

/**
 * True for a DAG that left the code while it was paused: nobody resumes it, so what its pause holds in the queue is cancelled. A pause
 * that began after that was meant for those runs, and holds them until its own end.
 */
export function isGoneWhilePaused(
  dag: Pick<DagDocument, 'state' | 'pausedAt' | 'retiredAt'>,
): boolean {
  const { state, pausedAt, retiredAt } = dag;
  return state === 'retired' && pausedAt !== null && retiredAt !== null && pausedAt <= retiredAt;
}

/**
 * Cancels what a pause holds of a DAG that {@link isGoneWhilePaused}. The retirement does it at once, and each admission of the DAG
 * again, so that a retirement which died in between leaves nothing waiting.
 */
export async function cancelHeldRuns(context: StoreContext, dagId: string): Promise<void> {
  for (;;) {
    const held = await context.collections.runs
      .find(
        { dagId, state: 'queued', ...heldByPause, cancelRequestedAt: null, refused: null },
        { projection: { _id: 1 } },
      )
      .limit(runsAtOnce)
      .toArray();
    for (const { _id } of held) {
      await requestCancel(context, _id, `${dagId} left the code while it was paused`);
    }
    if (held.length < runsAtOnce) return;
  }
}
