import { DbError } from '../errors.js';
import { samePattern } from '../planner/key-pattern.js';
import { listSource } from '../state/cursors.js';
import type { Collection } from '../storage/collection.js';
import { addIndexes, dropIndexes } from '../storage/definitions.js';
import type { IndexSpec, OrderedIndex } from '../storage/ordered-index.js';
import { encodeDocument } from '../values/encode.js';
import { formatDocument } from '../values/format.js';
import { type Doc, doc, int32, isDoc, type Value } from '../values/value.js';
import {
  type Command,
  type CommandContext,
  collectionName,
  countField,
  documentField,
  wrongType,
} from './command.js';
import { isAscendingId, readSpec } from './index-specification.js';
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
  const known = readableCollection(context, name);
  // What is there already needs no lock: clients ask for their indexes whenever they start.
  if (known === undefined || newSpecs(known.indexes, specs).length > 0) {
    await waitForWriters(context, name);
  }
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
