/**
 * Chooses how to find the documents of a filter: by `_id`, by an index, by one index for each branch of an `$or`, or by a
 * walk over the collection. An index never changes an answer: whatever it finds is matched against the filter again.
 */
import { DbError } from '../errors.js';
import type { Collection } from '../storage/collection.js';
import { after, type KeyRange, type OrderedIndex } from '../storage/ordered-index.js';
import { type Doc, isDoc, isNumeric, type Value } from '../values/value.js';
import { impliesPartial } from './partial.js';
import {
  admitsMissing,
  intersect,
  intervalsOf,
  type PartInterval,
  type Predicate,
  predicatesOf,
} from './predicates.js';
import {
  ChainScan,
  CollectionScan,
  IndexScan,
  MergeScan,
  type Scan,
  type ScanStats,
} from './scan.js';

/** How to find candidates. */
export type Plan = CollectionPlan | IndexPlan | OrPlan;

export interface CollectionPlan {
  readonly stage: 'COLLSCAN';
  readonly reverse: boolean;
  readonly providesSort: false;
}

export interface IndexPlan {
  readonly stage: 'IXSCAN';
  readonly index: OrderedIndex;
  readonly ranges: readonly KeyRange[];
  readonly reverse: boolean;
  readonly providesSort: boolean;
  /** Merge the ranges by what follows their prefix, so as to provide the sort. */
  readonly merge: boolean;
  /** Intervals by field of the index, for `explain`; null is the whole of a field. */
  readonly parts: readonly (readonly PartInterval[] | null)[];
  /** An equality on `_id` alone. */
  readonly isIdLookup: boolean;
}

export interface OrPlan {
  readonly stage: 'OR';
  readonly branches: readonly IndexPlan[];
  readonly providesSort: false;
}

/** What a plan is made for, beside the filter. */
export interface PlanOptions {
  readonly sort?: Doc | undefined;
  /** An index name, a key pattern or `{ $natural: 1 | -1 }`. */
  readonly hint?: Value;
}

/** Above this many ranges an `$in` is not multiplied out any further. */
const MAX_RANGES = 1000;

/** How many keys of each candidate are counted before the best is taken. */
const TRIAL_KEYS = 101;

/** Throws 2 BadValue for a hint that names no index. */
export function planQuery(collection: Collection, filter: Doc, options: PlanOptions = {}): Plan {
  const predicates = predicatesOf(filter);
  const sort = sortFields(options.sort);
  const hint = readHint(collection, options.hint);
  if (hint === 'forward' || hint === 'backward') {
    return { stage: 'COLLSCAN', reverse: hint === 'backward', providesSort: false };
  }
  if (hint !== null) return indexPlan(hint, predicates, filter, sort, true)!;
  if (options.sort?.has('$natural')) {
    const direction = options.sort.get('$natural');
    return { stage: 'COLLSCAN', reverse: isNegative(direction), providesSort: false };
  }
  const candidates: IndexPlan[] = [];
  for (const index of collection.indexes) {
    const plan = indexPlan(index, predicates, filter, sort, false);
    if (plan?.isIdLookup) return plan;
    if (plan !== null) candidates.push(plan);
  }
  const best = chooseBest(candidates);
  if (best !== null && best.parts[0] !== null) return best;
  return orPlan(collection, filter) ?? best ?? COLLECTION_WALK;
}

const COLLECTION_WALK: CollectionPlan = { stage: 'COLLSCAN', reverse: false, providesSort: false };

interface SortField {
  readonly path: string;
  readonly descending: boolean;
}

function sortFields(sort: Doc | undefined): SortField[] | null {
  if (sort === undefined || sort.size === 0) return null;
  const fields: SortField[] = [];
  for (const [path, direction] of sort) {
    if (!isNumeric(direction)) return null;
    fields.push({ path, descending: isNegative(direction) });
  }
  return fields;
}

function isNegative(value: Value): boolean {
  return isNumeric(value) && Number(value.toString()) < 0;
}

function readHint(
  collection: Collection,
  hint: Value,
): OrderedIndex | 'forward' | 'backward' | null {
  if (hint === undefined || hint === null) return null;
  if (isDoc(hint) && hint.size === 0) return null;
  if (isDoc(hint) && hint.has('$natural')) {
    return isNegative(hint.get('$natural')) ? 'backward' : 'forward';
  }
  const found = collection.indexes.find((index) =>
    isDoc(hint) ? samePattern(index.spec.key, hint) : index.spec.name === hint,
  );
  if (found === undefined) {
    throw new DbError(2, 'hint provided does not correspond to an existing index');
  }
  return found;
}

