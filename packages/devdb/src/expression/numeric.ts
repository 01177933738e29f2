import { DbError } from '../errors.js';
import { decimalParts, truncateToBigInt } from '../values/decimal.js';
import { toDouble } from '../values/numbers.js';
import { Decimal128, Int32, Long, type Numeric, type Value } from '../values/value.js';

/** How wide a number's type is; a result takes the widest type of its operands. */
export const Width = { int: 0, long: 1, double: 2, decimal: 3 } as const;
export type Width = (typeof Width)[keyof typeof Width];

/** The width of a number. */
export function widthOf(value: Numeric): Width {
  if (typeof value === 'number') return Width.double;
  if (value instanceof Int32) return Width.int;
  return value instanceof Decimal128 ? Width.decimal : Width.long;
}

/** The wider of two widths. */
export function wider(left: Width, right: Width): Width {
  return left > right ? left : right;
}

/** A number as a bigint, cut towards zero; the caller has made sure that it is finite. */
export function toBigInt(value: Numeric): bigint {
  if (typeof value === 'number') return BigInt(Math.trunc(value));
  if (value instanceof Int32) return BigInt(value.value);
  if (value instanceof Decimal128) return truncateToBigInt(decimalParts(value));
  return value.toBigInt();
}

const LONG_MAX = 2n ** 63n - 1n;
const LONG_MIN = -(2n ** 63n);

/** Whether a whole number fits a long. */
export function fitsLong(value: bigint): boolean {
  return value >= LONG_MIN && value <= LONG_MAX;
}

/** A long if the number fits one, else the nearest double. */
export function longOrDouble(value: bigint): Value {
  return fitsLong(value) ? Long.fromBigInt(value) : Number(value);
}

/** A date from milliseconds; refuses instants that JavaScript and BSON do not both know. */
export function dateOfMs(ms: number, operator: string): Date {
  const date = new Date(Math.trunc(ms));
  if (Number.isNaN(date.getTime())) throw new DbError(15, `date overflow in ${operator}`);
  return date;
}

/** The number as an int32 when it is whole and fits one, else undefined. */
export function asInt32(value: Numeric): number | undefined {
  if (value instanceof Int32) return value.value;
  const number = toDouble(value);
  return Number.isInteger(number) && number >= -2147483648 && number <= 2147483647
    ? number
    : undefined;
}
