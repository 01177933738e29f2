import { DbError } from '../../errors.js';
import { fitInt, toDecimalParts } from '../../values/arithmetic.js';
import {
  addDecimals,
  type DecimalParts,
  decimalFromParts,
  decimalOfBigInt,
  divideDecimals,
  multiplyDecimals,
  negateDecimal,
  remainderDecimals,
  roundDecimal,
  truncateToBigInt,
} from '../../values/decimal.js';
import { toDouble } from '../../values/numbers.js';
import { typeName } from '../../values/type-names.js';
import { type Doc, Int32, isNumeric, Long, type Numeric, type Value } from '../../values/value.js';
import { NumberTotal } from '../accumulation/number-total.js';
import { type Evaluated, type Expression, isNullish } from '../expression.js';
import { dateOfMs, longOrDouble, toBigInt, Width, wider, widthOf } from '../numeric.js';
import { binary, lazy, type Operator } from '../operator.js';

/** `$add`, `$subtract`, `$multiply`, `$divide`, `$mod` with MongoDB's promotion of number types. */
export const ARITHMETIC: readonly Operator[] = [
  lazy('$add', add),
  binary('$subtract', subtract),
  lazy('$multiply', multiply),
  binary('$divide', divide),
  binary('$mod', modulo),
];

function add(operands: readonly Expression[], root: Doc): Evaluated {
  let ints = 0;
  let dateMs: number | undefined;
  let total: NumberTotal | undefined;
  for (const operand of operands) {
    const value = operand.evaluate(root);
    if (value instanceof Int32) ints += value.value;
    else if (value instanceof Date) {
      if (dateMs !== undefined) {
        throw new DbError(16612, 'only one date allowed in an $add expression');
      }
      dateMs = value.getTime();
    } else if (isNumeric(value)) {
      total ??= new NumberTotal();
      total.add(value);
    } else if (isNullish(value)) return null;
    else {
      throw new DbError(16554, `$add only supports numeric or date types, not ${typeName(value)}`);
    }
  }
  if (!total) return dateMs === undefined ? fitInt(ints) : dateOfMs(dateMs + ints, '$add');
  total.addWhole(ints);
  if (dateMs === undefined) return total.result();
  total.addWhole(dateMs);
  return dateOfMs(total.isDecimal ? wholeOf(total.toDecimal()) : total.toDouble(), '$add');
}

/** A decimal as a whole number of milliseconds, rounded half to even. */
function wholeOf(parts: DecimalParts): number {
  if (parts.kind !== 'finite') throw new DbError(15, 'date overflow in $add');
  return Number(truncateToBigInt(roundDecimal(parts, 0, 'half-even')));
}

function subtract(left: Evaluated, right: Evaluated): Evaluated {
  if (left instanceof Int32 && right instanceof Int32) return fitInt(left.value - right.value);
  if (isNumeric(left) && isNumeric(right)) {
    const width = wider(widthOf(left), widthOf(right));
    if (width === Width.double) return toDouble(left) - toDouble(right);
    if (width === Width.long) return longOrDouble(toBigInt(left) - toBigInt(right));
    return decimalFromParts(
      addDecimals(toDecimalParts(left), negateDecimal(toDecimalParts(right))),
    );
  }
  if (isNullish(left) || isNullish(right)) return null;
  if (left instanceof Date) {
    if (right instanceof Date) return Long.fromNumber(left.getTime() - right.getTime());
    if (isNumeric(right)) return dateOfMs(left.getTime() - Number(msOf(right)), '$subtract');
    throw new DbError(16613, `cant $subtract a ${typeName(right)} from a Date`);
  }
  throw new DbError(16556, `cant $subtract a ${typeName(right)} from a ${typeName(left)}`);
}

function msOf(value: Numeric): bigint {
  const number = toDouble(value);
  if (!Number.isFinite(number)) throw new DbError(15, 'date overflow in $subtract');
  if (widthOf(value) !== Width.decimal) return toBigInt(value);
  return truncateToBigInt(roundDecimal(toDecimalParts(value), 0, 'half-even'));
}

function multiply(operands: readonly Expression[], root: Doc): Evaluated {
  let width: Width = Width.int;
  let real = 1;
  const factors: Numeric[] = [];
  for (const operand of operands) {
    const value = operand.evaluate(root);
    if (isNumeric(value)) {
      width = wider(width, widthOf(value));
      real *= toDouble(value);
      factors.push(value);
    } else if (isNullish(value)) return null;
    else throw new DbError(16555, `$multiply only supports numeric types, not ${typeName(value)}`);
  }
  if (width === Width.double) return real;
  if (width === Width.decimal) {
    return decimalFromParts(
      factors.map(toDecimalParts).reduce(multiplyDecimals, decimalOfBigInt(1n)),
    );
  }
  if (width === Width.int && Number.isSafeInteger(real)) return fitInt(real);
  return longOrDouble(factors.reduce((product, factor) => product * toBigInt(factor), 1n));
}

function divide(left: Evaluated, right: Evaluated): Evaluated {
  if (isNumeric(left) && isNumeric(right)) {
    const divisor = toDouble(right);
    if (divisor === 0) throw new DbError(16608, "can't $divide by zero");
    if (wider(widthOf(left), widthOf(right)) !== Width.decimal) return toDouble(left) / divisor;
    return decimalFromParts(divideDecimals(toDecimalParts(left), toDecimalParts(right)));
  }
  if (isNullish(left) || isNullish(right)) return null;
  throw numericOnly(16609, '$divide', left, right);
}

function modulo(left: Evaluated, right: Evaluated): Evaluated {
  if (isNumeric(left) && isNumeric(right)) return remainder(left, right);
  if (isNullish(left) || isNullish(right)) return null;
  throw numericOnly(16611, '$mod', left, right);
}

function remainder(left: Numeric, right: Numeric): Value {
  const width = wider(widthOf(left), widthOf(right));
  const divisor = toDouble(right);
  if (divisor === 0) throw new DbError(16610, "can't $mod by zero");
  if (width === Width.decimal) {
    return decimalFromParts(remainderDecimals(toDecimalParts(left), toDecimalParts(right)));
  }
  // A whole double as divisor counts as an integer, as in MongoDB.
  const wholeDivisor = Number.isInteger(divisor) && Math.abs(divisor) <= 2147483647;
  if (typeof left === 'number' || (typeof right === 'number' && !wholeDivisor)) {
    return toDouble(left) % divisor;
  }
  if (widthOf(left) === Width.long || widthOf(right) === Width.long) {
    return Long.fromBigInt(toBigInt(left) % toBigInt(right));
  }
  return fitInt(Number(toBigInt(left) % toBigInt(right)));
}

function numericOnly(code: number, name: string, left: Evaluated, right: Evaluated): DbError {
  return new DbError(
    code,
    `${name} only supports numeric types, not ${typeName(left)} and ${typeName(right)}`,
  );
}
