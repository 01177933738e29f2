import { DbError } from '../../errors.js';
import { toDouble } from '../../values/numbers.js';
import { typeName } from '../../values/type-names.js';
import { Decimal128, isNumeric } from '../../values/value.js';
import { type Evaluated, isNullish } from '../expression.js';
import { binary, type Operator, unary } from '../operator.js';

/** Where a function is defined: what does not lie in it is refused (50989), but for NaN. */
interface Domain {
  readonly text: string;
  readonly holds: (value: number) => boolean;
}

const ALL: Domain = { text: '[-inf,inf]', holds: () => true };
const FINITE: Domain = { text: '(-inf,inf)', holds: Number.isFinite };
const UNIT: Domain = { text: '[-1,1]', holds: (value) => Math.abs(value) <= 1 };
const FROM_ONE: Domain = { text: '[1,inf]', holds: (value) => value >= 1 };

const DEGREE = Math.PI / 180;

/** Angles and their functions, over doubles. They give doubles, for whole numbers too. */
export const TRIGONOMETRY: readonly Operator[] = [
  trigonometric('$sin', Math.sin, FINITE),
  trigonometric('$cos', Math.cos, FINITE),
  trigonometric('$tan', Math.tan, FINITE),
  trigonometric('$asin', Math.asin, UNIT),
  trigonometric('$acos', Math.acos, UNIT),
  trigonometric('$atan', Math.atan, ALL),
  trigonometric('$sinh', Math.sinh, ALL),
  trigonometric('$cosh', Math.cosh, ALL),
  trigonometric('$tanh', Math.tanh, ALL),
  trigonometric('$asinh', Math.asinh, ALL),
  trigonometric('$acosh', Math.acosh, FROM_ONE),
  trigonometric('$atanh', Math.atanh, UNIT),
  trigonometric('$degreesToRadians', (value) => value * DEGREE, ALL),
  trigonometric('$radiansToDegrees', (value) => value * (180 / Math.PI), ALL),
  binary('$atan2', (y, x) => {
    if (isNullish(y) || isNullish(x)) return null;
    return Math.atan2(realOf('$atan2', y, 51044), realOf('$atan2', x, 51045));
  }),
];

function trigonometric(name: string, apply: (value: number) => number, domain: Domain): Operator {
  return unary(name, (value) => {
    if (isNullish(value)) return null;
    const number = realOf(name, value, 28765);
    if (Number.isNaN(number) || domain.holds(number)) return apply(number);
    throw new DbError(50989, `cannot apply ${name} to ${number}, value must be in ${domain.text}`);
  });
}

/** The number; for a decimal MongoDB computes 34 digits, which this server cannot (238). */
function realOf(name: string, value: Evaluated, code: number): number {
  if (!isNumeric(value)) {
    throw new DbError(code, `${name} only supports numeric types, not ${typeName(value)}`);
  }
  if (value instanceof Decimal128) {
    throw new DbError(238, `${name} of a decimal is not supported by this development server`);
  }
  return toDouble(value);
}
