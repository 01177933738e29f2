import { DbError } from '../errors.js';
import { samePattern } from '../planner/plan.js';
import { compileFilter } from '../query/compile-filter.js';
import { listSource } from '../state/cursors.js';
import type { Collection } from '../storage/collection.js';
import { addIndexes, dropIndexes, specOf } from '../storage/definitions.js';
import type { IndexSpec, OrderedIndex } from '../storage/ordered-index.js';
import { encodeDocument } from '../values/encode.js';
import { formatDocument } from '../values/format.js';
import { toDouble } from '../values/numbers.js';
import { type Doc, doc, int32, isDoc, isNumeric, type Value } from '../values/value.js';
import {
  type Command,
  type CommandContext,
  collectionName,
  countField,
  documentField,
  wrongType,
} from './command.js';
import {
  readableCollection,
  refuseView,
  waitForWriters,
  writableCollection,
} from './namespaces.js';
import { openCursor } from './open-cursor.js';

/** MongoDB's limit of indexes in one collection. */
const MAX_INDEXES = 64;

export const createIndexes: Command = {
  name: 'createIndexes',
  fields: ['indexes', 'commitQuorum', 'ignoreUnknownIndexOptions'],
  unknownField: 2,
  run: runCreateIndexes,
};

async function runCreateIndexes(context: CommandContext): Promise<Doc> {
  const name = collectionName(context);
  const list = context.body.get('indexes');
  if (!Array.isArray(list)) {
    throw list === undefined
      ? new DbError(9, "The 'indexes' field is a required argument of the createIndexes command")
      : wrongType('indexes', list, 'array');
  }
  if (list.length === 0) throw new DbError(2, 'Must specify at least one index to create');
  const specs = list.map((entry) => readSpec(entry, `${context.database}.${name}`));
  refuseView(context, name);
  await waitForWriters(context, name);
  const existed = readableCollection(context, name) !== undefined;
  const collection = writableCollection(context, name);
  refuseTwins(specs);
  const before = collection.indexes.length;
  const fresh = newSpecs(collection.indexes, specs);
  if (before + fresh.length > MAX_INDEXES) {
    throw new DbError(
      67,
      `add index fails, too many indexes for ${collection.namespace} key:${formatDocument(fresh[0]!.key)}`,
    );
  }
  if (fresh.length > 0) addIndexes(collection, context.unit, fresh);
  const counts: [string, Value][] = [
    ['numIndexesBefore', int32(before)],
    ['numIndexesAfter', int32(collection.indexes.length)],
  ];
  if (existed && fresh.length === 0) return doc(...counts, ['note', 'all indexes already exist']);
  const reply = doc(['createdCollectionAutomatically', !existed], ...counts);
  if (fresh.length < specs.length) {
    reply.set('note', fresh.length === 0 ? 'all indexes already exist' : 'index already exists');
  }
  return reply;
}

/** Throws 96 where one command asks twice for the same index. */
function refuseTwins(specs: readonly IndexSpec[]): void {
  specs.forEach((spec, position) => {
    const twin = specs
      .slice(0, position)
      .find((other) => samePattern(other.key, spec.key) && samePartial(other, spec));
    if (twin === undefined || twin.name !== spec.name || !sameOptions(twin, spec)) return;
    throw new DbError(
      96,
      'Cannot build two identical indexes. Try again without duplicate indexes.',
    );
  });
}

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

