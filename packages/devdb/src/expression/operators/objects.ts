import { DbError } from '../../errors.js';
import { formatValue } from '../../values/format.js';
import { typeName } from '../../values/type-names.js';
import { type Doc, doc, isDoc, type Value } from '../../values/value.js';
import { type Evaluated, isNullish } from '../expression.js';
import { lazy, type Operator, unary } from '../operator.js';

/** Operators on documents: `$mergeObjects`, `$objectToArray`, `$arrayToObject`. */
export const OBJECTS: readonly Operator[] = [
  lazy('$mergeObjects', (operands, root) => {
    let merged: Doc | undefined;
    for (const operand of operands) {
      merged = mergeInto(merged, operand.evaluate(root));
    }
    return merged ?? new Map();
  }),
  unary('$objectToArray', (value) => {
    if (isNullish(value)) return null;
    if (isDoc(value)) return [...value].map(([k, v]) => doc(['k', k], ['v', v]));
    throw new DbError(40390, `$objectToArray requires a document input, found: ${typeName(value)}`);
  }),
  unary('$arrayToObject', arrayToObject),
];

/** Puts the fields of a document over those merged so far; null and absent add nothing. */
export function mergeInto(merged: Doc | undefined, value: Evaluated): Doc | undefined {
  if (isNullish(value)) return merged;
  if (!isDoc(value)) {
    throw new DbError(
      40400,
      `$mergeObjects requires object inputs, but input ${formatValue(value)} is of type ` +
        typeName(value),
    );
  }
  const result: Doc = new Map(merged);
  for (const [key, field] of value) result.set(key, field);
  return result;
}

function arrayToObject(list: Evaluated): Evaluated {
  if (isNullish(list)) return null;
  if (!Array.isArray(list)) {
    throw new DbError(40386, `$arrayToObject requires an array input, found: ${typeName(list)}`);
  }
  const result: Doc = new Map();
  if (list.length === 0) return result;
  const asPairs = Array.isArray(list[0]);
  if (!asPairs && !isDoc(list[0])) {
    throw new DbError(
      40398,
      `Unrecognised input type format for $arrayToObject: ${typeName(list[0] as Value)}`,
    );
  }
  for (const entry of list) {
    const [key, value] = asPairs ? pairOf(entry) : fieldOf(entry);
    result.set(key, value);
  }
  return result;
}

function pairOf(entry: Value): [string, Value] {
  if (!Array.isArray(entry)) {
    throw new DbError(
      40396,
      '$arrayToObject requires a consistent input format. Elements must all be arrays or all be ' +
        `objects. Array was detected, now found: ${typeName(entry)}`,
    );
  }
  if (entry.length !== 2) {
    throw new DbError(
      40397,
      `$arrayToObject requires an array of size 2 arrays, found array of size: ${entry.length}`,
    );
  }
  return [keyOf(entry[0] as Value, 40395), entry[1] as Value];
}

function fieldOf(entry: Value): [string, Value] {
  if (!isDoc(entry)) {
    throw new DbError(
      40391,
      '$arrayToObject requires a consistent input format. Elements must all be arrays or all be ' +
        `objects. Object was detected, now found: ${typeName(entry)}`,
    );
  }
  if (entry.size !== 2) {
    throw new DbError(
      40392,
      `$arrayToObject requires an object keys of 'k' and 'v'. Found keys: ${entry.size}`,
    );
  }
  if (!entry.has('k') || !entry.has('v')) {
    throw new DbError(
      40393,
      "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys",
    );
  }
  return [keyOf(entry.get('k'), 40394), entry.get('v')];
}

function keyOf(key: Value, code: number): string {
  if (typeof key !== 'string') {
    throw new DbError(
      code,
      `$arrayToObject requires keys to be of type string, found: ${typeName(key)}`,
    );
  }
  if (key.includes('\0')) {
    throw new DbError(4940400, 'Key field cannot contain an embedded null byte');
  }
  return key;
}