/** Whether two key patterns are the same: fields in order, with directions of the same sign. */
export function samePattern(left: Doc, right: Doc): boolean {
  if (left.size !== right.size) return false;
  const others = [...right];
  return [...left].every(([path, direction], position) => {
    const [otherPath, otherDirection] = others[position]!;
    if (path !== otherPath) return false;
    if (typeof direction === 'string' || typeof otherDirection === 'string') {
      return direction === otherDirection;
    }
    return isNegative(direction) === isNegative(otherDirection);
  });
}

function indexPlan(
  index: OrderedIndex,
  predicates: ReadonlyMap<string, readonly Predicate[]>,
  filter: Doc,
  sort: readonly SortField[] | null,
  forced: boolean,
): IndexPlan | null {
  const leading = index.spec.key.keys().next().value!;
  // Most indexes of a collection: neither a condition on the first field nor a sort by it.
  if (!forced && !predicates.has(leading) && sort?.[0]?.path !== leading) return null;
  if (!forced && index.spec.partialFilter !== undefined) {
    if (!impliesPartial(predicates, filter, index.spec.partialFilter)) return null;
  }
  const paths = [...index.spec.key.keys()];
  if (!forced && index.spec.sparse) {
    const anchored = paths.some((path) =>
      (predicates.get(path) ?? []).some((predicate) => !admitsMissing(predicate)),
    );
    if (!anchored) return null;
  }
  const parts = paths.map((path, position) =>
    partIntervals(index, position, usablePredicates(path, predicates)),
  );
  const order = sortUse(index, paths, parts, sort);
  if (parts[0] === null && !forced && (order === null || index.spec.sparse)) return null;
  const { ranges, merge, ordered } = multiplyOut(parts, order?.from ?? null);
  return {
    stage: 'IXSCAN',
    index,
    ranges,
    reverse: order?.reverse ?? false,
    providesSort: ordered,
    merge,
    parts,
    isIdLookup: index.spec.name === '_id_' && parts[0]?.length === 1 && parts[0][0]!.point !== null,
  };
}

/**
 * What a filter says of an indexed path. Where the path has a number, conditions that hold for an absent field are left out:
 * in an array they also hold for an element that lacks a field of that name, of which the index knows nothing.
 */
function usablePredicates(
  path: string,
  predicates: ReadonlyMap<string, readonly Predicate[]>,
): readonly Predicate[] {
  const known = predicates.get(path) ?? [];
  return /(^|\.)\d+(\.|$)/.test(path) ? known.filter((one) => !admitsMissing(one)) : known;
}

/** The part of one field's keys that its predicates leave; null if they say nothing. */
function partIntervals(
  index: OrderedIndex,
  position: number,
  predicates: readonly Predicate[],
): PartInterval[] | null {
  if (predicates.length === 0) return null;
  const descending = index.descending[position]!;
  const lists = predicates.map((predicate) => intervalsOf(predicate, descending));
  if (((index.multikey >> position) & 1) === 1) {
    // Two conditions may be met by two elements: only one of them may narrow the scan.
    const points = predicates.findIndex((predicate) => predicate.kind === 'points');
    return lists[points === -1 ? 0 : points]!;
  }
  return lists.reduce(intersect);
}

/**
 * Whether the index gives the order of the sort: behind fields that are fixed to single values its fields are the sort's, all
 * in the same or all in the other direction. `from` is the first field that the order comes from.
 */
function sortUse(
  index: OrderedIndex,
  paths: readonly string[],
  parts: readonly (readonly PartInterval[] | null)[],
  sort: readonly SortField[] | null,
): { from: number; reverse: boolean } | null {
  if (sort === null) return null;
  const isPoints = (position: number) =>
    parts[position] !== null && parts[position]!.every((part) => part.point !== null);
  // Try each length of the fixed prefix: the longest may have eaten a field that the sort names.
  let fixed = 0;
  while (fixed < paths.length && isPoints(fixed)) fixed += 1;
  for (let from = fixed; from >= 0; from--) {
    const single = new Set(paths.slice(0, from).filter((_, at) => parts[at]!.length <= 1));
    const wanted = sort.filter((field) => !single.has(field.path));
    if (wanted.length === 0) return { from, reverse: false };
    if (from + wanted.length > paths.length) continue;
    const turned = index.descending[from] !== wanted[0]!.descending;
    const fits = wanted.every(
      (field, offset) =>
        field.path === paths[from + offset] &&
        ((index.multikey >> (from + offset)) & 1) === 0 &&
        (index.descending[from + offset] !== field.descending) === turned,
    );
    if (fits) return { from, reverse: turned };
  }
  return null;
}

