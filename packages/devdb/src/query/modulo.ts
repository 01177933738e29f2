import { badValue } from '../errors.js';
import { decimalParts, truncateToBigInt } from '../values/decimal.js';
import { Decimal128, Int32, isNumeric, type Numeric, type Value } from '../values/value.js';
import type { Predicate } from './path.js';

const LONG_MIN = -(2n ** 63n);
const LONG_MAX = 2n ** 63n - 1n;

/** Compiles `$mod: [divisor, remainder]`; fractions are cut off before the division. */
export function compileModulo(operand: Value): Predicate {
  if (!Array.isArray(operand)) throw badValue('malformed mod, needs to be an array');
  if (operand.length < 2) throw badValue('malformed mod, not enough elements');
  if (operand.length > 2) throw badValue('malformed mod, too many elements');
  const [first, second] = operand;
  if (!isNumeric(first)) throw badValue('malformed mod, divisor not a number');
  const divisor = truncateToInt(first);
  if (divisor === 0) throw badValue('divisor cannot be 0');
  const remainder = isNumeric(second) ? truncateToInt(second) : 0;
  return (value) => {
    if (!isNumeric(value)) return false;
    if (value instanceof Int32) return value.value % divisor === remainder;
    return Number(truncateToLong(value) % BigInt(divisor)) === remainder;
  };
}

/** As the server casts to 32 bits: what does not fit becomes the least int or wraps. */
function truncateToInt(value: Numeric): number {
  if (typeof value === 'number' && !(Math.abs(value) < 2 ** 31)) return -(2 ** 31);
  return Number(BigInt.asIntN(32, truncateToLong(value)));
}

/** As the server casts to 64 bits: NaN and what does not fit become the least long. */
function truncateToLong(value: Numeric): bigint {
  if (value instanceof Int32) return BigInt(value.value);
  if (value instanceof Decimal128) {
    const parts = decimalParts(value);
    if (parts.kind !== 'finite') return LONG_MIN;
    const whole = truncateToBigInt(parts);
    return whole < LONG_MIN || whole > LONG_MAX ? LONG_MIN : whole;
  }
  if (typeof value !== 'number') return value.toBigInt();
  return Math.abs(value) < 2 ** 63 ? BigInt(Math.trunc(value)) : LONG_MIN;
}
