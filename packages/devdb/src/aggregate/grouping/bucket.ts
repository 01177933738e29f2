import { DbError } from '../../errors.js';
import { type Evaluated, orNull } from '../../expression/expression.js';
import type { Scope } from '../../expression/scope.js';
import { formatValue } from '../../values/format.js';
import { compareValues } from '../../values/order.js';
import { typeBracket, typeName } from '../../values/type-names.js';
import { type Doc, doc, int32, isDoc, MISSING, type Value } from '../../values/value.js';
import type { StageDefinition } from '../stage.js';
import { stageSorter } from '../stages/sort.js';
import { type AccumulatedField, compileAccumulated } from './accumulated-fields.js';
import { byValue, groupStage } from './group-by.js';

/** `$bucket`: groups by ranges of a value. */
export const BUCKET: StageDefinition = {
  name: '$bucket',
  compile(value, { scope }) {
    if (!isDoc(value)) {
      throw new DbError(
        40201,
        `Argument to $bucket stage must be an object, but found type: ${typeName(value)}.`,
      );
    }
    for (const key of value.keys()) {
      if (!['groupBy', 'boundaries', 'default', 'output'].includes(key)) {
        throw new DbError(40197, `Unrecognized option to $bucket: ${key}.`);
      }
    }
    if (value.has('groupBy')) checkGroupBy('$bucket', value.get('groupBy'), 40202);
    const boundaries = value.has('boundaries') ? readBoundaries(value, scope) : [];
    const output = compileOutput('$bucket', value, scope, 40196);
    if (!value.has('groupBy') || !value.has('boundaries')) {
      throw new DbError(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified.");
    }
    const otherwise = value.has('default')
      ? constantOf(value.get('default'), scope, 40195)
      : MISSING;
    checkDefault(otherwise, boundaries);
    const { evaluate } = scope.compile(value.get('groupBy'));
    const key = byValue((document) => bucketOf(evaluate(document), boundaries, otherwise));
    const group = groupStage(key, output);
    const sorter = stageSorter(doc(['_id', int32(1)]));
    return (source) => sorter.sort([...group(source)]);
  },
};

/** `groupBy` is a path or a document: anything else would be one group for all (an error). */
export function checkGroupBy(name: string, groupBy: Value, code: number): void {
  if (isDoc(groupBy)) return;
  if (typeof groupBy === 'string' && groupBy.startsWith('$')) return;
  throw new DbError(
    code,
    `The ${name} 'groupBy' field must be defined as a $-prefixed path or an expression, but ` +
      `found: ${formatValue(groupBy)}.`,
  );
}

/** The accumulated fields of `output`; without one, `count`. */
export function compileOutput(
  name: string,
  value: Doc,
  scope: Scope,
  code: number,
): AccumulatedField[] {
  const output = value.has('output')
    ? value.get('output')
    : doc(['count', doc(['$sum', int32(1)])]);
  if (!isDoc(output)) {
    throw new DbError(
      code,
      `The ${name} 'output' field must be an object, but found type: ${typeName(output)}.`,
    );
  }
  return [...output].map(([field, accumulator]) => compileAccumulated(field, accumulator, scope));
}

function constantOf(value: Value, scope: Scope, code: number): Value {
  const expression = scope.compile(value);
  if (expression.constant) return orNull(expression.evaluate(new Map()));
  throw new DbError(code, "The $bucket 'boundaries' and 'default' must be constant values");
}

function readBoundaries(specification: Doc, scope: Scope): Value[] {
  const given = specification.get('boundaries');
  if (!Array.isArray(given)) {
    throw new DbError(
      40200,
      `The $bucket 'boundaries' field must be an array, but found type: ${typeName(given)}.`,
    );
  }
  if (given.length < 2) {
    throw new DbError(
      40192,
      "The $bucket 'boundaries' field must have at least 2 values, but found " +
        `${given.length} value(s).`,
    );
  }
  const boundaries = given.map((boundary) => constantOf(boundary, scope, 40191));
  for (let i = 1; i < boundaries.length; i++) {
    const [lower, upper] = [boundaries[i - 1] as Value, boundaries[i] as Value];
    if (typeBracket(lower) !== typeBracket(upper)) {
      throw new DbError(
        40193,
        "All values in the 'boundaries' option to $bucket must have one type",
      );
    }
    if (compareValues(lower, upper) >= 0) {
      throw new DbError(
        40194,
        `The 'boundaries' option to $bucket must be sorted, but elements ${i - 1} and ${i} are ` +
          `not in ascending order (${formatValue(lower)} is not less than ${formatValue(upper)}).`,
      );
    }
  }
  return boundaries;
}

function checkDefault(otherwise: Evaluated, boundaries: readonly Value[]): void {
  if (otherwise === MISSING) return;
  const inside =
    compareValues(otherwise, boundaries[0]) >= 0 && compareValues(otherwise, boundaries.at(-1)) < 0;
  if (inside) {
    throw new DbError(
      40199,
      "The $bucket 'default' field must be less than the lowest boundary or greater than or equal " +
        'to the highest boundary.',
    );
  }
}

function bucketOf(value: Evaluated, boundaries: readonly Value[], otherwise: Evaluated): Evaluated {
  for (let i = boundaries.length - 2; i >= 0; i--) {
    if (compareValues(value, boundaries[i]) < 0) continue;
    if (compareValues(value, boundaries[i + 1]) < 0) return boundaries[i] as Value;
    break;
  }
  if (otherwise !== MISSING) return otherwise;
  throw new DbError(
    40066,
    '$switch could not find a matching branch for an input, and no default was specified.',
  );
}
