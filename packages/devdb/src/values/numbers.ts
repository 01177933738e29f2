import {
  compareDecimalParts,
  decimalOfBigInt,
  decimalParts,
  decimalToDouble,
  exactDecimalOfDouble,
} from './decimal.js';
import { Decimal128, Int32, Long, type Numeric } from './value.js';

const TWO_63 = 2 ** 63;

/** The nearest double of a number. */
export function toDouble(value: Numeric): number {
  if (typeof value === 'number') return value;
  if (value instanceof Int32) return value.value;
  if (value instanceof Decimal128) return decimalToDouble(value);
  return value.high * 2 ** 32 + (value.low >>> 0);
}

/** Whether a number is NaN, as a double or as a decimal. */
export function isNaNValue(value: Numeric): boolean {
  if (typeof value === 'number') return Number.isNaN(value);
  return value instanceof Decimal128 && decimalParts(value).kind === 'nan';
}

/**
 * Compares numbers of any BSON types by their exact value: -1, 0 or 1. NaN is equal to NaN and
 * below every other number; -0 equals 0.
 */
export function compareNumbers(left: Numeric, right: Numeric): number {
  if (left instanceof Int32 && right instanceof Int32) return order(left.value, right.value);
  if (left instanceof Decimal128 || right instanceof Decimal128) return compareExact(left, right);
  if (left instanceof Long) {
    if (right instanceof Long) {
      return left.high === right.high
        ? order(left.low >>> 0, right.low >>> 0)
        : order(left.high, right.high);
    }
    if (right instanceof Int32) return order(toDouble(left), right.value);
    return compareLongDouble(left, right);
  }
  if (right instanceof Long) {
    return left instanceof Int32
      ? order(left.value, toDouble(right))
      : -compareLongDouble(right, left) || 0;
  }
  return compareDoubles(
    left instanceof Int32 ? left.value : left,
    right instanceof Int32 ? right.value : right,
  );
}

function order(left: number, right: number): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function compareDoubles(left: number, right: number): number {
  if (left < right) return -1;
  if (left > right) return 1;
  if (left === right) return 0;
  const leftNaN = Number.isNaN(left);
  const rightNaN = Number.isNaN(right);
  return leftNaN ? (rightNaN ? 0 : -1) : 1;
}

function compareLongDouble(left: Long, right: number): number {
  const rounded = toDouble(left);
  const first = compareDoubles(rounded, right);
  if (first !== 0 || Math.abs(rounded) <= Number.MAX_SAFE_INTEGER) return first;
  // Both round to one double: 2^63 itself is above every long, the rest is exact as an integer.
  if (right >= TWO_63) return -1;
  const exact = left.toBigInt();
  const other = BigInt(right);
  return exact < other ? -1 : exact > other ? 1 : 0;
}

function compareExact(left: Numeric, right: Numeric): number {
  const first = compareDoubles(toDouble(left), toDouble(right));
  // Rounding to doubles keeps the order; only what falls together must be looked at again.
  if (first !== 0) return first;
  if (isNaNValue(left)) return 0;
  return Math.sign(compareDecimalParts(exactParts(left), exactParts(right)));
}

function exactParts(value: Numeric) {
  if (value instanceof Decimal128) return decimalParts(value);
  if (value instanceof Int32) return decimalOfBigInt(BigInt(value.value));
  if (value instanceof Long) return decimalOfBigInt(value.toBigInt());
  if (Number.isFinite(value)) return exactDecimalOfDouble(value);
  return { kind: 'infinite', negative: value < 0, digits: 0n, exponent: 0 } as const;
}
