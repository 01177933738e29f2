import { badValue } from '../errors.js';
import { encodeKeyPart } from '../values/index-key.js';
import { compareNumbers, isNaNValue } from '../values/numbers.js';
import { compareValues } from '../values/order.js';
import { typeBracket } from '../values/type-names.js';
import {
  BSONRegExp,
  Int32,
  isDoc,
  isNumeric,
  MaxKey,
  MISSING,
  MinKey,
  type Missing,
  type Numeric,
  type Value,
} from '../values/value.js';
import type { Predicate } from './path.js';
import { compileRegExp } from './regex.js';

/** The operators that compare with one value. */
export type ComparisonOperator = '$eq' | '$gt' | '$gte' | '$lt' | '$lte';

/** Compiles a comparison; the path is only for messages. */
export function compileComparison(
  operator: ComparisonOperator,
  operand: Value,
  path: string,
): Predicate {
  if (operand === undefined) throw badValue(`cannot compare ${path} to undefined`);
  if (operand instanceof BSONRegExp && operator !== '$eq') {
    throw badValue(`Can't have RegEx as arg to predicate over field '${path}'.`);
  }
  if (typeof operand === 'string') return compareWithText(operator, operand);
  if (isNumeric(operand)) return compareWithNumber(operator, operand);
  if (operand === null) return compareWithNull(operator);
  if (operand instanceof MinKey || operand instanceof MaxKey) {
    return compareWithExtreme(operator, operand);
  }
  const accepts = ACCEPTS[operator];
  const bracket = typeBracket(operand);
  return (value) => typeBracket(value) === bracket && accepts(compareValues(value, operand));
}

const ACCEPTS: Readonly<Record<ComparisonOperator, (order: number) => boolean>> = {
  $eq: (order) => order === 0,
  $gt: (order) => order > 0,
  $gte: (order) => order >= 0,
  $lt: (order) => order < 0,
  $lte: (order) => order <= 0,
};

function compareWithText(operator: ComparisonOperator, operand: string): Predicate {
  const accepts = ACCEPTS[operator];
  if (operator === '$eq') {
    return (value) =>
      value === operand ||
      (typeof value === 'object' &&
        typeBracket(value) === 15 &&
        compareValues(value, operand) === 0);
  }
  return (value) => typeBracket(value) === 15 && accepts(compareValues(value, operand));
}

function compareWithNumber(operator: ComparisonOperator, operand: Numeric): Predicate {
  const accepts = ACCEPTS[operator];
  if (isNaNValue(operand)) {
    // NaN equals NaN, and stands in no order to anything else.
    if (operator === '$gt' || operator === '$lt') return () => false;
    return (value) => isNumeric(value) && isNaNValue(value);
  }
  if (operand instanceof Int32 && operator === '$eq') {
    const wanted = operand.value;
    return (value) =>
      value instanceof Int32
        ? value.value === wanted
        : value === wanted || (isNumeric(value) && compareNumbers(value, operand) === 0);
  }
  return (value) =>
    isNumeric(value) && accepts(compareNumbers(value, operand)) && !isNaNValue(value);
}

/** Null is equal to null, undefined and what is absent; nothing is above or below it. */
function compareWithNull(operator: ComparisonOperator): Predicate {
  if (operator === '$gt' || operator === '$lt') return () => false;
  return isNullish;
}

function isNullish(value: Value | Missing): boolean {
  return value === null || value === undefined || value === MISSING;
}

/** MinKey and MaxKey stand in an order with values of every type. */
function compareWithExtreme(operator: ComparisonOperator, operand: MinKey | MaxKey): Predicate {
  const accepts = ACCEPTS[operator];
  return (value) => accepts(compareValues(value, operand));
}

/** How long a list of `$in` may be before a set of keys is quicker than looking through it. */
const LINEAR_LIMIT = 6;

/** Compiles the list of `$in`: equality with one of the values, or a match of one of the patterns. */
export function compileIn(operands: readonly Value[], path: string): Predicate {
  const patterns: Predicate[] = [];
  const values: Value[] = [];
  for (const operand of operands) {
    if (operand === undefined) throw badValue('InMatchExpression equality cannot be undefined');
    if (isDoc(operand) && isOperatorDocument(operand)) {
      throw badValue('cannot nest $ under $in');
    }
    if (operand instanceof BSONRegExp) {
      patterns.push(compileRegExp(operand.pattern, operand.options));
    } else values.push(operand);
  }
  const contains = compileValueList(values, path);
  if (patterns.length === 0) return contains;
  return (value) => contains(value) || patterns.some((pattern) => pattern(value));
}

function compileValueList(values: readonly Value[], path: string): Predicate {
  if (values.length === 0) return () => false;
  if (values.length <= LINEAR_LIMIT) {
    const tests = values.map((value) => compileComparison('$eq', value, path));
    return tests.length === 1 ? tests[0]! : (value) => tests.some((test) => test(value));
  }
  const keys = new Set(values.map((value) => encodeKeyPart(value)));
  const texts = new Set(values.filter((value) => typeof value === 'string'));
  const hasNull = values.includes(null);
  return (value) => {
    if (typeof value === 'string' && texts.has(value)) return true;
    return isNullish(value) ? hasNull : keys.has(encodeKeyPart(value));
  };
}

/** Whether a document holds operators: its first key starts with `$`, and it is no DBRef. */
export function isOperatorDocument(
  document: ReadonlyMap<string, Value>,
  allowIncompleteRef = false,
): boolean {
  const first = document.keys().next();
  if (first.done || !first.value.startsWith('$')) return false;
  return !isReference(document, allowIncompleteRef);
}

function isReference(document: ReadonlyMap<string, Value>, allowIncomplete: boolean): boolean {
  const hasRef = document.has('$ref');
  const hasId = document.has('$id');
  return allowIncomplete ? hasRef || hasId || document.has('$db') : hasRef && hasId;
}
