import type { StoreContext } from '../context.js';
import { narrowTo } from '../server-time.js';
import {
  type DagReading,
  earliestFire,
  isDueExpression,
  isSoundCursor,
  isSoundJitter,
  readMatching,
} from './dag-cursor.js';
import { damagedDags } from './dag-damage.js';

/** A cursor that may become due: its schedule is neither stopped nor broken. */
export const live = { state: 'active', pausedAt: null, broken: null } as const;

/** Ids of {@link readDueDags}. */
export async function findDueDags(context: StoreContext, limit: number): Promise<string[]> {
  return (await readDueDags(context, limit)).map(({ dag }) => dag._id);
}

/**
 * The DAGs to settle: those with an unfinished decision, then those whose cursor is due by the database's clock, the
 * longest due first. Where there are more than `limit`, neither kind takes more than half from the other: decisions that cannot
 * be carried out today keep no fire from its turn.
 */
export async function readDueDags(context: StoreContext, limit: number): Promise<DagReading[]> {
  // The index range is narrowed by an estimate; the server's clock decides. A jittered DAG is read early and left.
  const until = await narrowTo(context.clock);
  const [unfinished, due] = await Promise.all([
    // A range of dates leaves out DAGs without a decision, or without a cursor.
    readMatching(context, [
      { $match: { 'pending.from': { $gte: earliestFire } } },
      { $limit: limit },
    ]),
    readMatching(context, [
      {
        $match: {
          ...live,
          nextFireAt: { $gte: earliestFire, $lte: until },
          pending: null,
          $expr: isDueExpression,
        },
      },
      { $sort: { nextFireAt: 1 } },
      { $limit: limit },
    ]),
  ]);
  const byId = new Map([...due, ...unfinished].map((reading) => [reading.dag._id, reading]));
  const forDue = Math.min(due.length, Math.ceil(limit / 2));
  const inOrder = new Set(
    [...unfinished.slice(0, limit - forDue), ...due].map(({ dag }) => dag._id),
  );
  return [...inOrder].slice(0, limit).map((id) => byId.get(id)!);
}

/** Active DAGs whose documents are so damaged that {@link readDueDags} may never find them. */
export function readDamagedDags(context: StoreContext, limit: number): Promise<DagReading[]> {
  return readMatching(context, [{ $match: damagedDags }, { $limit: limit }]);
}

/** The DAGs that fire next, whether or not they are due. */
export function readNextDags(context: StoreContext, limit: number): Promise<DagReading[]> {
  return readMatching(context, [
    { $match: { ...live, nextFireAt: { $gte: earliestFire } } },
    { $sort: { nextFireAt: 1 } },
    { $limit: limit },
  ]);
}

/** When the earliest cursor is due (its logical date + jitter), also when that has passed. Null when nothing is scheduled. */
export async function earliestFireAt(context: StoreContext): Promise<Date | null> {
  const cursor = context.collections.dags
    .find({ ...live, nextFireAt: { $gte: earliestFire } })
    .sort({ nextFireAt: 1 })
    .project<{ nextFireAt: Date; nextJitterMs: number }>({ nextFireAt: 1, nextJitterMs: 1 })
    .batchSize(10);
  let earliestMs: number | null = null;
  try {
    // In order of logical date; a later date can only be due earlier while it is before the best due instant so far.
    for (let dag = await cursor.next(); dag !== null; dag = await cursor.next()) {
      // A list of dates is found like its members.
      if (!isSoundCursor(dag.nextFireAt)) continue;
      const logicalMs = dag.nextFireAt.getTime();
      if (earliestMs !== null && logicalMs >= earliestMs) break;
      // As the question about due fires has it.
      const dueMs = logicalMs + (isSoundJitter(dag.nextJitterMs) ? dag.nextJitterMs : 0);
      earliestMs = earliestMs === null ? dueMs : Math.min(earliestMs, dueMs);
    }
  } finally {
    await cursor.close();
  }
  return earliestMs === null ? null : new Date(earliestMs);
}
