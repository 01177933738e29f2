/** A short way to write cases in the form of the recorded ones. */
import { Int32, Long } from 'mongodb';
import type { GoldenCase, GoldenStep } from '../golden/case-file.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a case starts from and what it leaves behind. */
interface CaseParts {
  /** The documents of collection `c`. */
  readonly docs?: readonly Fields[];
  /** Further commands before the first step. */
  readonly setup?: readonly Fields[];
  readonly steps: readonly GoldenStep[];
  /** The documents of `c` afterwards, by `_id`. */
  readonly final?: readonly Fields[];
  /** The same for other collections. */
  readonly finalOther?: Readonly<Record<string, readonly Fields[]>>;
}

const counts = new Map<string, number>();

/** A case of an area. Whole numbers become ints; everything else is written as its BSON type. */
export function own(area: string, note: string, parts: CaseParts): GoldenCase {
  const count = (counts.get(area) ?? 0) + 1;
  counts.set(area, count);
  const insert = parts.docs ? [{ insert: 'c', documents: parts.docs }] : [];
  return ints({
    id: `own-${area}-${count}`,
    area,
    note,
    setup: [...insert, ...(parts.setup ?? [])],
    steps: parts.steps,
    ...(parts.final ? { final: parts.final } : {}),
    ...(parts.finalOther ? { finalOther: parts.finalOther } : {}),
  }) as GoldenCase;
}

/** Whole numbers as ints, all the way down; numbers with a fraction stay doubles. */
function ints(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? new Int32(value) : value;
  if (Array.isArray(value)) return value.map(ints);
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, ints(inner)]));
}

/** A command and its whole reply. */
export function step(command: Fields, reply: Fields): GoldenStep {
  return { command, reply: { ok: 1, ...reply } };
}

/** A command that fails; the message counts only where users or drivers read it. */
export function fails(
  command: Fields,
  code: number,
  codeName = `Location${code}`,
  errmsg = '',
): GoldenStep {
  return { command, reply: { ok: 0, code, codeName, errmsg } };
}

/** A command whose only statement fails. */
export function refuses(command: Fields, code: number, more: Fields = {}): GoldenStep {
  const counted = 'update' in command ? { n: 0, nModified: 0 } : { n: 0 };
  return step(command, { ...counted, writeErrors: [{ index: 0, code, errmsg: '', ...more }] });
}

/** All documents that a cursor's command answers with at once. */
export function answers(command: Fields, documents: readonly Fields[], of = 'c'): GoldenStep {
  return step(command, {
    cursor: { firstBatch: documents, id: Long.ZERO, ns: `golden.${of}` },
  });
}

/** A find by its filter, and the `_id`s that it answers with. */
export function finds(filter: Fields, ids: readonly unknown[], more: Fields = {}): GoldenStep {
  const command = { find: 'c', filter, projection: { _id: 1 }, ...more };
  return answers(
    command,
    ids.map((_id) => ({ _id })),
  );
}

/** A pipeline over `c` and what it answers with. */
export function pipeline(stages: readonly Fields[], documents: readonly Fields[]): GoldenStep {
  return answers({ aggregate: 'c', pipeline: stages, cursor: {} }, documents);
}

/** An expression, computed for the one document of `c`. */
export function computes(expression: unknown, value: unknown): GoldenStep {
  return pipeline([{ $project: { _id: 0, v: expression } }], [{ v: value }]);
}

/** An update of `c`. */
export function update(q: Fields, u: unknown, more: Fields = {}): Fields {
  return { update: 'c', updates: [{ q, u, ...more }] };
}

/** An update and its counts. */
export function updates(
  q: Fields,
  u: unknown,
  n: number,
  nModified: number,
  more: Fields = {},
): GoldenStep {
  return step(update(q, u, more), { n, nModified });
}