function readSpec(entry: Value, namespace: string): IndexSpec {
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

/** The specifications that do not exist yet. Throws 85 or 86 for one that exists otherwise. */
function newSpecs(existing: readonly OrderedIndex[], specs: readonly IndexSpec[]): IndexSpec[] {
  const known = existing.map((index) => index.spec);
  const fresh: IndexSpec[] = [];
  for (const spec of specs) {
    if (spec.key.size === 1 && isAscendingId(spec.key)) {
      if (spec.stored.has('sparse') || spec.stored.has('unique')) {
        const bad = spec.stored.has('sparse') ? 'sparse' : 'unique';
        throw new DbError(197, `The field '${bad}' is not valid for an _id index specification.`);
      }
      continue;
    }
    const byName = known.find((other) => other.name === spec.name);
    const byKey = known.find(
      (other) => samePattern(other.key, spec.key) && samePartial(other, spec),
    );
    if (byName !== undefined) {
      if (!samePattern(byName.key, spec.key)) {
        throw new DbError(
          86,
          `Index must have unique name. The existing index: ${formatDocument(byName.stored)} has the same name as the requested index: ${formatDocument(spec.stored)}`,
        );
      }
      if (!sameOptions(byName, spec)) {
        throw new DbError(
          85,
          `Index with name: ${spec.name} already exists with different options`,
        );
      }
      continue;
    }
    if (byKey !== undefined) {
      throw new DbError(
        85,
        `Index with pattern: ${formatDocument(spec.key)} already exists with a different name`,
      );
    }
    known.push(spec);
    fresh.push(spec);
  }
  return fresh;
}

function isAscendingId(key: Doc): boolean {
  const direction = key.get('_id');
  return isNumeric(direction) && toDouble(direction) === 1;
}

function samePartial(left: IndexSpec, right: IndexSpec): boolean {
  const bytes = (spec: IndexSpec) => encodeDocument(spec.partialFilter ?? new Map());
  return bytes(left).equals(bytes(right));
}

function sameOptions(left: IndexSpec, right: IndexSpec): boolean {
  return (
    left.unique === right.unique &&
    left.sparse === right.sparse &&
    left.expireAfterSeconds === right.expireAfterSeconds &&
    samePartial(left, right)
  );
}

/** An index as listIndexes shows it. */
export function describeIndex(collection: Collection, index: OrderedIndex): Doc {
  const described: Doc = new Map();
  for (const [key, value] of index.spec.stored) {
    described.set(key, value);
    if (key === 'name') described.set('ns', collection.namespace);
  }
  return described;
}

export const listIndexes: Command = {
  name: 'listIndexes',
  fields: [],
  unknownField: 'ignore',
  run(context) {
    const name = collectionName(context);
    refuseView(context, name);
    const collection = readableCollection(context, name);
    if (collection === undefined) {
      throw new DbError(26, `ns does not exist: ${context.database}.${name}`);
    }
    const options = documentField(context.body, 'cursor');
    const batchSize = (options && countField(options, 'batchSize')) ?? Number.POSITIVE_INFINITY;
    const source = listSource(collection.indexes.map((index) => describeIndex(collection, index)));
    return openCursor(context, source, `${context.database}.${name}`, { batchSize });
  },
};

export const dropIndexesCommand: Command = {
  name: 'dropIndexes',
  aliases: ['deleteIndexes'],
  fields: ['index'],
  unknownField: 'ignore',
  run: runDropIndexes,
};

async function runDropIndexes(context: CommandContext): Promise<Doc> {
  const name = collectionName(context);
  refuseView(context, name);
  await waitForWriters(context, name);
  const collection = readableCollection(context, name);
  if (collection === undefined) throw new DbError(26, 'ns not found');
  const before = collection.indexes.length;
  const names = indexesToDrop(collection.indexes, context.body.get('index'));
  dropIndexes(collection, context.unit, names);
  const reply = doc(['nIndexesWas', int32(before)]);
  if (context.body.get('index') === '*') {
    reply.set('msg', 'non-_id indexes dropped for collection');
  }
  return reply;
}

function indexesToDrop(indexes: readonly OrderedIndex[], wanted: Value): string[] {
  if (wanted === '*') return indexes.slice(1).map((index) => index.spec.name);
  if (typeof wanted === 'string') {
    if (!indexes.some((index) => index.spec.name === wanted)) {
      throw new DbError(27, `index not found with name [${wanted}]`);
    }
    if (wanted === '_id_') throw new DbError(72, 'cannot drop _id index');
    return [wanted];
  }
  if (isDoc(wanted)) {
    const found = indexes.filter((index) => samePattern(index.spec.key, wanted));
    if (found.length === 0)
      throw new DbError(27, `can't find index with key: ${formatDocument(wanted)}`);
    if (found.length > 1)
      throw new DbError(
        181,
        `${found.length} indexes have the key ${formatDocument(wanted)}: name one of them`,
      );
    if (found[0]!.spec.name === '_id_') throw new DbError(72, 'cannot drop _id index');
    return [found[0]!.spec.name];
  }
  if (Array.isArray(wanted)) return wanted.flatMap((one) => indexesToDrop(indexes, one));
  throw new DbError(27, 'invalid index name spec');
}
