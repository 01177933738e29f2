import { badValue, DbError } from '../errors.js';
import { toDouble } from '../values/numbers.js';
import {
  BSONRegExp,
  Decimal128,
  type Doc,
  isDoc,
  isNumeric,
  isTruthy,
  MISSING,
  type Missing,
  type Value,
} from '../values/value.js';
import { compileBits } from './bits.js';
import { compileComparison, compileIn, isOperatorDocument } from './comparison.js';
import type { FilterEnv } from './filter-env.js';
import { allOf, type Conjunct, type FilterNode, notNode, Rank } from './filter-node.js';
import { compileModulo } from './modulo.js';
import { anyAtPath, type MatchPosition, type Path, type Predicate, splitPath } from './path.js';
import { compileRegExp } from './regex.js';
import { compileTypeTest } from './type-test.js';

/**
 * A compiled condition on one field. It is asked in two ways: of a path in a document, and (inside
 * `$elemMatch`) of one value.
 */
export interface FieldCondition {
  readonly rank: Rank;
  /** Whether one value meets the condition; arrays are not searched. */
  readonly value: ValueTest;
  /** Whether what a path names meets it. */
  readonly at: (path: Path) => FilterNode;
}

/** A test of one value that may tell the place in an array at which it found it. */
type ValueTest = (value: Value | Missing, position: MatchPosition | null) => boolean;

/** Compiles the filter of an `$elemMatch` on documents; injected to keep the imports one-way. */
type CompileNested = (filter: Doc, env: FilterEnv) => FilterNode;

/** What field operators need of their surroundings. */
export interface FieldContext {
  readonly path: string;
  readonly env: FilterEnv;
  readonly compileNested: CompileNested;
}

/** A condition whose test is asked of each element of an array and of the array. */
function traversing(rank: Rank, test: Predicate): FieldCondition {
  return {
    rank,
    value: test,
    at: (path) => {
      if (path.length > 1) {
        return (container, position) => anyAtPath(container, path, 0, true, test, position);
      }
      const field = path[0]!;
      // The commonest filter by far: one field of a document that is no array.
      return (container, position) => {
        if (container instanceof Map) {
          const value = container.get(field);
          if (value !== undefined && !Array.isArray(value)) return test(value);
        }
        return anyAtPath(container, path, 0, true, test, position);
      };
    },
  };
}

/** A condition on an array itself; without one at the path's end it fails. */
function onArray(
  rank: Rank,
  test: (array: readonly Value[], position: MatchPosition | null) => boolean,
): FieldCondition {
  const isMatch =
    (position: MatchPosition | null): Predicate =>
    (value) =>
      Array.isArray(value) && test(value, position);
  return {
    rank,
    value: (value, position) => Array.isArray(value) && test(value, position),
    at: (path) => (container, position) => {
      if (!position) return anyAtPath(container, path, 0, false, isMatch(null), null);
      const inside: MatchPosition = { index: undefined };
      const outside: MatchPosition = { index: undefined };
      if (!anyAtPath(container, path, 0, false, isMatch(inside), outside)) return false;
      // An array that the path goes through counts before the one at its end.
      position.index = outside.index ?? inside.index ?? position.index;
      return true;
    },
  };
}

/** The opposite of conditions, which no array search can turn into "some element does not". */
function negated(conditions: readonly FieldCondition[]): FieldCondition {
  return {
    rank: Rank.not,
    value: (value) => !conditions.every((condition) => condition.value(value, null)),
    at: (path) => notNode(allAt(conditions, path)),
  };
}

function allAt(conditions: readonly FieldCondition[], path: Path): FilterNode {
  return allOf(conditions.map(({ rank, at }) => ({ rank, node: at(path), path: '' })));
}

const NEVER: FieldCondition = { rank: Rank.always, value: () => false, at: () => () => false };

/** Equality, or the match of a pattern: what a plain value in a filter means. */
export function compileEquality(operand: Value, path: string): FieldCondition {
  if (operand instanceof BSONRegExp) {
    return traversing(Rank.regex, compileRegExp(operand.pattern, operand.options));
  }
  return traversing(Rank.eq, compileComparison('$eq', operand, path));
}

/** Compiles the operators of one field, e.g. `{$gt: 1, $lt: 5}`; all of them must hold. */
export function compileOperators(operators: Doc, context: FieldContext): FieldCondition[] {
  return [...operators].flatMap(([operator, operand]) =>
    compileOperator(operator, operand, operators, context),
  );
}

const COMPARISON_RANKS = {
  $eq: Rank.eq,
  $gt: Rank.gt,
  $gte: Rank.gte,
  $lt: Rank.lt,
  $lte: Rank.lte,
} as const;

