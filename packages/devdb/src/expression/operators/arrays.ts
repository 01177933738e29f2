import { DbError } from '../../errors.js';
import { toDouble } from '../../values/numbers.js';
import { equalValues } from '../../values/order.js';
import { typeName } from '../../values/type-names.js';
import { int32, isNumeric, MISSING, type Value } from '../../values/value.js';
import { type Evaluated, isNullish } from '../expression.js';
import { asInt32 } from '../numeric.js';
import { binary, lazy, type Operator, ranged, unary } from '../operator.js';

/** Operators on arrays as lists. */
export const ARRAYS: readonly Operator[] = [
  unary('$isArray', (value) => Array.isArray(value)),
  unary('$size', (value) => {
    if (Array.isArray(value)) return int32(value.length);
    throw new DbError(
      17124,
      `The argument to $size must be an array, but was of type: ${typeName(value)}`,
    );
  }),
  binary('$arrayElemAt', arrayElemAt),
  lazy('$concatArrays', (operands, root) => {
    const joined: Value[] = [];
    for (const operand of operands) {
      const value = operand.evaluate(root);
      if (isNullish(value)) return null;
      if (!Array.isArray(value)) {
        throw new DbError(28664, `$concatArrays only supports arrays, not ${typeName(value)}`);
      }
      checkLength('$concatArrays', joined.length + value.length);
      for (const element of value) joined.push(element);
    }
    return joined;
  }),
  ranged('$slice', 2, 3, slice),
  unary('$reverseArray', (value) => {
    if (isNullish(value)) return null;
    if (Array.isArray(value)) return value.toReversed();
    throw new DbError(
      34435,
      `The argument to $reverseArray must be an array, but was of type: ${typeName(value)}`,
    );
  }),
  binary('$in', (value, list) => {
    if (Array.isArray(list)) return list.some((element) => equalValues(value, element));
    throw new DbError(
      40081,
      `$in requires an array as a second argument, found: ${typeName(list)}`,
    );
  }),
  ranged('$indexOfArray', 2, 4, indexOfArray),
  ranged('$range', 2, 3, range),
];

/** More elements than a document could ever hold would exhaust the server's memory. */
const MOST_ELEMENTS = 4_000_000;

/** Refuses (146) an array that is too long to be made. */
function checkLength(name: string, length: number): void {
  if (length <= MOST_ELEMENTS) return;
  throw new DbError(146, `${name} would make an array of more than ${MOST_ELEMENTS} elements`);
}

function arrayElemAt(list: Evaluated, index: Evaluated): Evaluated {
  if (isNullish(list) || isNullish(index)) return null;
  if (!Array.isArray(list)) {
    throw new DbError(
      28689,
      `$arrayElemAt's first argument must be an array, but is ${typeName(list)}`,
    );
  }
  if (!isNumeric(index)) {
    throw new DbError(
      28690,
      `$arrayElemAt's second argument must be a numeric value, but is ${typeName(index)}`,
    );
  }
  const at = asInt32(index);
  if (at === undefined) {
    throw new DbError(
      28691,
      "$arrayElemAt's second argument must be representable as a 32-bit integer: " +
        `${toDouble(index)}`,
    );
  }
  const place = at < 0 ? list.length + at : at;
  return place >= 0 && place < list.length ? (list[place] as Value) : MISSING;
}

function slice(values: Evaluated[]): Evaluated {
  const [list, second, third] = values as [Evaluated, Evaluated, Evaluated?];
  const hasThird = values.length === 3;
  if (isNullish(list) || isNullish(second) || (hasThird && isNullish(third as Evaluated))) {
    return null;
  }
  if (!Array.isArray(list)) {
    throw new DbError(
      28724,
      `First argument to $slice must be an array, but is of type: ${typeName(list)}`,
    );
  }
  const first = sliceNumber(second, 'Second', 28725, 28726);
  if (!hasThird) return first >= 0 ? list.slice(0, first) : list.slice(first);
  const start = first < 0 ? Math.max(0, list.length + first) : Math.min(first, list.length);
  const count = sliceNumber(third as Evaluated, 'Third', 28727, 28728);
  if (count <= 0) throw new DbError(28729, `Third argument to $slice must be positive: ${count}`);
  return list.slice(start, start + count);
}

function sliceNumber(value: Evaluated, which: string, type: number, whole: number): number {
  if (!isNumeric(value)) {
    throw new DbError(
      type,
      `${which} argument to $slice must be a numeric value, but is of type: ${typeName(value)}`,
    );
  }
  const number = asInt32(value);
  if (number !== undefined) return number;
  throw new DbError(
    whole,
    `${which} argument to $slice can't be represented as a 32-bit integer: ${toDouble(value)}`,
  );
}

function indexOfArray(values: Evaluated[]): Evaluated {
  const [list, wanted] = values as [Evaluated, Evaluated];
  if (isNullish(list)) return null;
  if (!Array.isArray(list)) {
    throw new DbError(
      40090,
      `$indexOfArray requires an array as a first argument, found: ${typeName(list)}`,
    );
  }
  const start = values.length > 2 ? indexBound(values[2]!, '$indexOfArray', 'starting') : 0;
  const end =
    values.length > 3
      ? Math.min(indexBound(values[3]!, '$indexOfArray', 'ending'), list.length)
      : list.length;
  for (let i = start; i < end; i++) if (equalValues(wanted, list[i])) return int32(i);
  return int32(-1);
}

/** A start or an end of a search: a whole number that is not negative (40096, 40097). */
export function indexBound(value: Evaluated, name: string, which: string): number {
  const number = isNumeric(value) ? asInt32(value) : undefined;
  if (number === undefined) {
    throw new DbError(
      40096,
      `${name} requires an integral ${which} index, found a value of type: ${typeName(value)}`,
    );
  }
  if (number >= 0) return number;
  throw new DbError(40097, `${name} requires a nonnegative ${which} index, found: ${number}`);
}

function range(values: Evaluated[]): Evaluated {
  const start = rangeNumber(values[0]!, 'starting', 34443, 34444);
  const end = rangeNumber(values[1]!, 'ending', 34445, 34446);
  const step = values.length > 2 ? rangeNumber(values[2]!, 'step', 34447, 34448) : 1;
  if (step === 0) throw new DbError(34449, '$range requires a non-zero step value');
  checkLength('$range', (end - start) / step);
  const list: Value[] = [];
  for (let i = start; step > 0 ? i < end : i > end; i += step) list.push(int32(i));
  return list;
}

function rangeNumber(value: Evaluated, which: string, type: number, whole: number): number {
  if (!isNumeric(value)) {
    throw new DbError(
      type,
      `$range requires a numeric ${which} value, found value of type: ${typeName(value)}`,
    );
  }
  const number = asInt32(value);
  if (number !== undefined) return number;
  throw new DbError(
    whole,
    `$range requires a ${which} value that can be represented as a 32-bit integer, ` +
      `found value: ${toDouble(value)}`,
  );
}
