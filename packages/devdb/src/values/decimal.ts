import { Decimal128 } from './value.js';

/**
 * A decoded decimal128: `(-1)^negative * digits * 10^exponent`, or an infinity, or not a number.
 * The digits keep trailing zeros: 1.50 and 1.5 are equal and print differently.
 */
export interface DecimalParts {
  kind: 'finite' | 'infinite' | 'nan';
  negative: boolean;
  digits: bigint;
  exponent: number;
}

const MAX_DIGITS = 34;
const MIN_EXPONENT = -6176;
const MAX_EXPONENT = 6111;
const LIMIT = 10n ** 34n;
const LOW_64 = (1n << 64n) - 1n;

const NAN: DecimalParts = { kind: 'nan', negative: false, digits: 0n, exponent: 0 };

const powers: bigint[] = [];

/** Ten to a whole power that is not negative. */
export function powerOfTen(exponent: number): bigint {
  if (exponent > 64) return 10n ** BigInt(exponent);
  for (let next = powers.length; next <= exponent; next++) powers.push(10n ** BigInt(next));
  return powers[exponent]!;
}

function infinity(negative: boolean): DecimalParts {
  return { kind: 'infinite', negative, digits: 0n, exponent: 0 };
}

function finite(negative: boolean, digits: bigint, exponent: number): DecimalParts {
  return { kind: 'finite', negative, digits, exponent };
}

function digitCount(digits: bigint): number {
  return digits.toString().length;
}

/** Takes a decimal128 apart (IEEE 754-2008, binary integer coding). */
export function decimalParts(value: Decimal128): DecimalParts {
  const view = new DataView(value.bytes.buffer, value.bytes.byteOffset, 16);
  const high = view.getBigUint64(8, true);
  const low = view.getBigUint64(0, true);
  const negative = high >> 63n === 1n;
  const top = Number((high >> 58n) & 0x1fn);
  if (top === 0x1f) return NAN;
  if (top === 0x1e) return infinity(negative);
  // The second form of the coding can only hold coefficients above the limit: they count as 0.
  if (top >> 3 === 3) return finite(negative, 0n, Number((high >> 47n) & 0x3fffn) + MIN_EXPONENT);
  const digits = ((high & ((1n << 49n) - 1n)) << 64n) | low;
  const exponent = Number((high >> 49n) & 0x3fffn) + MIN_EXPONENT;
  return finite(negative, digits >= LIMIT ? 0n : digits, exponent);
}

/** Builds a decimal128, rounding half to even to 34 digits; beyond the range it is an infinity. */
export function decimalFromParts(parts: DecimalParts): Decimal128 {
  const bytes = Buffer.alloc(16);
  const { kind, negative, digits, exponent } = fit(parts);
  let high: bigint;
  let low = 0n;
  if (kind === 'nan') high = 0x1fn << 58n;
  else if (kind === 'infinite') high = 0x1en << 58n;
  else {
    high = (BigInt(exponent - MIN_EXPONENT) << 49n) | (digits >> 64n);
    low = digits & LOW_64;
  }
  if (negative) high |= 1n << 63n;
  bytes.writeBigUInt64LE(low, 0);
  bytes.writeBigUInt64LE(high, 8);
  return new Decimal128(bytes);
}

function fit(parts: DecimalParts): DecimalParts {
  if (parts.kind !== 'finite') return parts;
  let { digits, exponent } = parts;
  let drop = digits < LIMIT ? 0 : digitCount(digits) - MAX_DIGITS;
  if (exponent + drop < MIN_EXPONENT) drop = MIN_EXPONENT - exponent;
  if (drop > 0) {
    digits = divideHalfEven(digits, drop);
    exponent += drop;
    if (digits >= LIMIT) {
      digits /= 10n;
      exponent += 1;
    }
  }
  if (exponent > MAX_EXPONENT) {
    if (digits === 0n) return finite(parts.negative, 0n, MAX_EXPONENT);
    const pad = exponent - MAX_EXPONENT;
    if (pad > MAX_DIGITS || digitCount(digits) + pad > MAX_DIGITS) return infinity(parts.negative);
    return finite(parts.negative, digits * powerOfTen(pad), MAX_EXPONENT);
  }
  return finite(parts.negative, digits, exponent);
}

