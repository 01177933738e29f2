import { badValue } from '../errors.js';
import { compareValues } from '../values/order.js';
import { type Doc, MISSING, type Missing, type Value } from '../values/value.js';

/** One field of a sort. */
export interface SortField {
  readonly path: readonly string[];
  readonly direction: 1 | -1;
}

/** The values that a document is sorted by, one for each field of the sort. */
export type SortKey = readonly (Value | Missing)[];

/** The order of two keys, field by field, each in its direction. */
export function compareSortKeys(
  fields: readonly SortField[],
  left: SortKey,
  right: SortKey,
): number {
  for (let index = 0; index < fields.length; index++) {
    const order = compareValues(left[index]!, right[index]!);
    if (order !== 0) return order * fields[index]!.direction;
  }
  return 0;
}

/**
 * The key of a document: where arrays give it several, the one that comes first in the sort, so
 * that an ascending sort takes an array's least element and a descending one its greatest. What
 * is absent is null, or `absent` in documents without arrays (pipelines tell the two apart).
 * Throws BadValue (2) where two fields go through different arrays.
 */
export function sortKeyOf(
  document: Doc,
  fields: readonly SortField[],
  absent: null | Missing,
): SortKey {
  return plainKey(document, fields, absent) ?? firstKey(document, fields);
}

/** The key of a document in which no path meets an array; else null. */
function plainKey(
  document: Doc,
  fields: readonly SortField[],
  absent: null | Missing,
): SortKey | null {
  const key: (Value | Missing)[] = [];
  for (const { path } of fields) {
    let value: Value | Missing = document;
    for (const part of path) {
      if (!(value instanceof Map)) {
        value = MISSING;
        break;
      }
      const next: Value = value.get(part);
      value = next !== undefined || value.has(part) ? next : MISSING;
      if (Array.isArray(value)) return null;
    }
    key.push(value === MISSING ? absent : value);
  }
  return key;
}

/** A field on its way to its value: either that, or where the rest of its path goes on. */
type Cursor = { readonly value: Value } | { readonly at: Value; readonly rest: readonly string[] };

function firstKey(document: Doc, fields: readonly SortField[]): SortKey {
  const keys: Value[][] = [];
  const cursors = fields.map(({ path }): Cursor => ({ at: document, rest: path }));
  expand(cursors, keys);
  return keys.reduce((first, key) => (compareSortKeys(fields, key, first) < 0 ? key : first));
}

function expand(cursors: readonly Cursor[], keys: Value[][]): void {
  let array: Value[] | null = null;
  const advanced = cursors.map((cursor) => {
    const next = advance(cursor);
    if ('value' in next) return next;
    if (array !== null && array !== next.at) {
      throw badValue('cannot sort with keys that are parallel arrays');
    }
    array = next.at as Value[];
    return next;
  });
  if (array === null) {
    keys.push(advanced.map((cursor) => (cursor as { value: Value }).value));
    return;
  }
  // An empty array counts as undefined where the path ends and as absent where it goes on.
  const elements: readonly Value[] = (array as Value[]).length === 0 ? [undefined] : array;
  for (const element of elements) {
    const inside = advanced.map((cursor): Cursor => {
      if ('value' in cursor) return cursor;
      if (cursor.rest.length === 0) return { value: element };
      return element instanceof Map ? { at: element, rest: cursor.rest } : { value: null };
    });
    expand(inside, keys);
  }
}

/** Follows a path until its value or an array, whose elements are then looked at one by one. */
function advance(cursor: Cursor): Cursor {
  if ('value' in cursor) return cursor;
  let value: Value = cursor.at;
  for (let depth = 0; depth < cursor.rest.length; depth++) {
    const part = cursor.rest[depth]!;
    if (Array.isArray(value)) {
      const index = Number(part);
      if (String(index) !== part || !(index in value)) {
        return { at: value, rest: cursor.rest.slice(depth) };
      }
      value = value[index];
      // An array that was reached by its place in another one counts as one value.
      if (depth === cursor.rest.length - 1) return { value };
    } else {
      if (!(value instanceof Map) || !value.has(part)) return { value: null };
      value = value.get(part);
    }
  }
  return Array.isArray(value) ? { at: value, rest: [] } : { value };
}
