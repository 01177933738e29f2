/** Places: one array in the DAG, one in each backfill. Whoever stands in it is active; there is no counter. */
import type { StoreContext } from '../context.js';
import type { QueuedRun } from './queued-run.js';

/**
 * Takes a place by one conditional write: only while fewer than `maxActive` are taken (for a backfill's run: than the
 * backfill's own limit, and only while it runs). True also when the run has its place already.
 */
export async function takePlace(
  context: StoreContext,
  run: Pick<QueuedRun, '_id' | 'dagId' | 'backfillId'>,
  maxActive: number,
): Promise<boolean> {
  const { dags, backfills } = context.collections;
  if (run.backfillId === null) {
    const taken = await dags.findOneAndUpdate(
      {
        _id: run.dagId,
        activeRunIds: { $ne: run._id },
        [`activeRunIds.${maxActive - 1}`]: { $exists: false },
      },
      { $push: { activeRunIds: run._id } },
      { projection: { _id: 1 } },
    );
    if (taken !== null) return true;
    const holds = await dags.findOne(
      { _id: run.dagId, activeRunIds: run._id },
      { projection: { _id: 1 } },
    );
    return holds !== null;
  }
  const taken = await backfills.findOneAndUpdate(
    {
      _id: run.backfillId,
      state: 'running',
      // Only a run whose date has had its turn: see backfill/feed-backfills.ts.
      openRunIds: run._id,
      activeRunIds: { $ne: run._id },
      $expr: { $lt: [{ $size: '$activeRunIds' }, '$maxActive'] },
    },
    { $push: { activeRunIds: run._id } },
    { projection: { _id: 1 } },
  );
  if (taken !== null) return true;
  const holds = await backfills.findOne(
    { _id: run.backfillId, activeRunIds: run._id },
    { projection: { _id: 1 } },
  );
  return holds !== null;
}

/** Gives the place back, wherever it is. Repeatable; a run without one changes nothing. */
export async function releasePlace(
  context: StoreContext,
  run: Pick<QueuedRun, '_id' | 'dagId' | 'backfillId'>,
): Promise<void> {
  const { dags, backfills } = context.collections;
  const change = { $pull: { activeRunIds: run._id } };
  if (run.backfillId === null) {
    await dags.updateOne({ _id: run.dagId, activeRunIds: run._id }, change);
  } else {
    await backfills.updateOne({ _id: run.backfillId, activeRunIds: run._id }, change);
  }
}
