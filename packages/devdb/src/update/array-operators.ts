import { badValue, DbError, failedToParse, typeMismatch } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import type { FilterEnv } from '../query/filter-env.js';
import { formatValue } from '../values/format.js';
import { toDouble } from '../values/numbers.js';
import { compareValues, equalValues } from '../values/order.js';
import { typeName } from '../values/type-names.js';
import {
  BSONRegExp,
  type Doc,
  isDoc,
  isNumeric,
  MISSING,
  type Missing,
  type Value,
} from '../values/value.js';
import { checkStorable } from './storage-rules.js';
import type { LeafOperator } from './update-context.js';

/** `$addToSet`, also with `$each`. Elements that the array already has twice stay. */
export function addToSetOperator(operand: Value, path: string): LeafOperator {
  const candidates = distinctValues(addedValues(operand));
  return {
    apply(found, context) {
      if (found !== MISSING && !Array.isArray(found)) {
        throw badValue(
          `Cannot apply $addToSet to non-array field. Field named '${path}' has non-array type ${typeName(found)}`,
        );
      }
      const array = found === MISSING ? [] : found;
      const added = candidates.filter((value) => !array.some((item) => equalValues(item, value)));
      if (found !== MISSING && added.length === 0) return found;
      checkStorable(added, path);
      context.modified = true;
      return [...array, ...added];
    },
  };
}

function addedValues(operand: Value): readonly Value[] {
  if (!isDoc(operand) || operand.keys().next().value !== '$each') return [operand];
  const each = operand.get('$each');
  if (!Array.isArray(each)) {
    throw typeMismatch(
      `The argument to $each in $addToSet must be an array but it was of type ${typeName(each)}`,
    );
  }
  if (operand.size > 1) {
    throw badValue(`Found unexpected fields after $each in $addToSet: ${formatValue(operand)}`);
  }
  return each;
}

function distinctValues(values: readonly Value[]): Value[] {
  const distinct: Value[] = [];
  for (const value of values) {
    if (!distinct.some((known) => equalValues(known, value))) distinct.push(value);
  }
  return distinct;
}

/** `$pop`: 1 takes the last element, -1 the first. */
export function popOperator(operand: Value, path: string): LeafOperator {
  const fromFront = popDirection(operand, path) === -1;
  return {
    apply(found, context) {
      if (found === MISSING) return found;
      if (!Array.isArray(found)) {
        throw typeMismatch(
          `Path '${path}' contains an element of non-array type '${typeName(found)}'`,
        );
      }
      if (found.length === 0) return found;
      context.modified = true;
      return fromFront ? found.slice(1) : found.slice(0, -1);
    },
  };
}

function popDirection(operand: Value, path: string): number {
  if (!isNumeric(operand)) {
    throw failedToParse(`Expected a number in: ${path}: ${formatValue(operand)}`);
  }
  const direction = toDouble(operand);
  if (!Number.isInteger(direction)) {
    throw failedToParse(`Expected an integer: ${path}: ${formatValue(operand)}`);
  }
  if (direction !== 1 && direction !== -1) {
    throw failedToParse(`$pop expects 1 or -1, found: ${direction}`);
  }
  return direction;
}

/** `$pull`: takes out the elements that equal a value or meet a condition. */
export function pullOperator(operand: Value, env: FilterEnv): LeafOperator {
  return removal(pullTest(operand, env));
}

/** `$pullAll`: takes out the elements that equal one of the values. */
export function pullAllOperator(operand: Value): LeafOperator {
  if (!Array.isArray(operand)) {
    throw badValue(`$pullAll requires an array argument but was given a ${typeName(operand)}`);
  }
  return removal((element) => operand.some((value) => equalValues(value, element)));
}

function removal(isRemoved: (element: Value) => boolean): LeafOperator {
  return {
    apply(found, context) {
      if (found === MISSING) return found;
      if (!Array.isArray(found)) throw badValue('Cannot apply $pull to a non-array value');
      const kept = found.filter((element) => !isRemoved(element));
      if (kept.length === found.length) return found;
      context.modified = true;
      return kept;
    },
  };
}

/** Operators on one value; with any other first key the operand is a filter on documents. */
const VALUE_OPERATORS: ReadonlySet<string> = new Set([
  '$eq',
  '$gt',
  '$gte',
  '$lt',
  '$lte',
  '$ne',
  '$in',
  '$nin',
  '$all',
  '$size',
  '$exists',
  '$mod',
  '$type',
  '$elemMatch',
  '$regex',
  '$options',
  '$bitsAllSet',
  '$bitsAllClear',
  '$bitsAnySet',
  '$bitsAnyClear',
]);

function pullTest(operand: Value, env: FilterEnv): (element: Value) => boolean {
  const isCondition =
    operand instanceof BSONRegExp ||
    (isDoc(operand) && VALUE_OPERATORS.has(operand.keys().next().value ?? ''));
  if (isCondition) {
    const matcher = compileFilter(new Map([['', operand]]), env);
    return (element) => matcher.matches(new Map([['', element]]));
  }
  if (isDoc(operand)) {
    const matcher = compileFilter(operand, env);
    return (element) => isDoc(element) && matcher.matches(element);
  }
  return (element) => compareValues(element, operand) === 0;
}

/** Elements and where they come to stand, for messages. */
export function notAnArray(path: string, found: Value | Missing): DbError {
  return badValue(`The field '${path}' must be an array but is of type ${typeName(found)}`);
}

/** Whether a `$push` operand has clauses (`$each`, `$slice`, ...) instead of being a value. */
export function hasPushClauses(operand: Value): operand is Doc {
  return isDoc(operand) && operand.has('$each');
}
