/**
 * Counting the runs of a backfill, and ending it.
 *
 * Authority: `openRunIds`. A run is in it from the write that gave its date its turn until the write that counts it, which pulls
 * its key and raises the counter at once: so each run is counted exactly once, whoever closes it, however often this is called.
 * A death between the run's closing and this leaves the key; every feeding looks whether the runs behind the keys are open.
 *
 * A retry takes a run back: one write lowers the counter that it was counted in, puts the key of its next opening into
 * `openRunIds`, and opens the backfill again if it had ended. `reopened` remembers the key, so that the write happens once.
 */
import type { Document, UpdateFilter } from 'mongodb';
import { isClosedRun } from '../../model/states.js';
import type { BackfillDocument, RunDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { placeKey } from '../operations/place-key.js';
import { literal, NOW } from '../task-transitions.js';

/** So many ends of runs are kept: what the end of a backfill is estimated from. */
const endsKept = 50;

/** What counting reads of a run. */
export type CountedRun = Pick<
  RunDocument,
  '_id' | 'backfillId' | 'state' | 'openEpoch' | 'startedAt' | 'endedAt'
>;

/**
 * Counts a closed run of a backfill and gives its place back; ends the backfill if it was the last one. Does nothing for a run
 * without a backfill, an open one, and one that was counted. Idempotent.
 */
export async function countBackfillRun(context: StoreContext, run: CountedRun): Promise<void> {
  if (run.backfillId === null || !isClosedRun(run.state)) return;
  const key = placeKey(run);
  const without = (field: string) => ({
    $filter: { input: field, as: 'one', cond: { $ne: ['$$one', literal(key)] } },
  });
  const counted = await context.collections.backfills.findOneAndUpdate(
    { _id: run.backfillId, openRunIds: key },
    [
      {
        $set: {
          openRunIds: without('$openRunIds'),
          activeRunIds: without('$activeRunIds'),
          [run.state]: { $add: [`$${run.state}`, 1] },
          ...recentWith(run),
        },
      },
    ] as unknown as UpdateFilter<BackfillDocument>,
    { returnDocument: 'after' },
  );
  if (counted !== null && isDone(counted)) await endBackfill(context, counted._id);
}

/** The newest ends with this run's. What was cancelled says nothing about how long a run takes. */
function recentWith(run: CountedRun): Document {
  if (run.startedAt === null || run.state === 'cancelled') return {};
  const at = run.endedAt ?? NOW;
  const end = { at, ms: { $subtract: [at, run.startedAt] } };
  return {
    recent: { $slice: [{ $concatArrays: [{ $ifNull: ['$recent', []] }, [end]] }, -endsKept] },
  };
}

/**
 * Takes a closed and counted run back into its backfill, for the opening after `run.openEpoch`. True when it is in, now or
 * before; false when the backfill was cancelled, or is not there. Idempotent, also long after.
 */
export async function takeBackRun(context: StoreContext, run: CountedRun): Promise<boolean> {
  if (run.backfillId === null || !isClosedRun(run.state)) return false;
  const { backfills } = context.collections;
  // Its closing may not have been counted yet.
  await countBackfillRun(context, run);
  const key = placeKey({ _id: run._id, openEpoch: run.openEpoch + 1 });
  const taken = await backfills.updateOne(
    { _id: run.backfillId, state: { $ne: 'cancelled' }, reopened: { $ne: key } },
    [
      {
        $set: {
          [run.state]: { $subtract: [`$${run.state}`, 1] },
          openRunIds: { $concatArrays: ['$openRunIds', [literal(key)]] },
          reopened: { $concatArrays: [{ $ifNull: ['$reopened', []] }, [literal(key)]] },
          state: { $cond: [{ $eq: ['$state', 'paused'] }, 'paused', 'running'] },
          endedAt: null,
        },
      },
    ] as unknown as UpdateFilter<BackfillDocument>,
  );
  if (taken.matchedCount === 1) return true;
  const before = await backfills.findOne(
    { _id: run.backfillId, reopened: key },
    { projection: { _id: 1 } },
  );
  return before !== null;
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