function compileOperator(
  operator: string,
  operand: Value,
  siblings: Doc,
  context: FieldContext,
): FieldCondition | FieldCondition[] {
  const { path } = context;
  switch (operator) {
    case '$eq':
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte':
      return traversing(COMPARISON_RANKS[operator], compileComparison(operator, operand, path));
    case '$ne':
      if (operand instanceof BSONRegExp) throw badValue("Can't have regex as arg to $ne.");
      return negated([traversing(Rank.eq, compileComparison('$eq', operand, path))]);
    case '$in':
    case '$nin': {
      if (!Array.isArray(operand)) throw badValue(`${operator} needs an array`);
      const rank = operand.length === 1 ? Rank.eq : Rank.in;
      const condition = traversing(rank, compileIn(operand, path));
      return operator === '$in' ? condition : negated([condition]);
    }
    case '$exists': {
      const exists = traversing(Rank.exists, (value) => value !== MISSING);
      return isTruthy(operand) ? exists : negated([exists]);
    }
    case '$type':
      return traversing(Rank.type, compileTypeTest(operand, path));
    case '$not':
      return compileNot(operand, context);
    case '$regex':
      return traversing(Rank.regex, compileRegexOperator(operand, siblings.get('$options')));
    case '$options':
      if (!siblings.has('$regex')) throw badValue('$options needs a $regex');
      return [];
    case '$size':
      return compileSize(operand);
    case '$mod':
      return traversing(Rank.mod, compileModulo(operand));
    case '$all':
      return compileAll(operand, context);
    case '$elemMatch':
      return compileElemMatch(operand, context);
    case '$bitsAllSet':
    case '$bitsAnySet':
    case '$bitsAllClear':
    case '$bitsAnyClear':
      return traversing(Rank.bits, compileBits(operator, operand, path));
    case '$near':
    case '$nearSphere':
    case '$geoWithin':
    case '$geoIntersects':
    case '$within':
    case '$geoNear':
      throw badValue(`${operator} is not supported by this server: it has no geo indexes`);
    default:
      throw badValue(`unknown operator: ${operator}`);
  }
}

function compileNot(operand: Value, context: FieldContext): FieldCondition {
  if (operand instanceof BSONRegExp) return negated([compileEquality(operand, context.path)]);
  if (!isDoc(operand)) throw badValue('$not needs a regex or a document');
  if (operand.size === 0) throw badValue('$not cannot be empty');
  return negated(compileOperators(operand, context));
}

function compileRegexOperator(operand: Value, options: Value): Predicate {
  if (options !== undefined && typeof options !== 'string') {
    throw badValue('$options has to be a string');
  }
  if (typeof operand === 'string') return compileRegExp(operand, options ?? '');
  if (!(operand instanceof BSONRegExp)) throw badValue('$regex has to be a string');
  if (operand.options !== '' && options !== undefined) {
    throw new DbError(51075, 'options set in both $regex and $options');
  }
  return compileRegExp(operand.pattern, options ?? operand.options);
}

function compileSize(operand: Value): FieldCondition {
  if (!isNumeric(operand) || operand instanceof Decimal128) throw badValue('$size needs a number');
  const size = toDouble(operand);
  if (!Number.isInteger(size)) throw badValue('$size must be a whole number');
  if (size < 0) throw badValue('$size may not be negative');
  return onArray(Rank.size, (array) => array.length === size);
}

function compileAll(operand: Value, context: FieldContext): FieldCondition[] {
  if (!Array.isArray(operand)) throw badValue('$all needs an array');
  if (operand.length === 0) return [NEVER];
  const first = operand[0];
  if (isDoc(first) && first.keys().next().value === '$elemMatch') {
    return operand.map((element) => {
      if (!isDoc(element) || element.keys().next().value !== '$elemMatch') {
        throw badValue('$all/$elemMatch has to be consistent');
      }
      return compileElemMatch(element.get('$elemMatch'), context);
    });
  }
  return operand.map((element) => {
    if (isDoc(element) && isOperatorDocument(element)) {
      throw badValue('no $ expressions in $all');
    }
    return compileEquality(element, context.path);
  });
}

/** Operators at the top of an `$elemMatch` that make it one on documents all the same. */
const DOCUMENT_OPERATORS: ReadonlySet<string> = new Set(['$and', '$or', '$nor', '$where']);

function compileElemMatch(operand: Value, context: FieldContext): FieldCondition {
  if (!isDoc(operand)) throw badValue('$elemMatch needs an Object');
  const first = operand.keys().next().value;
  if (isOperatorDocument(operand, true) && !DOCUMENT_OPERATORS.has(first!)) {
    const conditions = compileOperators(operand, { ...context, path: '' });
    const holds: ValueTest = (value) => conditions.every((each) => each.value(value, null));
    return onArray(Rank.elemMatchValue, (array, position) => findElement(array, holds, position));
  }
  const node = context.compileNested(operand, context.env);
  const holds: ValueTest = (element) => isContainer(element) && node(element, null);
  return onArray(Rank.elemMatchObject, (array, position) => findElement(array, holds, position));
}

function isContainer(value: Value | Missing): value is Doc | Value[] {
  return value instanceof Map || Array.isArray(value);
}

function findElement(
  array: readonly Value[],
  test: ValueTest,
  position: MatchPosition | null,
): boolean {
  for (let index = 0; index < array.length; index++) {
    if (!test(array[index], null)) continue;
    if (position) position.index = index;
    return true;
  }
  return false;
}

/** The conditions on a path, as the filter spells it. */
export function atDottedPath(conditions: readonly FieldCondition[], dotted: string): Conjunct[] {
  const path = splitPath(dotted);
  return conditions.map(({ rank, at }) => ({ rank, path: dotted, node: at(path) }));
}
