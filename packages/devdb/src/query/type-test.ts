import { badValue, DbError, failedToParse, typeMismatch } from '../errors.js';
import { toDouble } from '../values/numbers.js';
import { TypeCode, type TypeName, typeName, typeNameOfCode } from '../values/type-names.js';
import { isNumeric, type Value } from '../values/value.js';
import type { Predicate } from './path.js';

const NUMBER_TYPES: readonly TypeName[] = ['double', 'int', 'long', 'decimal'];

/** Compiles `$type`: a name, a code, `number`, or a list of these. */
export function compileTypeTest(operand: Value, path: string): Predicate {
  const types = typeSet(operand, path);
  return (value) => types.has(typeName(value));
}

/** The names of the BSON types that a `$type` operand stands for. */
export function typeSet(operand: Value, path: string): ReadonlySet<string> {
  const operands = Array.isArray(operand) ? operand : [operand];
  if (operands.length === 0) throw failedToParse(`${path} must match at least one type`);
  return new Set(operands.flatMap(namedTypes));
}

function namedTypes(operand: Value): readonly TypeName[] {
  if (typeof operand === 'string') {
    if (operand === 'number') return NUMBER_TYPES;
    if (!Object.hasOwn(TypeCode, operand)) {
      throw badValue(`Unknown type name alias: ${operand}`);
    }
    return [operand as TypeName];
  }
  if (!isNumeric(operand)) {
    throw typeMismatch('type must be represented as a number or a string');
  }
  const code = toDouble(operand);
  const name = typeNameOfCode(code);
  if (name !== undefined) return [name];
  const hint = code === 0 ? '. Instead use {$exists:false}.' : '';
  throw new DbError(2, `Invalid numerical type code: ${code}${hint}`);
}
