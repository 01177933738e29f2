import { encodeDocument } from './encode.js';
import { type Doc, Int32, type Value } from './value.js';

/**
 * Whether two values have the same bytes: the same types, the same order of fields, -0 apart from
 * 0. This is what makes an update a no-op, where MongoDB's own equality (1 = 1.0) is too coarse.
 */
export function identicalValues(left: Value, right: Value): boolean {
  if (left === right) return typeof left !== 'number' || Object.is(left, right);
  if (typeof left !== 'object' || typeof right !== 'object') return Object.is(left, right);
  if (left === null || right === null) return false;
  if (left instanceof Int32) return right instanceof Int32 && left.value === right.value;
  if (left instanceof Map) return right instanceof Map && identicalDocs(left, right);
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => identicalValues(item, right[index]))
    );
  }
  if (left instanceof Date) {
    return right instanceof Date && left.getTime() === right.getTime();
  }
  if (Object.getPrototypeOf(left) !== Object.getPrototypeOf(right)) return false;
  return encodeDocument(new Map([['', left]])).equals(encodeDocument(new Map([['', right]])));
}

/** Whether two documents have the same bytes. */
export function identicalDocs(left: Doc, right: Doc): boolean {
  if (left.size !== right.size) return false;
  const others = right.entries();
  for (const [key, value] of left) {
    const [otherKey, otherValue] = others.next().value!;
    if (key !== otherKey || !identicalValues(value, otherValue)) return false;
  }
  return true;
}
