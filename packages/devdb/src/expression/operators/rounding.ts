import { DbError } from '../../errors.js';
import { fitInt, toDecimalParts } from '../../values/arithmetic.js';
import {
  decimalFromParts,
  decimalOfBigInt,
  decimalToDouble,
  exactDecimalOfDouble,
  type Rounding,
  roundDecimal,
  truncateToBigInt,
} from '../../values/decimal.js';
import { typeName } from '../../values/type-names.js';
import { Decimal128, Int32, isNumeric, Long, type Numeric } from '../../values/value.js';
import { type Evaluated, isNullish } from '../expression.js';
import { asInt32, fitsLong, toBigInt } from '../numeric.js';
import { type Operator, ranged } from '../operator.js';

/** `$round` (half to even) and `$trunc`, to a number of places from -20 to 100. */
export const ROUNDING: readonly Operator[] = [
  ranged('$round', 1, 2, (values) => round('$round', values, 'half-even')),
  ranged('$trunc', 1, 2, (values) => round('$trunc', values, 'trunc')),
];

function round(name: string, values: readonly Evaluated[], rounding: Rounding): Evaluated {
  const [value, precision] = values as [Evaluated, Evaluated?];
  if (isNullish(value)) return null;
  if (!isNumeric(value)) {
    throw new DbError(51081, `${name} only supports numeric types, not ${typeName(value)}`);
  }
  if (values.length === 1) return rounded(name, value, 0, rounding);
  if (isNullish(precision as Evaluated)) return null;
  return rounded(name, value, placesOf(name, precision as Evaluated), rounding);
}

function placesOf(name: string, precision: Evaluated): number {
  const places = isNumeric(precision) ? asInt32(precision) : undefined;
  if (places === undefined) {
    throw new DbError(51082, `precision argument to ${name} must be a integral value`);
  }
  if (places >= -20 && places <= 100) return places;
  throw new DbError(
    51083,
    `cannot apply ${name} with precision value ${places} value must be in [-20, 100]`,
  );
}

function rounded(name: string, value: Numeric, places: number, rounding: Rounding): Evaluated {
  if (value instanceof Decimal128) {
    return decimalFromParts(roundDecimal(toDecimalParts(value), places, rounding));
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return value;
    const parts = roundDecimal(exactDecimalOfDouble(value), places, rounding);
    const result = decimalToDouble(decimalFromParts(parts));
    return result === 0 && parts.negative ? -0 : result;
  }
  if (places >= 0) return value;
  const parts = roundDecimal(decimalOfBigInt(toBigInt(value)), places, rounding);
  const whole = truncateToBigInt(parts);
  if (!fitsLong(whole)) {
    throw new DbError(51080, `invalid conversion from Decimal128 result in ${name}`);
  }
  return value instanceof Int32 ? fitInt(Number(whole)) : Long.fromBigInt(whole);
}