function divideHalfEven(digits: bigint, drop: number): bigint {
  if (drop > 6500) return 0n;
  const unit = powerOfTen(drop);
  const quotient = digits / unit;
  const twice = (digits % unit) * 2n;
  if (twice > unit || (twice === unit && quotient % 2n === 1n)) return quotient + 1n;
  return quotient;
}

/** The decimal of a whole number, exact. */
export function decimalOfBigInt(value: bigint): DecimalParts {
  return finite(value < 0n, value < 0n ? -value : value, 0);
}

/**
 * The decimal of a double as MongoDB converts it in arithmetic: rounded to 15 significant digits,
 * all 15 of them kept (1.5 becomes 1.50000000000000).
 */
export function decimalOfDouble(value: number): DecimalParts {
  if (Number.isNaN(value)) return NAN;
  if (!Number.isFinite(value)) return infinity(value < 0);
  const negative = value < 0 || Object.is(value, -0);
  if (value === 0) return finite(negative, 0n, 0);
  const [mantissa, power] = Math.abs(value).toExponential(14).split('e') as [string, string];
  return finite(negative, BigInt(mantissa.replace('.', '')), Number(power) - 14);
}

function signed(parts: DecimalParts): bigint {
  return parts.negative ? -parts.digits : parts.digits;
}

/** The sum of two decimals; its exponent is the smaller one, as IEEE 754 prefers. */
export function addDecimals(left: DecimalParts, right: DecimalParts): DecimalParts {
  if (left.kind === 'nan' || right.kind === 'nan') return NAN;
  if (left.kind === 'infinite') {
    return right.kind === 'infinite' && right.negative !== left.negative ? NAN : left;
  }
  if (right.kind === 'infinite') return right;
  const exponent = Math.min(left.exponent, right.exponent);
  const sum =
    signed(left) * powerOfTen(left.exponent - exponent) +
    signed(right) * powerOfTen(right.exponent - exponent);
  const negative = sum < 0n || (sum === 0n && left.negative && right.negative);
  return finite(negative, sum < 0n ? -sum : sum, exponent);
}

/** The negative of a decimal. */
export function negateDecimal(parts: DecimalParts): DecimalParts {
  return parts.kind === 'nan' ? parts : { ...parts, negative: !parts.negative };
}

/** The product of two decimals. */
export function multiplyDecimals(left: DecimalParts, right: DecimalParts): DecimalParts {
  if (left.kind === 'nan' || right.kind === 'nan') return NAN;
  const negative = left.negative !== right.negative;
  if (left.kind === 'infinite' || right.kind === 'infinite') {
    const zero = isZero(left) || isZero(right);
    return zero ? NAN : infinity(negative);
  }
  return finite(negative, left.digits * right.digits, left.exponent + right.exponent);
}

function isZero(parts: DecimalParts): boolean {
  return parts.kind === 'finite' && parts.digits === 0n;
}

/** The quotient of two decimals to 34 digits; a zero divisor gives an infinity or no number. */
export function divideDecimals(left: DecimalParts, right: DecimalParts): DecimalParts {
  if (left.kind === 'nan' || right.kind === 'nan') return NAN;
  const negative = left.negative !== right.negative;
  if (left.kind === 'infinite') return right.kind === 'infinite' ? NAN : infinity(negative);
  if (right.kind === 'infinite') return finite(negative, 0n, MIN_EXPONENT);
  if (right.digits === 0n) return left.digits === 0n ? NAN : infinity(negative);
  const ideal = left.exponent - right.exponent;
  if (left.digits === 0n) return finite(negative, 0n, ideal);
  // Two guard digits and a sticky one make the final rounding that of the exact quotient.
  const shift = Math.max(0, MAX_DIGITS + 3 + digitCount(right.digits) - digitCount(left.digits));
  const scaled = left.digits * powerOfTen(shift);
  let digits = scaled / right.digits;
  let exponent = ideal - shift;
  if (scaled % right.digits !== 0n) {
    return finite(negative, digits * 10n + 1n, exponent - 1);
  }
  while (exponent < ideal && digits % 10n === 0n) {
    digits /= 10n;
    exponent += 1;
  }
  return finite(negative, digits, exponent);
}

