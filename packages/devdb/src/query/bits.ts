import { badValue, failedToParse } from '../errors.js';
import { decimalParts, isWholeDecimal, truncateToBigInt } from '../values/decimal.js';
import {
  Binary,
  Decimal128,
  Int32,
  isNumeric,
  type Missing,
  type Numeric,
  type Value,
} from '../values/value.js';
import type { Predicate } from './path.js';

/** The operators on bits. */
export type BitsOperator = '$bitsAllSet' | '$bitsAnySet' | '$bitsAllClear' | '$bitsAnyClear';

type BitReader = (position: number) => boolean;

/** Compiles a test of bits of whole numbers (sign-extended) and of binaries. */
export function compileBits(operator: BitsOperator, operand: Value, path: string): Predicate {
  const positions = bitPositions(operand, path);
  const wanted = operator === '$bitsAllSet' || operator === '$bitsAnySet';
  const all = operator === '$bitsAllSet' || operator === '$bitsAllClear';
  return (value) => {
    const bit = bitReader(value);
    if (!bit) return false;
    return all
      ? positions.every((position) => bit(position) === wanted)
      : positions.some((position) => bit(position) === wanted);
  };
}

function bitPositions(operand: Value, path: string): readonly number[] {
  if (Array.isArray(operand)) return operand.map((element) => positionOf(element, path));
  if (operand instanceof Binary) {
    const bit = bitReader(operand)!;
    return range(operand.position * 8).filter(bit);
  }
  if (!isNumeric(operand)) {
    throw badValue(`${path} takes an Array, a number, or a BinData but received another type`);
  }
  const mask = toLong(operand);
  if (mask === null) throw failedToParse(`Expected an integer: ${path}`);
  if (mask < 0n) throw failedToParse(`Expected a positive number in: ${path}`);
  return range(64).filter((position) => ((mask >> BigInt(position)) & 1n) === 1n);
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}

function positionOf(element: Value, path: string): number {
  const position = isNumeric(element) ? toLong(element) : null;
  if (position === null)
    throw badValue(`bit positions must be an integer but got another: ${path}`);
  if (position < 0n) throw badValue(`bit positions must be >= 0 but got: ${position}`);
  return Number(position);
}

/** How to read the bits of a value; null where it has none. */
function bitReader(value: Value | Missing): BitReader | null {
  if (value instanceof Binary) {
    const bytes = value.value();
    return (position) => ((bytes[position >> 3] ?? 0) & (1 << (position & 7))) !== 0;
  }
  const whole = isNumeric(value) ? toLong(value) : null;
  if (whole === null) return null;
  return (position) => ((whole >> BigInt(Math.min(position, 63))) & 1n) === 1n;
}

/** The 64-bit whole number of a value, or null where it has a fraction or does not fit. */
function toLong(value: Numeric): bigint | null {
  if (value instanceof Int32) return BigInt(value.value);
  if (value instanceof Decimal128) {
    const parts = decimalParts(value);
    return isWholeDecimal(parts) ? fit(truncateToBigInt(parts)) : null;
  }
  if (typeof value !== 'number') return value.toBigInt();
  return Number.isInteger(value) ? fit(BigInt(value)) : null;
}

function fit(value: bigint): bigint | null {
  return value === BigInt.asIntN(64, value) ? value : null;
}
