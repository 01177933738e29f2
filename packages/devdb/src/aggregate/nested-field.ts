import type { Evaluated } from '../expression/expression.js';
import { type Doc, isDoc, MISSING, type Value } from '../values/value.js';

/** A copy of a document that shares its values. (Twice as fast as the Map constructor.) */
export function copyDoc(document: Doc): Doc {
  const copy: Doc = new Map();
  document.forEach((value, key) => {
    copy.set(key, value);
  });
  return copy;
}

/** The value at a path through documents only; an array on the way hides what is below it. */
export function nestedField(document: Doc, path: readonly string[]): Evaluated {
  let value: Value = document;
  for (const part of path) {
    if (!isDoc(value) || !value.has(part)) return MISSING;
    value = value.get(part);
  }
  return value;
}

/**
 * A copy of a document with another value at a path; MISSING takes the field away. Whatever on the
 * way is no document gives way to one.
 */
export function withNestedField(document: Doc, path: readonly string[], value: Evaluated): Doc {
  const [name, ...below] = path as [string, ...string[]];
  const copy = copyDoc(document);
  if (below.length > 0) {
    const inner = document.get(name);
    copy.set(name, withNestedField(isDoc(inner) ? inner : new Map(), below, value));
  } else if (value === MISSING) copy.delete(name);
  else copy.set(name, value);
  return copy;
}

/** Visits every value at a path, through arrays and into the elements of an array at its end. */
export function visitValues(
  value: Value,
  path: readonly string[],
  visit: (value: Value) => void,
  at = 0,
): void {
  if (at === path.length) {
    if (!Array.isArray(value)) visit(value);
    else for (const element of value) visit(element);
    return;
  }
  const part = path[at]!;
  if (isDoc(value)) {
    if (value.has(part)) visitValues(value.get(part), path, visit, at + 1);
  } else if (Array.isArray(value)) {
    if (/^(0|[1-9]\d*)$/.test(part) && Number(part) < value.length) {
      visitValues(value[Number(part)], path, visit, at + 1);
    }
    for (const element of value) if (isDoc(element)) visitValues(element, path, visit, at);
  }
}
