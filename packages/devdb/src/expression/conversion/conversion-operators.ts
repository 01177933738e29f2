import { badValue, DbError, failedToParse } from '../../errors.js';
import { toDouble } from '../../values/numbers.js';
import { TypeCode, type TypeName, typeName, typeNameOfCode } from '../../values/type-names.js';
import { isDoc, isNumeric, type Value } from '../../values/value.js';
import { type Evaluated, type Expression, isNullish, literal } from '../expression.js';
import { type Operator, unary } from '../operator.js';
import type { Scope } from '../scope.js';
import { type ConversionTarget, convertValue } from './convert-value.js';

/** `$convert`, its short forms, and `$type`. */
export const CONVERSION: readonly Operator[] = [
  unary('$type', (value) => typeName(value)),
  { name: '$convert', compile: compileConvert },
  shortForm('$toBool', 'bool'),
  shortForm('$toDate', 'date'),
  shortForm('$toDecimal', 'decimal'),
  shortForm('$toDouble', 'double'),
  shortForm('$toInt', 'int'),
  shortForm('$toLong', 'long'),
  shortForm('$toObjectId', 'objectId'),
  shortForm('$toString', 'string'),
];

const TARGETS: readonly string[] = [
  'double',
  'string',
  'objectId',
  'bool',
  'date',
  'int',
  'long',
  'decimal',
];

function shortForm(name: string, target: ConversionTarget): Operator {
  return {
    name,
    compile(operand, scope) {
      if (Array.isArray(operand) && operand.length !== 1) {
        throw new DbError(
          50723,
          `${name} requires a single argument, got an array of ${operand.length} arguments.`,
        );
      }
      const input = scope.compile(Array.isArray(operand) ? (operand[0] as Value) : operand);
      return scope.computed([input], (root) => {
        const value = input.evaluate(root);
        return isNullish(value) ? null : convertValue(value, target);
      });
    },
  };
}

function compileConvert(operand: Value, scope: Scope): Expression {
  if (!isDoc(operand)) {
    throw failedToParse(
      `$convert expects an object of named arguments but found: ${typeName(operand)}`,
    );
  }
  for (const key of operand.keys()) {
    if (!['input', 'to', 'onError', 'onNull'].includes(key)) {
      throw failedToParse(`$convert found an unknown argument: ${key}`);
    }
  }
  for (const key of ['input', 'to']) {
    if (!operand.has(key)) throw failedToParse(`Missing '${key}' parameter to $convert`);
  }
  const input = scope.compile(operand.get('input'));
  const to = scope.compile(operand.get('to'));
  const onNull = operand.has('onNull') ? scope.compile(operand.get('onNull')) : literal(null);
  const onError = operand.has('onError') ? scope.compile(operand.get('onError')) : undefined;
  const operands = [input, to, onNull, ...(onError ? [onError] : [])];
  return scope.computed(operands, (root) => {
    const value = input.evaluate(root);
    const target = to.evaluate(root);
    const type = isNullish(target) ? null : targetOf(target);
    if (isNullish(value)) return onNull.evaluate(root);
    if (type === null) return null;
    try {
      if (!TARGETS.includes(type)) {
        throw new DbError(
          241,
          `Unsupported conversion from ${typeName(value)} to ${type} in $convert with no onError value`,
        );
      }
      return convertValue(value, type as ConversionTarget);
    } catch (error) {
      if (onError && error instanceof DbError && error.code === 241) return onError.evaluate(root);
      throw error;
    }
  });
}

/** The type that `to` names or gives the code of. */
function targetOf(target: Evaluated): TypeName {
  if (typeof target === 'string') {
    if (Object.hasOwn(TypeCode, target)) return target as TypeName;
    throw badValue(`Unknown type name: ${target}`);
  }
  if (!isNumeric(target)) {
    throw failedToParse(
      `$convert's 'to' argument must be a string or number, but is ${typeName(target)}`,
    );
  }
  const code = toDouble(target);
  const name = Number.isInteger(code) ? typeNameOfCode(code) : undefined;
  if (name) return name;
  throw failedToParse(`In $convert, numeric 'to' argument is not a valid type: ${code}`);
}
