/** What one index can do for a filter and a sort: which ranges of its keys, in which order. */
import { after, type KeyRange, type OrderedIndex } from '../storage/ordered-index.js';
import { type Doc, isNumeric } from '../values/value.js';
import { isNegative } from './key-pattern.js';
import { impliesPartial } from './partial.js';
import {
  admitsMissing,
  intersect,
  intervalsOf,
  type PartInterval,
  type Predicate,
} from './predicates.js';

/** Above this many ranges an `$in` is not multiplied out any further. */
const MAX_RANGES = 1000;

/** A way through one index. */
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

/** One field of a sort. */
export interface SortField {
  readonly path: string;
  readonly descending: boolean;
}

/** The fields of a sort in order; null if there is none, or one that no index gives. */
export function sortFields(sort: Doc | undefined): SortField[] | null {
  if (sort === undefined || sort.size === 0) return null;
  const fields: SortField[] = [];
  for (const [path, direction] of sort) {
    if (!isNumeric(direction)) return null;
    fields.push({ path, descending: isNegative(direction) });
  }
  return fields;
}

/** How an index finds what a filter and a sort want; null if it is of no use for them (`forced`: by a hint). */
export function indexPlan(
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
  widenSharedArrays(index, paths, parts);
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
 * Fields below one array have a key for each of its elements, and the conditions on two of them may be met by two elements, which
 * have two keys: only the first of such fields may narrow the scan.
 */
function widenSharedArrays(
  index: OrderedIndex,
  paths: readonly string[],
  parts: (readonly PartInterval[] | null)[],
): void {
  if (index.multikey === 0) return;
  const narrowed = new Set<string>();
  paths.forEach((path, position) => {
    if (parts[position] === null || ((index.multikey >> position) & 1) === 0) return;
    const root = path.split('.', 1)[0]!;
    if (narrowed.has(root)) parts[position] = null;
    else narrowed.add(root);
  });
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
    // An array with the wanted element is sorted by its least or greatest one, which no fixed value is.
    const single = new Set(
      paths
        .slice(0, from)
        .filter((_, at) => parts[at]!.length <= 1 && ((index.multikey >> at) & 1) === 0),
    );
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
