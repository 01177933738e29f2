/** What createIndexes asks for: one index, checked. */
import { DbError } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import { specOf } from '../storage/definitions.js';
import type { IndexSpec } from '../storage/ordered-index.js';
import { formatDocument } from '../values/format.js';
import { toDouble } from '../values/numbers.js';
import { type Doc, int32, isDoc, isNumeric, type Value } from '../values/value.js';
import { wrongType } from './command.js';

const OPTIONS: ReadonlySet<string> = new Set([
  'v',
  'key',
  'name',
  'ns',
  'unique',
  'sparse',
  'background',
  'partialFilterExpression',
  'expireAfterSeconds',
  'collation',
  'storageEngine',
  'dropDups',
]);

const UNSUPPORTED_TYPES: ReadonlySet<string> = new Set([
  'text',
  '2d',
  '2dsphere',
  'hashed',
  'geoHaystack',
]);

/** Reads one element of `indexes`; throws MongoDB's error for what no index can be. */
export function readSpec(entry: Value, namespace: string): IndexSpec {
  if (!isDoc(entry)) throw wrongType('indexes', entry, 'object');
  for (const option of entry.keys()) {
    if (!OPTIONS.has(option)) {
      throw new DbError(
        197,
        `The field '${option}' is not valid for an index specification. Specification: ${formatDocument(entry)}`,
      );
    }
  }
  const version = entry.get('v');
  if (version !== undefined && !['1', '2'].includes(String(version))) {
    throw new DbError(67, `cannot create an index with v=${String(version)}`);
  }
  const given = entry.get('ns');
  if (given !== undefined && given !== namespace) {
    throw new DbError(
      2,
      `The value of the field 'ns' (${String(given)}) doesn't match the namespace '${namespace}'`,
    );
  }
  const key = entry.get('key');
  if (key === undefined)
    throw new DbError(9, "The 'key' field is a required property of an index specification");
  if (!isDoc(key)) throw new DbError(14, "The field 'key' must be an object");
  checkKey(key);
  const name = entry.get('name');
  if (name === undefined)
    throw new DbError(9, "The 'name' field is a required property of an index specification");
  if (typeof name !== 'string') throw new DbError(14, "The field 'name' must be a string");
  if (name.includes('\0')) throw new DbError(67, 'index name cannot contain NUL bytes');
  if (name === '') throw new DbError(67, 'The index name cannot be empty');
  if (name === '*') throw new DbError(2, "The index name '*' is not valid.");
  checkOptions(entry, key);
  const stored: Doc = new Map<string, Value>([['v', int32(Number(version ?? 2))]]);
  if (entry.get('unique') !== undefined && isOn(entry.get('unique'))) stored.set('unique', true);
  stored.set('key', key);
  stored.set('name', name);
  for (const option of ['sparse', 'background', 'expireAfterSeconds', 'partialFilterExpression']) {
    if (entry.has(option)) stored.set(option, entry.get(option));
  }
  return specOf(stored);
}

function isOn(value: Value): boolean {
  return value === true || (isNumeric(value) && toDouble(value) !== 0);
}

function checkKey(key: Doc): void {
  if (key.size === 0) throw new DbError(67, 'Index keys cannot be empty.');
  if (key.size > 32) throw new DbError(13103, 'too many compound keys');
  for (const [path, direction] of key) {
    if (path === '') throw new DbError(67, 'Index keys cannot be an empty field.');
    if (path === '$**' || path.endsWith('.$**')) {
      throw new DbError(238, 'wildcard indexes are not supported by this development server');
    }
    if (path.startsWith('.') || path.endsWith('.') || path.includes('..')) {
      throw new DbError(67, 'Index keys cannot contain an empty field.');
    }
    if (
      path.split('.').some((part) => part.startsWith('$') && !['$id', '$ref', '$db'].includes(part))
    ) {
      throw new DbError(
        67,
        `Index key contains an illegal field name: field name starts with '$': ${path}`,
      );
    }
    if (typeof direction === 'string') {
      if (UNSUPPORTED_TYPES.has(direction)) {
        throw new DbError(
          238,
          `indexes of type '${direction}' are not supported by this development server`,
        );
      }
      throw new DbError(67, `Unknown index plugin '${direction}'`);
    }
    if (!isNumeric(direction)) {
      throw new DbError(
        67,
        'Values in v:2 index key pattern must be numbers > 0 or < 0 or strings',
      );
    }
    const number = toDouble(direction);
    if (number === 0 || Number.isNaN(number)) {
      throw new DbError(67, 'Values in the index key pattern cannot be 0.');
    }
  }
}

