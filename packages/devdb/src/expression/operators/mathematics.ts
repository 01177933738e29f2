import { DbError } from '../../errors.js';
import { fitInt, toDecimalParts } from '../../values/arithmetic.js';
import {
  decimalFromParts,
  multiplyDecimals,
  powerOfTen,
  roundDecimal,
} from '../../values/decimal.js';
import { toDouble } from '../../values/numbers.js';
import { typeName } from '../../values/type-names.js';
import { Decimal128, Int32, isNumeric, Long, type Numeric } from '../../values/value.js';
import { type Evaluated, isNullish } from '../expression.js';
import { longOrDouble, toBigInt, Width, wider, widthOf } from '../numeric.js';
import { binary, type Operator, unary } from '../operator.js';

/** `$abs`, `$ceil`, `$floor` and the functions over real numbers. */
export const MATHEMATICS: readonly Operator[] = [
  numeric('$abs', absolute),
  numeric('$ceil', (value) => rounded(value, Math.ceil, 'ceil')),
  numeric('$floor', (value) => rounded(value, Math.floor, 'floor')),
  numeric('$sqrt', squareRoot),
  numeric('$exp', (value) => real('$exp', value, Math.exp)),
  numeric('$ln', (value) => {
    positive('$ln', value, 28766);
    return real('$ln', value, Math.log);
  }),
  numeric('$log10', (value) => {
    positive('$log10', value, 28761);
    return real('$log10', value, Math.log10);
  }),
  binary('$log', logarithm),
  binary('$pow', power),
];

function numeric(name: string, apply: (value: Numeric) => Evaluated): Operator {
  return unary(name, (value) => {
    if (isNumeric(value)) return apply(value);
    if (isNullish(value)) return null;
    throw new DbError(28765, `${name} only supports numeric types, not ${typeName(value)}`);
  });
}

function absolute(value: Numeric): Evaluated {
  if (typeof value === 'number') return Math.abs(value);
  if (value instanceof Int32) return fitInt(Math.abs(value.value));
  if (value instanceof Decimal128) {
    return decimalFromParts({ ...toDecimalParts(value), negative: false });
  }
  if (value.equals(Long.MIN_VALUE)) {
    throw new DbError(28680, "can't take $abs of long long min");
  }
  return value.isNegative() ? value.negate() : value;
}

function rounded(
  value: Numeric,
  round: (value: number) => number,
  how: 'ceil' | 'floor',
): Evaluated {
  if (typeof value === 'number') return round(value);
  if (value instanceof Decimal128) {
    return decimalFromParts(roundDecimal(toDecimalParts(value), 0, how));
  }
  return value;
}

/**
 * A function over doubles. For a decimal MongoDB computes 34 digits, which this server cannot: it
 * refuses instead of giving 15 of them.
 */
function real(name: string, value: Numeric, apply: (value: number) => number): Evaluated {
  if (value instanceof Decimal128) throw noDecimals(name);
  return apply(toDouble(value));
}

function noDecimals(name: string): DbError {
  return new DbError(238, `${name} of a decimal is not supported by this development server`);
}

function positive(name: string, value: Numeric, code: number): void {
  const number = toDouble(value);
  if (number > 0 || Number.isNaN(number)) return;
  throw new DbError(code, `${name}'s argument must be a positive number, but is ${number}`);
}

function squareRoot(value: Numeric): Evaluated {
  const number = toDouble(value);
  if (number < 0) throw new DbError(28714, "$sqrt's argument must be greater than or equal to 0");
  return value instanceof Decimal128 ? decimalRoot(value) : Math.sqrt(number);
}

/** The root to 34 digits: that of the digits as a whole number, with the power of ten made even. */
function decimalRoot(value: Decimal128): Decimal128 {
  const parts = toDecimalParts(value);
  if (parts.kind !== 'finite' || parts.digits === 0n) return value;
  const shift = 72 - parts.digits.toString().length;
  const even = (parts.exponent - shift) % 2 === 0 ? shift : shift + 1;
  const scaled = parts.digits * powerOfTen(even);
  let digits = integerRoot(scaled);
  let exponent = (parts.exponent - even) / 2;
  if (digits * digits !== scaled) {
    return decimalFromParts({ ...parts, digits: digits * 10n + 1n, exponent: exponent - 1 });
  }
  while (exponent < 0 && digits % 10n === 0n) {
    digits /= 10n;
    exponent += 1;
  }
  return decimalFromParts({ ...parts, digits, exponent });
}

/** The whole part of a square root (Newton's method from above). */
function integerRoot(value: bigint): bigint {
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  for (;;) {
    const next = (root + value / root) / 2n;
    if (next >= root) return root;
    root = next;
  }
}

function logarithm(value: Evaluated, base: Evaluated): Evaluated {
  if (isNullish(value) || isNullish(base)) return null;
  if (!isNumeric(value)) {
    throw new DbError(28756, `$log's argument must be numeric, not ${typeName(value)}`);
  }
  if (!isNumeric(base)) {
    throw new DbError(28757, `$log's base must be numeric, not ${typeName(base)}`);
  }
  positive('$log', value, 28758);
  const number = toDouble(base);
  if (!(number > 0) || number === 1) {
    throw new DbError(
      28759,
      `$log's base must be a positive number not equal to 1, but is ${number}`,
    );
  }
  return real('$log', value, (of) => Math.log(of) / Math.log(toDouble(base)));
}

function power(base: Evaluated, exponent: Evaluated): Evaluated {
  if (isNullish(base) || isNullish(exponent)) return null;
  if (!isNumeric(base)) {
    throw new DbError(28762, `$pow's base must be numeric, not ${typeName(base)}`);
  }
  if (!isNumeric(exponent)) {
    throw new DbError(28763, `$pow's exponent must be numeric, not ${typeName(exponent)}`);
  }
  const width = wider(widthOf(base), widthOf(exponent));
  if (toDouble(base) === 0 && toDouble(exponent) < 0) {
    throw new DbError(28764, '$pow cannot take a base of 0 and a negative exponent');
  }
  if (width === Width.decimal) return decimalPower(base, exponent);
  if (width === Width.double) return toDouble(base) ** toDouble(exponent);
  return wholePower(toBigInt(base), toBigInt(exponent), width);
}

function decimalPower(base: Numeric, exponent: Numeric): Evaluated {
  const times = toDouble(exponent);
  if (!Number.isInteger(times) || times < 0 || times > 1000) throw noDecimals('$pow');
  let product = toDecimalParts(new Int32(1));
  for (let i = 0; i < times; i++) product = multiplyDecimals(product, toDecimalParts(base));
  return decimalFromParts(product);
}

function wholePower(base: bigint, exponent: bigint, width: Width): Evaluated {
  const unit = base === 1n || base === -1n;
  if (exponent < 0n && !unit) return Number(base) ** Number(exponent);
  // 1, 0 and -1 take any exponent; of those only its being zero, odd or even counts.
  const parity = exponent === 0n ? 0n : exponent % 2n === 0n ? 2n : 1n;
  const small = unit || base === 0n ? parity : exponent;
  if (small > 63n) return Number(base) ** Number(exponent);
  const result = base ** small;
  const fits = result === BigInt.asIntN(32, result);
  return width === Width.int && fits ? fitInt(Number(result)) : longOrDouble(result);
}
