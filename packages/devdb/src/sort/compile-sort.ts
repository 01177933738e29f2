import { badValue } from '../errors.js';
import { toDouble } from '../values/numbers.js';
import { type Doc, isDoc, isNumeric, MISSING, type Value } from '../values/value.js';
import { compareSortKeys, type SortField, type SortKey, sortKeyOf } from './sort-keys.js';

/** How a sort treats documents that lack a field. */
export interface SortOptions {
  /** `null` (a query: absent equals null) or `missing` (a pipeline: absent comes before null). */
  readonly absent?: 'null' | 'missing';
}

/** A compiled sort. Sorting is stable: equal documents stay in the order they came in. */
export interface Sorter {
  /** The fields in order; empty for `{}` and for `$natural`. */
  readonly fields: readonly SortField[];
  /** 1 or -1 for `{$natural: ...}`, the order in which documents are stored; else null. */
  readonly natural: 1 | -1 | null;
  /** The key of a document, to compare without computing it again. */
  keyOf(document: Doc): SortKey;
  compareKeys(left: SortKey, right: SortKey): number;
  compare(left: Doc, right: Doc): number;
  /** The documents in order; `limit` of them where given (0 means all). */
  sort<T extends Doc>(documents: readonly T[], limit?: number): T[];
  /** The same for whatever has a document. */
  sortBy<T>(items: readonly T[], documentOf: (item: T) => Doc, limit?: number): T[];
}

/**
 * Compiles the sort of a query. Throws BadValue (2) for a direction other than 1 and -1, for an
 * empty field name and for `$meta`.
 */
export function compileSort(specification: Doc, options: SortOptions = {}): Sorter {
  const natural = naturalDirection(specification);
  const fields = natural === null ? [...specification].map(parseField) : [];
  return new FieldSorter(fields, natural, options.absent === 'missing' ? MISSING : null);
}

/** A sort by fields that are already checked, e.g. by a `$sort` stage with its own error codes. */
export function sorterOf(fields: readonly SortField[], options: SortOptions = {}): Sorter {
  return new FieldSorter(fields, null, options.absent === 'missing' ? MISSING : null);
}

class FieldSorter implements Sorter {
  constructor(
    readonly fields: readonly SortField[],
    readonly natural: 1 | -1 | null,
    private readonly absent: null | typeof MISSING,
  ) {}

  keyOf(document: Doc): SortKey {
    return sortKeyOf(document, this.fields, this.absent);
  }

  compareKeys(left: SortKey, right: SortKey): number {
    return compareSortKeys(this.fields, left, right);
  }

  compare(left: Doc, right: Doc): number {
    return this.compareKeys(this.keyOf(left), this.keyOf(right));
  }

  sort<T extends Doc>(documents: readonly T[], limit = 0): T[] {
    return this.sortBy(documents, (document) => document, limit);
  }

  sortBy<T>(items: readonly T[], documentOf: (item: T) => Doc, limit = 0): T[] {
    const wanted = limit > 0 ? Math.min(limit, items.length) : items.length;
    if (this.natural === -1) return [...items].reverse().slice(0, wanted);
    if (this.fields.length === 0) return items.slice(0, wanted);
    const keyed = items.map((item) => ({ item, key: this.keyOf(documentOf(item)) }));
    const inOrder = (left: Keyed<T>, right: Keyed<T>) => this.compareKeys(left.key, right.key);
    const sorted =
      wanted * 8 < items.length ? firstOf(keyed, wanted, inOrder) : keyed.sort(inOrder);
    return sorted.slice(0, wanted).map(({ item }) => item);
  }
}

interface Keyed<T> {
  readonly item: T;
  readonly key: SortKey;
}

/** The first few in order, equal ones as they came: cheaper than sorting all of many. */
function firstOf<T>(
  items: readonly T[],
  count: number,
  inOrder: (left: T, right: T) => number,
): T[] {
  const first: T[] = [];
  for (const item of items) {
    if (first.length === count && inOrder(first[count - 1]!, item) <= 0) continue;
    let low = 0;
    let high = first.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (inOrder(first[middle]!, item) <= 0) low = middle + 1;
      else high = middle;
    }
    first.splice(low, 0, item);
    if (first.length > count) first.pop();
  }
  return first;
}

function naturalDirection(specification: Doc): 1 | -1 | null {
  if (!specification.has('$natural')) return null;
  if (specification.size > 1) throw badValue('bad sort specification: $natural stands alone');
  return directionOf('$natural', specification.get('$natural'));
}

function parseField([path, operand]: [string, Value]): SortField {
  if (path === '') throw badValue('bad sort specification: a field name is empty');
  const parts = path.split('.');
  // A path that ends in a dot ends before it.
  if (parts.length > 1 && parts.at(-1) === '') parts.pop();
  return { path: parts, direction: directionOf(path, operand) };
}

function directionOf(path: string, operand: Value): 1 | -1 {
  if (isDoc(operand) && operand.has('$meta')) {
    throw badValue('must have $meta projection for all $meta sort keys');
  }
  const direction = isNumeric(operand) ? Math.trunc(toDouble(operand)) : 0;
  if (direction !== 1 && direction !== -1) {
    throw badValue(`bad sort specification: '${path}' takes 1 (ascending) or -1 (descending)`);
  }
  return direction;
}
