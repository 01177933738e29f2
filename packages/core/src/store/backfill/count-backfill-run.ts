/**
 * Counting the runs of a backfill, and ending it.
 *
 * Authority: `openRunIds`. A run is in it from the write that gave its date its turn until the write that counts it, which pulls
 * the id and raises the counter at once: so each run is counted exactly once, whoever closes it, however often this is called.
 * A death between the run's closing and this leaves the id; every feeding looks whether the runs behind the ids are open.
 */
import type { UpdateFilter } from 'mongodb';
import { isClosedRun } from '../../model/states.js';
import type { BackfillDocument, RunDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { NOW } from '../task-transitions.js';

/**
 * Counts a closed run of a backfill and gives its place back; ends the backfill if it was the last one. Does nothing for a run
 * without a backfill, an open one, and one that was counted. Idempotent.
 */
export async function countBackfillRun(
  context: StoreContext,
  run: Pick<RunDocument, '_id' | 'backfillId' | 'state'>,
): Promise<void> {
  if (run.backfillId === null || !isClosedRun(run.state)) return;
  const counted = await context.collections.backfills.findOneAndUpdate(
    { _id: run.backfillId, openRunIds: run._id },
    { $pull: { openRunIds: run._id, activeRunIds: run._id }, $inc: { [run.state]: 1 } },
    { returnDocument: 'after' },
  );
  if (counted !== null && isDone(counted)) await endBackfill(context, counted._id);
}

/** True when every date has had its turn and every run is counted. */
export function isDone(backfill: BackfillDocument): boolean {
  return backfill.openRunIds.length === 0 && backfill.cursor >= backfill.planned;
}

/** Ends a backfill that is done: `succeeded` when every run did, else `failed`. Repeatable. */
export async function endBackfill(context: StoreContext, backfillId: string): Promise<void> {
  const { backfills, backfillDates } = context.collections;
  const isFlawless = { $eq: [{ $add: ['$failed', '$cancelled'] }, 0] };
  await backfills.updateOne(
    {
      _id: backfillId,
      state: { $in: ['running', 'paused'] },
      'openRunIds.0': { $exists: false },
      $expr: { $gte: ['$cursor', '$planned'] },
    },
    [
      { $set: { state: { $cond: [isFlawless, 'succeeded', 'failed'] }, endedAt: NOW } },
    ] as unknown as UpdateFilter<BackfillDocument>,
  );
  // Last: nobody asks for the dates of a backfill that has ended.
  const isOpen = await backfills.findOne(
    { _id: backfillId, state: { $in: ['running', 'paused'] } },
    { projection: { _id: 1 } },
  );
  if (isOpen === null) await backfillDates.deleteMany({ backfillId });
}
