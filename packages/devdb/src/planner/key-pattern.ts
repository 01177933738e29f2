import { type Doc, isNumeric, type Value } from '../values/value.js';

/** Whether a direction of a sort or a key pattern means descending. */
export function isNegative(value: Value): boolean {
  return isNumeric(value) && Number(value.toString()) < 0;
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