/** The remainder of a truncating division, with the sign of the dividend. */
export function remainderDecimals(left: DecimalParts, right: DecimalParts): DecimalParts {
  if (left.kind !== 'finite' || right.kind === 'nan') return NAN;
  if (right.kind === 'infinite') return left;
  if (right.digits === 0n) return NAN;
  const exponent = Math.min(left.exponent, right.exponent);
  const dividend = left.digits * powerOfTen(left.exponent - exponent);
  const divisor = right.digits * powerOfTen(right.exponent - exponent);
  return finite(left.negative, dividend % divisor, exponent);
}

/** How to round what is cut off. */
export type Rounding = 'half-even' | 'trunc' | 'floor' | 'ceil';

/** Rounds to a number of decimal places; a negative number of places rounds left of the point. */
export function roundDecimal(
  parts: DecimalParts,
  places: number,
  rounding: Rounding,
): DecimalParts {
  const drop = -places - parts.exponent;
  if (parts.kind !== 'finite' || drop <= 0) return parts;
  const unit = powerOfTen(Math.min(drop, 6500));
  let digits = parts.digits / unit;
  const rest = parts.digits % unit;
  if (rest !== 0n) {
    const up =
      rounding === 'half-even'
        ? rest * 2n > unit || (rest * 2n === unit && digits % 2n === 1n)
        : rounding === (parts.negative ? 'floor' : 'ceil');
    if (up) digits += 1n;
  }
  return finite(parts.negative, digits, parts.exponent + drop);
}

/** The whole part of a finite decimal, cut towards zero. */
export function truncateToBigInt(parts: DecimalParts): bigint {
  const whole =
    parts.exponent >= 0
      ? parts.digits * powerOfTen(parts.exponent)
      : parts.digits / powerOfTen(-parts.exponent);
  return parts.negative ? -whole : whole;
}

/** Whether a decimal is finite and has no fraction. */
export function isWholeDecimal(parts: DecimalParts): boolean {
  if (parts.kind !== 'finite') return false;
  return parts.exponent >= 0 || parts.digits % powerOfTen(-parts.exponent) === 0n;
}

/** The nearest double of a decimal. */
export function decimalToDouble(value: Decimal128): number {
  return Number(value.toString());
}

/** Compares two decimals that are not NaN by value: -1, 0 or 1. */
export function compareDecimalParts(left: DecimalParts, right: DecimalParts): number {
  if (left.kind === 'infinite' || right.kind === 'infinite') {
    return infiniteSign(left) - infiniteSign(right);
  }
  const exponent = Math.min(left.exponent, right.exponent);
  const a = signed(left);
  const b = signed(right);
  if (a === 0n || b === 0n || a < 0n !== b < 0n) return a < b ? -1 : a > b ? 1 : 0;
  const x = a * powerOfTen(left.exponent - exponent);
  const y = b * powerOfTen(right.exponent - exponent);
  return x < y ? -1 : x > y ? 1 : 0;
}

function infiniteSign(parts: DecimalParts): number {
  return parts.kind !== 'infinite' ? 0 : parts.negative ? -1 : 1;
}

/** The exact decimal of a double, however many digits that takes; not NaN and not infinite. */
export function exactDecimalOfDouble(value: number): DecimalParts {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & ((1n << 52n) - 1n);
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  const power = (biased === 0 ? 1 : biased) - 1075;
  const negative = bits >> 63n === 1n;
  if (power >= 0) return finite(negative, mantissa << BigInt(power), 0);
  // m / 2^k is m * 5^k / 10^k.
  return finite(negative, mantissa * 5n ** BigInt(-power), power);
}
