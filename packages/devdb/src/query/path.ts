import { type Doc, MISSING, type Missing, type Value } from '../values/value.js';

/** A test of one value. */
export type Predicate = (value: Value | Missing) => boolean;

/** Where a match leaves the place in the array that it was found at, for the positional `$`. */
export interface MatchPosition {
  /** The index in the outermost array that was searched element by element, or undefined. */
  index: number | undefined;
}

/** A dotted path, split once. */
export type Path = readonly string[];

/** Splits a dotted path. */
export function splitPath(dotted: string): Path {
  return dotted.split('.');
}

const DIGITS = /^\d+$/;

/** Whether a path part can be an index of an array. */
function isIndexPart(part: string): boolean {
  return DIGITS.test(part);
}

/** A field of a document, or the element of an array that the key numbers exactly. */
function fieldOf(container: Doc | readonly Value[], key: string): Value | Missing {
  if (container instanceof Map) {
    const value = container.get(key);
    return value !== undefined || container.has(key) ? value : MISSING;
  }
  const index = Number(key);
  return String(index) === key && index >= 0 && index < container.length
    ? container[index]
    : MISSING;
}

/**
 * Whether the test holds for any of the values that a path names, in MongoDB's way: arrays on the
 * way are searched element by element (and by index where the next part is a number); an array at
 * the end gives its elements and then itself, or only itself without `traverseLeaf`. A path that
 * ends nowhere gives one MISSING, but an array with no documents in it gives nothing at all.
 * The rules of position and index are those of the server's `BSONElementIterator`.
 */
export function anyAtPath(
  container: Doc | readonly Value[],
  path: Path,
  from: number,
  traverseLeaf: boolean,
  test: Predicate,
  position: MatchPosition | null,
): boolean {
  let current = container;
  const last = path.length - 1;
  for (let part = from; ; part++) {
    const value = fieldOf(current, path[part]!);
    if (Array.isArray(value))
      return anyInArray(value, path, part + 1, traverseLeaf, test, position);
    if (part === last) return test(value);
    if (!(value instanceof Map)) return test(MISSING);
    current = value;
  }
}

function anyInArray(
  array: readonly Value[],
  path: Path,
  next: number,
  traverseLeaf: boolean,
  test: Predicate,
  position: MatchPosition | null,
): boolean {
  const last = path.length - 1;
  // A path that ends in a dot ends at the array, too.
  if (next > last || (next === last && path[last] === '')) {
    return anyOfLeaf(array, traverseLeaf, test, position);
  }
  const part = path[next]!;
  const wanted = isIndexPart(part) ? part : null;
  for (let index = 0; index < array.length; index++) {
    const element = array[index];
    const isWanted = wanted !== null && wanted === String(index);
    if (element instanceof Map) {
      if (anyAtPath(element, path, next, traverseLeaf, test, position)) {
        if (position) position.index = index;
        return true;
      }
      if (!isWanted) continue;
      if (next < last) {
        if (anyAtPath(element, path, next + 1, traverseLeaf, test, position)) return true;
        continue;
      }
    } else if (!isWanted) continue;
    // An index that the path names was not looked for: it is no place for the positional `$`.
    if (next === last) {
      if (test(element)) return true;
      continue;
    }
    if (Array.isArray(element)) {
      if (anyInArray(element, path, next + 1, traverseLeaf, test, position)) return true;
    }
  }
  return false;
}

function anyOfLeaf(
  array: readonly Value[],
  traverseLeaf: boolean,
  test: Predicate,
  position: MatchPosition | null,
): boolean {
  if (traverseLeaf) {
    for (let index = 0; index < array.length; index++) {
      if (!test(array[index])) continue;
      if (position) position.index = index;
      return true;
    }
  }
  return test(array as Value[]);
}
