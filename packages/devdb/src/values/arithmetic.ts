import {
  addDecimals,
  type DecimalParts,
  decimalFromParts,
  decimalOfBigInt,
  decimalOfDouble,
  decimalParts,
  multiplyDecimals,
} from './decimal.js';
import { toDouble } from './numbers.js';
import { Decimal128, Int32, int32, Long, type Numeric } from './value.js';

const LONG_MIN = -(2n ** 63n);
const LONG_MAX = 2n ** 63n - 1n;

/** What an integer result outside of 64 bits becomes: a double, or null for the caller to refuse. */
export type OnOverflow = 'double' | 'null';

/**
 * The decimal of any number as arithmetic takes it: doubles are rounded to 15 digits.
 */
export function toDecimalParts(value: Numeric): DecimalParts {
  if (typeof value === 'number') return decimalOfDouble(value);
  if (value instanceof Int32) return decimalOfBigInt(BigInt(value.value));
  if (value instanceof Decimal128) return decimalParts(value);
  return decimalOfBigInt(value.toBigInt());
}

/**
 * The sum in MongoDB's widest type of the two: decimal over double over long over int. Two ints
 * whose sum does not fit become a long; longs whose sum does not fit follow `onOverflow`.
 */
export function addNumbers(left: Numeric, right: Numeric, onOverflow: 'double'): Numeric;
export function addNumbers(left: Numeric, right: Numeric, onOverflow: OnOverflow): Numeric | null;
export function addNumbers(left: Numeric, right: Numeric, onOverflow: OnOverflow): Numeric | null {
  if (left instanceof Int32 && right instanceof Int32) return fitInt(left.value + right.value);
  if (left instanceof Decimal128 || right instanceof Decimal128) {
    return decimalFromParts(addDecimals(toDecimalParts(left), toDecimalParts(right)));
  }
  if (typeof left === 'number' || typeof right === 'number')
    return toDouble(left) + toDouble(right);
  const sum = toDouble(left) + toDouble(right);
  if (Math.abs(sum) < 2 ** 52 && Math.abs(toDouble(left)) < 2 ** 52) return Long.fromNumber(sum);
  return fitLong(wholeNumber(left) + wholeNumber(right), onOverflow);
}

/** The product, with the same rules of type as {@link addNumbers}. */
export function multiplyNumbers(left: Numeric, right: Numeric, onOverflow: 'double'): Numeric;
export function multiplyNumbers(
  left: Numeric,
  right: Numeric,
  onOverflow: OnOverflow,
): Numeric | null;
export function multiplyNumbers(
  left: Numeric,
  right: Numeric,
  onOverflow: OnOverflow,
): Numeric | null {
  if (left instanceof Int32 && right instanceof Int32) {
    const product = left.value * right.value;
    if (Number.isSafeInteger(product)) return fitInt(product === 0 ? 0 : product);
  }
  if (left instanceof Decimal128 || right instanceof Decimal128) {
    return decimalFromParts(multiplyDecimals(toDecimalParts(left), toDecimalParts(right)));
  }
  if (typeof left === 'number' || typeof right === 'number')
    return toDouble(left) * toDouble(right);
  const product = wholeNumber(left) * wholeNumber(right);
  if (left instanceof Int32 && right instanceof Int32) return Long.fromBigInt(product);
  return fitLong(product, onOverflow);
}

/** The exact whole number of an int or a long. */
function wholeNumber(value: Int32 | Long): bigint {
  return value instanceof Int32 ? BigInt(value.value) : value.toBigInt();
}

/** An Int32 where the value fits into 32 bits, else a Long. The value is a safe integer. */
export function fitInt(value: number): Int32 | Long {
  if (value >= -0x80000000 && value <= 0x7fffffff) return int32(value);
  return Long.fromNumber(value);
}

function fitLong(value: bigint, onOverflow: OnOverflow): Numeric | null {
  if (value >= LONG_MIN && value <= LONG_MAX) return Long.fromBigInt(value);
  return onOverflow === 'double' ? Number(value) : null;
}
