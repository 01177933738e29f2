import { DbError } from '../../errors.js';
import { type Evaluated, orNull } from '../../expression/expression.js';
import { asInt32 } from '../../expression/numeric.js';
import { toDouble } from '../../values/numbers.js';
import { compareValues } from '../../values/order.js';
import { typeName } from '../../values/type-names.js';
import { type Doc, doc, isDoc, isNumeric, type Value } from '../../values/value.js';
import type { StageDefinition } from '../stage.js';
import { type AccumulatedField, Group } from './accumulated-fields.js';
import { checkGroupBy, compileOutput } from './bucket.js';

/** `$bucketAuto`: groups of about equal size by ranges of a value that it finds itself. */
export const BUCKET_AUTO: StageDefinition = {
  name: '$bucketAuto',
  compile(value, { scope }) {
    if (!isDoc(value)) {
      throw new DbError(
        40240,
        `The argument to $bucketAuto must be an object, but found type: ${typeName(value)}.`,
      );
    }
    for (const key of value.keys()) {
      if (!['groupBy', 'buckets', 'output', 'granularity'].includes(key)) {
        throw new DbError(40245, `Unrecognized option to $bucketAuto: ${key}.`);
      }
    }
    if (value.has('groupBy')) checkGroupBy('$bucketAuto', value.get('groupBy'), 40239);
    const count = value.has('buckets') ? readBuckets(value.get('buckets')) : 0;
    const output = compileOutput('$bucketAuto', value, scope, 40244);
    if (value.has('granularity')) {
      throw new DbError(
        238,
        "the 'granularity' of $bucketAuto is not supported by this development server",
      );
    }
    if (!value.has('groupBy') || !value.has('buckets')) {
      throw new DbError(40246, "$bucketAuto requires 'groupBy' and 'buckets' to be specified.");
    }
    const { evaluate } = scope.compile(value.get('groupBy'));
    return (source) => distribute(sortedBy(source, evaluate), count, output);
  },
};

interface Keyed {
  key: Value;
  document: Doc;
}

function readBuckets(buckets: Value): number {
  if (!isNumeric(buckets)) {
    throw new DbError(
      40241,
      `The $bucketAuto 'buckets' field must be a numeric value, but found type: ${typeName(buckets)}.`,
    );
  }
  const count = asInt32(buckets);
  if (count === undefined) {
    throw new DbError(
      40242,
      "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found " +
        `${toDouble(buckets)}.`,
    );
  }
  if (count > 0) return count;
  throw new DbError(
    40243,
    `The $bucketAuto 'buckets' field must be greater than 0, but found: ${count}`,
  );
}

function sortedBy(source: Iterable<Doc>, evaluate: (document: Doc) => Evaluated): Keyed[] {
  const keyed: Keyed[] = [];
  for (const document of source) keyed.push({ key: orNull(evaluate(document)), document });
  return keyed.sort((left, right) => compareValues(left.key, right.key));
}

/** Equal values stay together, so that there may be fewer buckets than asked for. */
function* distribute(
  keyed: readonly Keyed[],
  count: number,
  output: readonly AccumulatedField[],
): Generator<Doc> {
  const size = Math.max(1, Math.round(keyed.length / count));
  let at = 0;
  for (let bucket = 1; at < keyed.length; bucket++) {
    const group = new Group(output);
    const start = at;
    const last = bucket === count ? keyed.length : Math.min(start + size, keyed.length);
    while (at < last || (at < keyed.length && sameKey(keyed, at))) {
      group.add(keyed[at]!.document);
      at++;
    }
    // The upper bound is the next bucket's lower one; only in the last bucket it is a value in it.
    const upper = at < keyed.length ? keyed[at]!.key : keyed[at - 1]!.key;
    yield group.finish(doc(['min', keyed[start]!.key], ['max', upper]));
  }
}

function sameKey(keyed: readonly Keyed[], at: number): boolean {
  return at > 0 && compareValues(keyed[at]!.key, keyed[at - 1]!.key) === 0;
}
