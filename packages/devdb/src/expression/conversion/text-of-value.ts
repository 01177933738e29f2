import { DbError } from '../../errors.js';
import { typeName } from '../../values/type-names.js';
import {
  BSONSymbol,
  Code,
  Decimal128,
  Int32,
  isLong,
  Timestamp,
  type Value,
} from '../../values/value.js';
import { type Evaluated, isNullish } from '../expression.js';

/** A double as C++'s `%.16g` prints it, which is what MongoDB uses. */
export function textOfDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa, power] = value.toExponential(15).split('e') as [string, string];
  const exponent = Number(power);
  if (exponent < -5 || exponent >= 16) {
    const sign = exponent < 0 ? '-' : '+';
    const digits = String(Math.abs(exponent)).padStart(2, '0');
    return `${withoutZeros(mantissa)}e${sign}${digits}`;
  }
  return withoutZeros(value.toFixed(Math.max(0, 15 - exponent)));
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** A date in UTC, as `2020-01-02T03:04:05.006Z`. */
export function textOfDate(value: Date): string {
  return value.toISOString();
}

/**
 * A value as text for the string operators: null and absent are the empty text; only text, numbers,
 * dates, timestamps and code have one (16007).
 */
export function coerceToText(value: Evaluated): string {
  if (typeof value === 'string') return value;
  if (isNullish(value)) return '';
  const text = textOfScalar(value);
  if (text !== undefined) return text;
  throw new DbError(16007, `can't convert from BSON type ${typeName(value)} to String`);
}

function textOfScalar(value: Value): string | undefined {
  if (typeof value === 'number') return textOfDouble(value);
  if (value instanceof Int32) return String(value.value);
  if (isLong(value) || value instanceof Decimal128) return value.toString();
  if (value instanceof Date) return textOfDate(value);
  if (value instanceof BSONSymbol) return value.value;
  if (value instanceof Code) return value.code;
  if (value instanceof Timestamp) return `Timestamp(${value.t}, ${value.i})`;
  return undefined;
}
