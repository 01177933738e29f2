/**
 * Which keys a document has in an index: MongoDB's rules for missing fields (null), arrays (one key per
 * element), empty arrays (undefined) and numeric path parts (array positions).
 */
import { DbError } from '../errors.js';
import { type Doc, isDoc, MISSING, type Missing, type Value } from '../values/value.js';

/** The keys of one document, and which fields of the index met an array on the way. */
export interface DocumentKeys {
  readonly keys: Value[][];
  /** One bit per field of the index: set if an array was met along that field's path. */
  readonly multikey: number;
}

interface FieldCursor {
  /** Where the rest of the path starts. */
  readonly at: Value | Missing;
  /** What is left of the path; null once `value` is fixed. */
  readonly path: readonly string[] | null;
  readonly value: Value;
}

/**
 * All keys of `document` for the fields at `paths`, without duplicates being removed.
 * A sparse index has no key for a document that has none of the fields.
 * Throws 171 CannotIndexParallelArrays when two fields meet different arrays.
 */
export function documentKeys(
  document: Doc,
  paths: readonly (readonly string[])[],
  sparse: boolean,
): DocumentKeys {
  if (paths.length === 1 && paths[0]!.length === 1) {
    // The commonest index by far: one top-level field.
    const field = paths[0]![0]!;
    if (!document.has(field)) return { keys: sparse ? [] : [[null]], multikey: 0 };
    const value = document.get(field)!;
    if (!Array.isArray(value)) return { keys: [[value]], multikey: 0 };
    if (value.length === 0) return { keys: [[undefined]], multikey: 1 };
    return { keys: value.map((element) => [element]), multikey: 1 };
  }
  const out: { keys: Value[][]; multikey: number } = { keys: [], multikey: 0 };
  const cursors = paths.map((path): FieldCursor => ({ at: document, path, value: null }));
  expand(cursors, 0, sparse, out);
  return out;
}

function expand(
  cursors: readonly FieldCursor[],
  missingBefore: number,
  sparse: boolean,
  out: { keys: Value[][]; multikey: number },
): void {
  let missing = missingBefore;
  let array: Value[] | undefined;
  const inArray: number[] = [];
  const next = cursors.map((cursor, index): FieldCursor => {
    if (cursor.path === null) return cursor;
    const reached = walk(cursor.at, cursor.path);
    if (reached.value === MISSING) {
      missing += 1;
      return { at: MISSING, path: null, value: null };
    }
    if (!Array.isArray(reached.value) || reached.isWhole) {
      return { at: MISSING, path: null, value: reached.value };
    }
    if (array !== undefined && array !== reached.value) {
      throw new DbError(171, 'cannot index parallel arrays');
    }
    array = reached.value;
    inArray.push(index);
    return { at: reached.value, path: reached.rest, value: null };
  });
  if (array === undefined) {
    if (sparse && missing === cursors.length) return;
    out.keys.push(next.map((cursor) => cursor.value));
    return;
  }
  for (const index of inArray) out.multikey |= 1 << index;
  const elements: readonly (Value | Missing)[] = array.length === 0 ? [MISSING] : array;
  for (const element of elements) {
    let gone = missing;
    const fixed = next.map((cursor, index): FieldCursor => {
      if (!inArray.includes(index)) return cursor;
      if (cursor.path!.length === 0) {
        return { at: MISSING, path: null, value: element === MISSING ? undefined : element };
      }
      if (isDoc(element)) return { at: element, path: cursor.path, value: null };
      // A scalar or a nested array has no such field.
      gone += 1;
      return { at: MISSING, path: null, value: null };
    });
    expand(fixed, gone, sparse, out);
  }
}

/** Follows a path through documents until it ends, breaks off, or meets an array. */
function walk(
  from: Value | Missing,
  path: readonly string[],
): { value: Value | Missing; rest: readonly string[]; isWhole: boolean } {
  let value = from;
  let depth = 0;
  while (depth < path.length) {
    if (Array.isArray(value)) {
      const part = path[depth]!;
      const position = arrayPosition(value, part);
      if (position === null) return { value, rest: path.slice(depth), isWhole: false };
      refuseAmbiguous(value, part);
      value = value[position]!;
      depth += 1;
      // An array that was reached by its place in another one counts as one value.
      if (depth === path.length) return { value, rest: [], isWhole: true };
      continue;
    }
    if (!isDoc(value) || !value.has(path[depth]!)) {
      return { value: MISSING, rest: [], isWhole: false };
    }
    value = value.get(path[depth]!);
    depth += 1;
  }
  return { value, rest: [], isWhole: false };
}

/** Refuses (16746) arrays in which a number could be a place as well as a field of an element. */
function refuseAmbiguous(array: readonly Value[], part: string): void {
  if (array.some((element) => isDoc(element) && element.has(part))) {
    throw new DbError(
      16746,
      'Ambiguous field name found in array (do not use numeric field names in embedded elements ' +
        `in an array), field: '${part}'`,
    );
  }
}

/** The array position that a path part names, or null when it has to be looked for in the elements. */
function arrayPosition(array: readonly Value[], part: string): number | null {
  if (!/^(0|[1-9][0-9]{0,8})$/.test(part)) return null;
  const position = Number(part);
  return position < array.length ? position : null;
}
