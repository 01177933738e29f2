/**
 * Whether the schedule in a DAG's document can be worked with at all. Hands, scripts and restored backups write what no release
 * of ours does; one such document must keep nobody else from their turn, so it is looked at before anything is made of it.
 *
 * Pure. What is done about it is in mark-broken.ts. {@link damagedDags} asks the server for those that no question about due
 * fires finds.
 */
import type { Document } from 'mongodb';
import { describeValue } from '../../errors.js';
import type { DagDocument, PausedSpan } from '../collections.js';
import { earliestFire, isSoundCursor, isSoundJitter, latestFire } from './dag-cursor.js';
import type { FireCarry } from './pending-decision.js';

/** The fields of a DAG that are looked at. */
type Scheduled = Pick<
  DagDocument,
  'nextFireAt' | 'nextJitterMs' | 'pausedAt' | 'pausedSpans' | 'carry' | 'pending'
>;

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;

const isDate: Check = (value) => value instanceof Date && !Number.isNaN(value.getTime());
const isText: Check = (value) => typeof value === 'string';
const isCount: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || value === undefined || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const ofShape =
  (shape: Shape): Check =>
  (value) =>
    wrongField(shape, value) === null;

const spanShape: Shape = { from: isDate, to: orNull(isDate) };
const lineShape: Shape = { from: isDate, to: isDate, count: isCount, reason: isText };
const carryShape: Shape = {
  folding: orNull(ofShape({ from: isDate, dueAt: isDate, newest: isDate, count: isCount })),
  caughtUp: isCount,
  lastStartAt: orNull(isDate),
  line: orNull(ofShape({ ...lineShape, dates: listOf(isDate) })),
};
const runShape: Shape = {
  logicalDate: isDate,
  dataInterval: ofShape({ from: isDate, to: isDate }),
  cause: isText,
  coalesced: isCount,
  dueAt: isDate,
  notBefore: orNull(isDate),
};
const pendingShape: Shape = {
  from: isSoundCursor,
  decidedAt: isDate,
  version: isText,
  runs: listOf(ofShape(runShape)),
  lines: listOf(ofShape(lineShape)),
  missed: orNull(listOf(ofShape({ kind: isText, from: isDate, count: isCount, by: isDate }))),
  next: orNull(isSoundCursor),
  nextJitterMs: isSoundJitter,
  carry: orNull(ofShape(carryShape)),
  broken: orNull(isText),
};
const dagShape: Shape = {
  nextFireAt: (value) => value === null || isSoundCursor(value),
  nextJitterMs: isSoundJitter,
  pausedAt: orNull(isDate),
  pausedSpans: listOf(ofShape(spanShape)),
  carry: orNull(ofShape(carryShape)),
  pending: orNull(ofShape(pendingShape)),
};

/** What of a DAG's stored schedule cannot be used, in words; null: all of it can. */
export function damageOf(dag: Scheduled): string | null {
  const wrong = wrongField(dagShape, dag);
  if (wrong === null) return null;
  if (wrong.field === 'pending') {
    const inside = wrongField(pendingShape, wrong.found);
    if (inside !== null) return inWords(`pending.${inside.field}`, inside.found);
  }
  return inWords(wrong.field, wrong.found);
}

/** The schedule of a damaged DAG without its damage, for whoever deploys it again: what can be used stays as it is. */
export function soundScheduleOf(dag: Scheduled): Omit<Scheduled, 'pending'> {
  const pausedAt = isDate(dag.pausedAt) ? dag.pausedAt : null;
  const spans = (Array.isArray(dag.pausedSpans) ? dag.pausedSpans : []).filter(ofShape(spanShape));
  const past = spans.filter(({ to }) => to !== null);
  const open: PausedSpan[] =
    pausedAt === null
      ? []
      : [spans.find(({ to }) => to === null) ?? { from: pausedAt, to: null, onResume: null }];
  return {
    nextFireAt: isSoundCursor(dag.nextFireAt) ? dag.nextFireAt : null,
    nextJitterMs: isSoundJitter(dag.nextJitterMs) ? dag.nextJitterMs : 0,
    pausedAt,
    pausedSpans: [...past, ...open],
    carry: ofShape(carryShape)(dag.carry) ? (dag.carry as FireCarry) : null,
  };
}

/** Filter: active DAGs whose damage keeps them from ever being found due. */
export const damagedDags: Document = {
  state: 'active',
  broken: null,
  $or: [
    { nextFireAt: { $not: { $type: ['date', 'null'] } } },
    { nextFireAt: { $gt: latestFire } },
    { nextFireAt: { $type: 'date', $lt: earliestFire } },
    { nextJitterMs: { $not: { $type: 'number' } } },
    { nextJitterMs: { $lt: 0 } },
    { nextJitterMs: Number.NaN },
    // A list is of the kinds of its members, too.
    ...['nextFireAt', 'nextJitterMs', 'pausedAt', 'carry', 'pending'].map((field) => ({
      [field]: { $type: 'array' },
    })),
    { pausedAt: { $exists: true, $not: { $type: ['date', 'null'] } } },
    { pausedSpans: { $not: { $type: 'array' } } },
    { carry: { $exists: true, $not: { $type: ['object', 'null'] } } },
    { pending: { $exists: true, $not: { $type: ['object', 'null'] } } },
    { pending: { $type: 'object' }, 'pending.from': { $not: { $type: 'date' } } },
    { 'pending.from': { $lt: earliestFire } },
    { 'pending.from': { $gt: latestFire } },
  ],
};

function wrongField(shape: Shape, value: unknown): { field: string; found: unknown } | null {
  if (typeof value !== 'object' || value === null) return { field: '', found: value };
  for (const [field, isSound] of Object.entries(shape)) {
    const found = (value as Record<string, unknown>)[field];
    if (!isSound(found)) return { field, found };
  }
  return null;
}

function inWords(field: string, found: unknown): string {
  return `what is stored of it is damaged: ${field} is ${describeValue(found)}`;
}
