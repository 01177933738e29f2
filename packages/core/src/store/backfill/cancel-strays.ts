import { isFlowError } from '../../errors.js';
import type { StoreContext } from '../context.js';
import { cancelRun } from '../operations/cancel-run.js';
import { workThrough } from '../operations/work-through.js';
import { livingBackfills } from './living-backfills.js';

const strayRunsAtOnce = 1_000;

/** Cancels queued runs whose backfill has ended: nobody would admit them. */
export async function cancelStrays(context: StoreContext): Promise<void> {
  const { runs } = context.collections;
  const queued = await runs
    .find(
      { backfillId: { $gt: '' }, state: 'queued' },
      { projection: { backfillId: 1, cancelRequestedAt: 1 } },
    )
    .limit(strayRunsAtOnce)
    .toArray();
  if (queued.length === 0) return;
  const ids = [...new Set(queued.map((run) => run.backfillId!))];
  const living = await livingBackfills(context, ids);
  const strays = queued.filter((run) => !living.has(run.backfillId!));
  await workThrough(strays, async (run) => {
    try {
      await cancelRun(context, run._id, `backfill ${run.backfillId} has ended`);
    } catch (error) {
      // Gone meanwhile.
      if (!isFlowError(error, 'not-found')) throw error;
    }
  });
}
