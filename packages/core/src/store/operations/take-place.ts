/** Places: one array in the DAG, one in each backfill. Whoever stands in it is active; there is no counter. */
import type { Filter } from 'mongodb';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { isHeldByPause } from './hold-runs.js';
import { placeKey } from './place-key.js';
import type { QueuedRun } from './queued-run.js';

/** What is asked of a run that wishes for a place of its DAG. */
type Wishing = Pick<QueuedRun, '_id' | 'dagId' | 'openEpoch' | 'cause'>;

/**
 * Takes a place by one conditional write: only while fewer than `maxActive` are taken, and for runs of the schedule only while
 * the DAG is not paused (for a backfill's run: fewer than the backfill's own limit, and only while it runs). True also when the
 * run has its place already.
 */
export async function takePlace(
  context: StoreContext,
  run: Wishing & Pick<QueuedRun, 'backfillId'>,
  maxActive: number,
): Promise<boolean> {
  const { dags, backfills } = context.collections;
  const key = placeKey(run);
  if (run.backfillId === null) {
    const taken = await dags.findOneAndUpdate(
      hasRoom(run, maxActive),
      { $push: { activeRunIds: key } },
      { projection: { _id: 1 } },
    );
    if (taken !== null) return true;
    const holds = await dags.findOne(
      { _id: run.dagId, activeRunIds: key },
      { projection: { _id: 1 } },
    );
    return holds !== null;
  }
  const taken = await backfills.findOneAndUpdate(
    {
      _id: run.backfillId,
      state: 'running',
      // Only a run whose date has had its turn: see backfill/feed-backfills.ts.
      openRunIds: key,
      activeRunIds: { $ne: key },
      $expr: { $lt: [{ $size: '$activeRunIds' }, '$maxActive'] },
    },
    { $push: { activeRunIds: key } },
    { projection: { _id: 1 } },
  );
  if (taken !== null) return true;
  const holds = await backfills.findOne(
    { _id: run.backfillId, activeRunIds: key },
    { projection: { _id: 1 } },
  );
  return holds !== null;
}

function hasRoom(run: Wishing, maxActive: number): Filter<DagDocument> {
  return {
    _id: run.dagId,
    activeRunIds: { $ne: placeKey(run) },
    [`activeRunIds.${maxActive - 1}`]: { $exists: false },
    ...(isHeldByPause(run) ? { pausedAt: null } : {}),
  };
}

/** A run, and how many places its DAG has. */
export interface PlaceWish<Run> {
  readonly run: Run;
  readonly maxActive: number;
}

/**
 * Takes places of DAGs for several runs, in this order, by one conditional write each and all in one operation. Answers with
 * the runs that have theirs, also from before.
 */
export async function takePlaces<Run extends Wishing>(
  context: StoreContext,
  wishes: readonly PlaceWish<Run>[],
): Promise<Run[]> {
  if (wishes.length === 0) return [];
  const { dags } = context.collections;
  const { matchedCount } = await dags.bulkWrite(
    wishes.map(({ run, maxActive }) => ({
      updateOne: {
        filter: hasRoom(run, maxActive),
        update: { $push: { activeRunIds: placeKey(run) } },
      },
    })),
  );
  if (matchedCount === wishes.length) return wishes.map(({ run }) => run);
  const seen = await dags
    .find({ _id: { $in: wishes.map(({ run }) => run.dagId) } }, { projection: { activeRunIds: 1 } })
    .toArray();
  const taken = new Set(seen.flatMap((dag) => dag.activeRunIds));
  return wishes.flatMap(({ run }) => (taken.has(placeKey(run)) ? [run] : []));
}

/** Gives the place back, wherever it is. Repeatable; a run without one changes nothing. */
export async function releasePlace(
  context: StoreContext,
  run: Pick<QueuedRun, '_id' | 'dagId' | 'backfillId' | 'openEpoch'>,
): Promise<void> {
  const { dags, backfills } = context.collections;
  const key = placeKey(run);
  const change = { $pull: { activeRunIds: key } };
  if (run.backfillId === null) {
    await dags.updateOne({ _id: run.dagId, activeRunIds: key }, change);
  } else {
    await backfills.updateOne({ _id: run.backfillId, activeRunIds: key }, change);
  }
}

/**
 * The same for a run that a pause holds, while the DAG is in that very revision: after a resume somebody else may have given the
 * run this place again, and started it.
 */
export async function releaseHeldPlace(
  context: StoreContext,
  run: Pick<QueuedRun, '_id' | 'dagId' | 'openEpoch'>,
  scheduleRev: number,
): Promise<void> {
  const key = placeKey(run);
  await context.collections.dags.updateOne(
    { _id: run.dagId, activeRunIds: key, scheduleRev, pausedAt: { $ne: null } },
    { $pull: { activeRunIds: key } },
  );
}
