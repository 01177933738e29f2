import type { Document } from 'mongodb';
import { firstDateAfter } from '../../time/misfire/due-fires.js';
import type { Schedule } from '../../time/schedule/schedule.js';
import { EARLIEST_MS, LATEST_MS } from '../../time/zone/instant-text.js';
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

/** Between these lie all fires. Values of any other kind lie outside, wherever the server compares values of two kinds. */
export const earliestFire = new Date(EARLIEST_MS);
export const latestFire = new Date(LATEST_MS);
/** More than any; a date that it is added to is still one. */
const longestJitterMs = 8e15;

/** True for a date that fires can have. */
export function isSoundCursor(value: unknown): value is Date {
  return value instanceof Date && value >= earliestFire && value <= latestFire;
}

/** True for a jitter that can be added to one. */
export function isSoundJitter(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= longestJitterMs;
}

/**
 * `$expr` operand: when the fire at the cursor is due. Total: the server raises for a sum of other kinds than these, may evaluate
 * it before any other condition, and one damaged DAG would then fail the question about all of them. A damaged jitter counts
 * as none, so that its DAG is found; a cursor that is no date is never due.
 */
export const dueAtExpression: Document = {
  $add: [
    within('$nextFireAt', earliestFire, latestFire, latestFire),
    within('$nextJitterMs', 0, longestJitterMs, 0),
  ],
};

function within(field: string, least: unknown, most: unknown, otherwise: unknown): Document {
  return {
    $cond: [{ $and: [{ $gte: [field, least] }, { $lte: [field, most] }] }, field, otherwise],
  };
}

/** `$expr` operand: the fire at the cursor is due by the database's clock. False without a cursor. */
export const isDueExpression: Document = { $lte: [dueAtExpression, '$$NOW'] };

/** `$expr` operand: the logical date at the cursor has come, whether or not its jitter is over. False without a cursor. */
export const isReachedExpression: Document = {
  $lte: [within('$nextFireAt', earliestFire, latestFire, latestFire), '$$NOW'],
};

/** True when the fire at the cursor is due at `now`; the same rule as {@link isDueExpression}. */
export function isDue(cursor: CursorFields, now: Date): boolean {
  return (
    cursor.nextFireAt !== null && cursor.nextFireAt.getTime() + cursor.nextJitterMs <= now.getTime()
  );
}
