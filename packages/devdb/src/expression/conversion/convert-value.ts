import { DbError } from '../../errors.js';
import { toDecimalParts } from '../../values/arithmetic.js';
import { decimalFromParts, decimalParts } from '../../values/decimal.js';
import { toDouble } from '../../values/numbers.js';
import { type TypeName, typeName } from '../../values/type-names.js';
import {
  Decimal128,
  int32,
  isNumeric,
  isTruthy,
  Long,
  type Numeric,
  ObjectId,
  type Value,
} from '../../values/value.js';
import { instantOf } from '../dates/date-operand.js';
import { dateOfText } from '../dates/date-text.js';
import { UTC } from '../dates/time-zone.js';
import { fitsLong, toBigInt, Width, widthOf } from '../numeric.js';
import { parseDecimal, parseDouble, parseInt32, parseLong } from './parse-number.js';
import { textOfDate, textOfDouble } from './text-of-value.js';

/** The types that `$convert` converts to. */
export type ConversionTarget = Extract<
  TypeName,
  'double' | 'string' | 'objectId' | 'bool' | 'date' | 'int' | 'long' | 'decimal'
>;

/** Converts a value that is not null; throws ConversionFailure (241) where MongoDB has no way. */
export function convertValue(value: Value, target: ConversionTarget): Value {
  if (typeName(value) === target) return value;
  return CONVERSIONS[target](value);
}

const CONVERSIONS: Readonly<Record<ConversionTarget, (value: Value) => Value>> = {
  bool: (value) => isTruthy(value),
  string: toText,
  int: toInt,
  long: toLong,
  double: toDoubleValue,
  decimal: toDecimal,
  date: toDate,
  objectId: toObjectId,
};

function failure(reason: string): DbError {
  return new DbError(241, `${reason} in $convert with no onError value`);
}

function unsupported(value: Value, target: ConversionTarget): DbError {
  return failure(`Unsupported conversion from ${typeName(value)} to ${target}`);
}

function notANumber(text: string): DbError {
  return failure(`Failed to parse number '${text}'`);
}

function toText(value: Value): Value {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return textOfDouble(value);
  if (isNumeric(value)) return value.toString();
  if (value instanceof Date) return textOfDate(value);
  if (value instanceof ObjectId) return value.toHexString();
  throw unsupported(value, 'string');
}

function toInt(value: Value): Value {
  if (typeof value === 'boolean') return int32(value ? 1 : 0);
  if (typeof value === 'string') return parsed(value, parseInt32);
  if (!isNumeric(value)) throw unsupported(value, 'int');
  const whole = finiteWhole(value);
  if (whole !== BigInt.asIntN(32, whole)) throw failure('Conversion would overflow target type');
  return int32(Number(whole));
}

function toLong(value: Value): Value {
  if (typeof value === 'boolean') return Long.fromNumber(value ? 1 : 0);
  if (typeof value === 'string') return parsed(value, parseLong);
  if (value instanceof Date) return Long.fromNumber(value.getTime());
  if (!isNumeric(value)) throw unsupported(value, 'long');
  return Long.fromBigInt(wholeInLong(value));
}

function wholeInLong(value: Numeric): bigint {
  const whole = finiteWhole(value);
  if (!fitsLong(whole)) throw failure('Conversion would overflow target type');
  return whole;
}

function finiteWhole(value: Numeric): bigint {
  if (value instanceof Decimal128 && decimalParts(value).kind === 'finite') return toBigInt(value);
  if (Number.isFinite(toDouble(value))) return toBigInt(value);
  throw failure('Attempt to convert NaN or an infinite value to an integer');
}

function toDoubleValue(value: Value): Value {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string') return parsed(value, parseDouble);
  if (value instanceof Date) return value.getTime();
  if (!isNumeric(value)) throw unsupported(value, 'double');
  const number = toDouble(value);
  if (value instanceof Decimal128 && !Number.isFinite(number)) {
    if (decimalParts(value).kind === 'finite') {
      throw failure('Conversion would overflow target type');
    }
  }
  return number;
}

function toDecimal(value: Value): Value {
  if (typeof value === 'boolean') return decimalFromParts(toDecimalParts(int32(value ? 1 : 0)));
  if (typeof value === 'string') return parsed(value, parseDecimal);
  if (value instanceof Date) {
    return decimalFromParts(toDecimalParts(Long.fromNumber(value.getTime())));
  }
  if (!isNumeric(value)) throw unsupported(value, 'decimal');
  return decimalFromParts(toDecimalParts(value));
}

function toDate(value: Value): Value {
  if (typeof value === 'string') return new Date(dateOfText(value, UTC));
  if (value instanceof ObjectId) return new Date(instantOf(value));
  if (!isNumeric(value) || widthOf(value) === Width.int) throw unsupported(value, 'date');
  const date = new Date(Number(wholeInLong(value)));
  if (Number.isNaN(date.getTime())) throw failure('Conversion would overflow target type');
  return date;
}

function toObjectId(value: Value): Value {
  if (typeof value !== 'string') throw unsupported(value, 'objectId');
  if (/^[0-9a-f]{24}$/i.test(value)) return ObjectId.createFromHexString(value);
  throw failure(`Failed to parse objectId '${value}'`);
}

function parsed(text: string, parse: (text: string) => Value | undefined): Value {
  const value = parse(text);
  if (value === undefined) throw notANumber(text);
  return value;
}