function checkOptions(entry: Doc, key: Doc): void {
  if (key.size === 1 && key.has('_id') && !isAscendingId(key)) {
    throw new DbError(
      2,
      `The field 'key' for an _id index must be {_id: 1}, but got ${formatDocument(key)}`,
    );
  }
  const partial = entry.get('partialFilterExpression');
  if (partial !== undefined) {
    if (!isDoc(partial))
      throw new DbError(14, "The field 'partialFilterExpression' must be an object");
    compileFilter(partial, { now: new Date(0), exprRefusedIn: 'a partial index' });
    checkPartialFilter(partial, true);
    if (isOn(entry.get('sparse'))) {
      throw new DbError(67, 'cannot mix "partialFilterExpression" and "sparse" options');
    }
    if (key.size === 1 && key.has('_id'))
      throw new DbError(67, '_id index cannot be a partial index');
  }
  const seconds = entry.get('expireAfterSeconds');
  if (seconds !== undefined) {
    if (!isNumeric(seconds))
      throw new DbError(67, "TTL index 'expireAfterSeconds' option must be numeric");
    checkExpiry(seconds);
    if (key.size > 1)
      throw new DbError(
        67,
        'TTL indexes are single-field indexes, compound indexes do not support TTL.',
      );
    if (key.has('_id'))
      throw new DbError(
        197,
        "The field 'expireAfterSeconds' is not valid for an _id index specification.",
      );
  }
  const collation = entry.get('collation');
  if (collation !== undefined && !(isDoc(collation) && collation.get('locale') === 'simple')) {
    throw new DbError(238, 'this development server supports the simple collation only');
  }
}

/** Throws 67 for seconds that no TTL index takes. */
export function checkExpiry(seconds: Value): void {
  const number = isNumeric(seconds) ? toDouble(seconds) : Number.NaN;
  if (!(number >= 0)) throw new DbError(67, 'TTL index expireAfterSeconds cannot be less than 0');
  if (number > 2_147_483_647) {
    throw new DbError(
      67,
      'TTL index expireAfterSeconds must be within the range of a 32-bit integer',
    );
  }
}

const PARTIAL_OPERATORS: ReadonlySet<string> = new Set([
  '$eq',
  '$gt',
  '$gte',
  '$lt',
  '$lte',
  '$exists',
  '$type',
]);

function checkPartialFilter(filter: Doc, isTop: boolean): void {
  for (const [key, condition] of filter) {
    if (key === '$and') {
      if (!isTop)
        throw new DbError(67, 'unsupported expression in partial index: $and below the top');
      if (Array.isArray(condition)) {
        for (const part of condition) if (isDoc(part)) checkPartialFilter(part, false);
      }
      continue;
    }
    if (key === '$expr') throw new DbError(224, '$expr is not allowed in this context');
    if (key.startsWith('$'))
      throw new DbError(67, `unsupported expression in partial index: ${key}`);
    if (!isDoc(condition)) continue;
    for (const [operator, operand] of condition) {
      if (!operator.startsWith('$')) break;
      if (!PARTIAL_OPERATORS.has(operator) || (operator === '$exists' && !isOn(operand))) {
        throw new DbError(67, `unsupported expression in partial index: ${operator}`);
      }
    }
  }
}

/** Whether a key pattern is that of the index on `_id`. */
export function isAscendingId(key: Doc): boolean {
  const direction = key.get('_id');
  return isNumeric(direction) && toDouble(direction) === 1;
}