/**
 * The ranges of the whole key: products of points, ended by a range or by the first field without conditions. They come in
 * index order. Where several prefixes stand before the field that gives the sort, the ranges have to be merged.
 */
function multiplyOut(
  parts: readonly (readonly PartInterval[] | null)[],
  orderFrom: number | null,
): { ranges: KeyRange[]; merge: boolean; ordered: boolean } {
  let prefixes = [''];
  let merge = false;
  let position = 0;
  for (; position < parts.length; position++) {
    if (position === orderFrom) merge = prefixes.length > 1;
    const part = parts[position];
    if (part === null || part === undefined || prefixes.length * part.length > MAX_RANGES) break;
    if (merge && part.length > 1) break;
    if (part.some((interval) => interval.point === null)) {
      const ranges = prefixes.flatMap((prefix) =>
        part.map((interval) => ({ low: prefix + interval.low, high: prefix + interval.high })),
      );
      return { ranges, merge, ordered: orderFrom !== null && position >= orderFrom };
    }
    prefixes = prefixes.flatMap((prefix) => part.map((interval) => prefix + interval.point!));
  }
  return {
    ranges: prefixes.map((prefix) => ({ low: prefix, high: after(prefix) })),
    merge,
    ordered: orderFrom !== null && position >= orderFrom,
  };
}

/** The candidate with the fewest keys, counted up to a limit; among equals one that spares a sort, then more fields. */
function chooseBest(candidates: readonly IndexPlan[]): IndexPlan | null {
  if (candidates.length <= 1) return candidates[0] ?? null;
  let best: IndexPlan | null = null;
  let bestScore: readonly number[] = [];
  for (const plan of candidates) {
    const keys = countKeys(plan);
    const bounded = plan.parts.indexOf(null);
    const fields = bounded === -1 ? plan.parts.length : bounded;
    const score = [keys, plan.providesSort ? 0 : 1, -fields, plan.parts.length];
    if (best === null || compareScores(score, bestScore) < 0) {
      best = plan;
      bestScore = score;
    }
  }
  return best;
}

function compareScores(left: readonly number[], right: readonly number[]): number {
  for (let index = 0; index < left.length; index++) {
    const difference = left[index]! - right[index]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

function countKeys(plan: IndexPlan): number {
  const scan = new IndexScan(plan.index, plan.ranges, plan.reverse, newStats());
  let count = 0;
  while (count < TRIAL_KEYS && scan.next() !== null) count += 1;
  return count;
}

function orPlan(collection: Collection, filter: Doc): OrPlan | null {
  const branches = filter.get('$or');
  if (!Array.isArray(branches) || branches.length === 0) return null;
  const rest = new Map(filter);
  rest.delete('$or');
  const plans: IndexPlan[] = [];
  for (const branch of branches) {
    if (!isDoc(branch)) return null;
    const both: Doc = new Map([['$and', [rest, branch]]]);
    const plan = planQuery(collection, both);
    if (plan.stage !== 'IXSCAN' || plan.parts[0] === null) return null;
    plans.push(plan);
  }
  return { stage: 'OR', branches: plans, providesSort: false };
}

export function newStats(): ScanStats {
  return { keysExamined: 0, documentsExamined: 0 };
}

/** Opens a plan. A record may come more than once where several keys or branches lead to it: see `mayRepeat`. */
export function openPlan(collection: Collection, plan: Plan, stats: ScanStats): Scan {
  if (plan.stage === 'COLLSCAN') return new CollectionScan(collection, plan.reverse);
  if (plan.stage === 'OR') {
    return new ChainScan(plan.branches.map((branch) => openPlan(collection, branch, stats)));
  }
  const { index, ranges, reverse } = plan;
  if (!plan.merge) return new IndexScan(index, ranges, reverse, stats);
  return new MergeScan(
    ranges.map((range) => ({
      scan: new IndexScan(index, [range], reverse, stats),
      skip: commonPrefix(range),
    })),
    reverse,
  );
}

/** How much of a range's texts is the fixed part before the field that gives the order. */
function commonPrefix(range: KeyRange): number {
  let length = 0;
  while (
    length < range.low.length &&
    length < range.high.length &&
    range.low[length] === range.high[length]
  ) {
    length += 1;
  }
  return length;
}

/** Whether the scan of a plan can give one record twice. */
export function mayRepeat(plan: Plan): boolean {
  if (plan.stage === 'OR') return true;
  return plan.stage === 'IXSCAN' && plan.index.multikey !== 0;
}
