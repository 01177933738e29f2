import type { Document } from 'mongodb';
import { firstDateAfter } from '../../time/misfire/due-fires.js';
import type { Schedule } from '../../time/schedule/schedule.js';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';

/** A DAG's document and the database's clock in one reply, so that what is decided from both belongs together. */
export interface DagReading {
  readonly dag: DagDocument;
  readonly now: Date;
}

/** Null when there is no such DAG. The clock is the database's. */
export async function readDag(context: StoreContext, dagId: string): Promise<DagReading | null> {
  const [found] = await readDags(context, [dagId]);
  return found ?? null;
}

/** Those of the DAGs that there are, in any order. The clock is the database's. */
export async function readDags(
  context: StoreContext,
  dagIds: readonly string[],
): Promise<DagReading[]> {
  return readMatching(context, [{ $match: { _id: { $in: [...dagIds] } } }]);
}

/** The DAGs that these stages select. The clock is the database's. */
export async function readMatching(
  context: StoreContext,
  stages: readonly Document[],
): Promise<DagReading[]> {
  const found = await context.collections.dags
    .aggregate<DagDocument & { serverNow: Date }>([
      ...stages,
      { $addFields: { serverNow: '$$NOW' } },
    ])
    .toArray();
  return found.map(({ serverNow, ...dag }) => ({ dag, now: serverNow }));
}

/** Where a cursor stands, as the DAG's document has it. */
export interface CursorFields {
  nextFireAt: Date | null;
  nextJitterMs: number;
}

/**
 * The cursor of a schedule that owes nothing from before `instant`. Throws OptionError when the schedule cannot be evaluated.
 */
export function cursorAfter(
  dagId: string,
  schedule: Schedule | undefined,
  instant: Date,
): CursorFields {
  const next = schedule === undefined ? null : firstDateAfter(schedule, dagId, instant);
  return next ?? { nextFireAt: null, nextJitterMs: 0 };
}

/** `$expr` operand: the fire at the cursor is due by the database's clock. False without a cursor. */
export const isDueExpression: Document = {
  $and: [
    { $ne: ['$nextFireAt', null] },
    { $lte: [{ $add: ['$nextFireAt', '$nextJitterMs'] }, '$$NOW'] },
  ],
};

/** `$expr` operand: the logical date at the cursor has come, whether or not its jitter is over. */
export const isReachedExpression: Document = {
  $and: [{ $ne: ['$nextFireAt', null] }, { $lte: ['$nextFireAt', '$$NOW'] }],
};

/** True when the fire at the cursor is due at `now`; the same rule as {@link isDueExpression}. */
export function isDue(cursor: CursorFields, now: Date): boolean {
  return (
    cursor.nextFireAt !== null && cursor.nextFireAt.getTime() + cursor.nextJitterMs <= now.getTime()
  );
}
