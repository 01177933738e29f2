import { DbError } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import { listSource } from '../state/cursors.js';
import type { View } from '../storage/catalogue.js';
import type { Collection } from '../storage/collection.js';
import {
  createCollection,
  createView,
  dropEntry,
  logDropDatabase,
  renameCollection,
  saveCollection,
  setIndexExpiry,
} from '../storage/definitions.js';
import { toDouble } from '../values/numbers.js';
import { Binary, type Doc, doc, int32, isDoc, isNumeric, type Value } from '../values/value.js';
import {
  booleanField,
  type Command,
  type CommandContext,
  checkNamespace,
  collectionName,
  countField,
  documentField,
  wrongType,
} from './command.js';
import { checkExpiry } from './index-specification.js';
import { describeIndex } from './indexes.js';
import { refuseSystem, waitForWriters } from './namespaces.js';
import { openCursor } from './open-cursor.js';
import { checkView } from './view-queries.js';

export const create: Command = {
  name: 'create',
  fields: [
    'capped',
    'autoIndexId',
    'idIndex',
    'size',
    'max',
    'storageEngine',
    'indexOptionDefaults',
    'validator',
    'validationLevel',
    'validationAction',
    'collation',
    'viewOn',
    'pipeline',
    'flags',
    'temp',
  ],
  unknownField: 40415,
  run: runCreate,
};

function runCreate(context: CommandContext): Doc {
  const { body, store, unit, database } = context;
  const name = collectionName(context);
  refuseSystem(context, name);
  if (store.catalogue.has(database, name)) {
    throw new DbError(48, `a collection '${database}.${name}' already exists`);
  }
  const collation = body.get('collation');
  if (collation !== undefined && !(isDoc(collation) && collation.get('locale') === 'simple')) {
    throw new DbError(238, 'this development server supports the simple collation only');
  }
  if (body.has('viewOn') || body.has('pipeline')) {
    createView(store, unit, readView(context, name));
    return doc();
  }
  const options = readOptions(context);
  createCollection(store, unit, database, name, options);
  return body.has('autoIndexId')
    ? doc(['note', 'the autoIndexId option is deprecated and will be removed in a future release'])
    : doc();
}

function readView(context: CommandContext, name: string): Omit<View, 'id'> {
  const { body, database } = context;
  const viewOn = body.get('viewOn');
  const pipeline = body.get('pipeline') ?? [];
  if (viewOn === undefined)
    throw new DbError(72, "'pipeline' requires 'viewOn' to also be specified");
  if (typeof viewOn !== 'string') throw wrongType('viewOn', viewOn, 'string');
  if (!Array.isArray(pipeline)) throw wrongType('pipeline', pipeline, 'array');
  const view = { database, name, viewOn, pipeline, options: new Map<string, Value>() };
  checkView(context, view);
  return view;
}

function readOptions(context: CommandContext): Doc {
  const { body } = context;
  const options: Doc = new Map();
  if (booleanField(body, 'capped')) {
    const size = body.get('size');
    if (size === undefined)
      throw new DbError(72, "the 'size' field is required when 'capped' is true");
    if (!isNumeric(size)) throw wrongType('size', size, 'number');
    options.set('capped', true);
    // Sizes are whole multiples of 256 bytes, as in MongoDB.
    options.set('size', int32(Math.max(4096, Math.ceil(toDouble(size) / 256) * 256)));
    const max = body.get('max');
    if (isNumeric(max)) options.set('max', max);
  }
  const validator = documentField(body, 'validator');
  if (validator !== undefined) {
    compileFilter(validator, { now: context.now });
    options.set('validator', validator);
  }
  for (const [field, allowed] of [
    ['validationLevel', ['off', 'strict', 'moderate']],
    ['validationAction', ['error', 'warn']],
  ] as const) {
    const value = body.get(field);
    if (value === undefined) continue;
    if (typeof value !== 'string' || !(allowed as readonly string[]).includes(value)) {
      throw new DbError(2, `invalid ${field}: expected one of ${allowed.join(', ')}`);
    }
    options.set(field, value);
  }
  return options;
}

export const drop: Command = {
  name: 'drop',
  fields: [],
  unknownField: 'ignore',
  async run(context) {
    const name = collectionName(context);
    await waitForWriters(context, name);
    const { store, unit, database } = context;
    if (!store.catalogue.has(database, name)) throw new DbError(26, 'ns not found');
    const collection = store.catalogue.collection(database, name);
    dropEntry(store, unit, database, name);
    const reply = doc();
    if (collection !== undefined) reply.set('nIndexesWas', int32(collection.indexes.length));
    return reply.set('ns', `${database}.${name}`);
  },
};

export const dropDatabase: Command = {
  name: 'dropDatabase',
  fields: [],
  unknownField: 'ignore',
  async run(context) {
    const { store, unit, database } = context;
    if (Number(context.body.get('dropDatabase')?.toString()) !== 1) {
      throw new DbError(20, 'have to pass 1 as db parameter');
    }
    const entries = store.catalogue.entries(database);
    if (entries.length === 0) return doc();
    for (const entry of entries) {
      if ('records' in entry) await waitForWriters(context, entry.identity.name);
    }
    for (const entry of store.catalogue.entries(database)) {
      const name = 'records' in entry ? entry.identity.name : entry.name;
      dropEntry(store, unit, database, name);
    }
    logDropDatabase(store, unit, database);
    return doc(['dropped', database]);
  },
};

export const renameCollectionCommand: Command = {
  name: 'renameCollection',
  fields: ['to', 'dropTarget', 'stayTemp'],
  unknownField: 40415,
  adminOnly: true,
  run: runRename,
};

async function runRename(context: CommandContext): Promise<Doc> {
  const { body, store, unit } = context;
  const from = splitNamespace(body.get('renameCollection'), 'renameCollection');
  const to = splitNamespace(body.get('to'), 'to');
  checkNamespace(to.database, to.name);
  const collection = store.catalogue.collection(from.database, from.name);
  if (collection === undefined) {
    if (store.catalogue.view(from.database, from.name)) {
      throw new DbError(166, `cannot rename view: ${from.database}.${from.name}`);
    }
    throw new DbError(26, 'source namespace does not exist');
  }
  if (from.database === to.database && from.name === to.name) {
    throw new DbError(48, 'target namespace exists');
  }
  const inDatabase = { ...context, database: from.database };
  await waitForWriters(inDatabase, from.name);
  if (store.catalogue.has(to.database, to.name)) {
    if (!booleanField(body, 'dropTarget')) throw new DbError(48, 'target namespace exists');
    dropEntry(store, unit, to.database, to.name);
  }
  renameCollection(store, unit, collection, to);
  return doc();
}

function splitNamespace(value: Value, field: string): { database: string; name: string } {
  if (typeof value !== 'string') throw wrongType(field, value, 'string');
  const dot = value.indexOf('.');
  if (dot <= 0) throw new DbError(73, `Invalid namespace: ${value}`);
  return { database: value.slice(0, dot), name: value.slice(dot + 1) };
}

export const collMod: Command = {
  name: 'collMod',
  fields: ['index', 'validator', 'validationLevel', 'validationAction', 'viewOn', 'pipeline'],
  unknownField: 72,
  run: runCollMod,
};

async function runCollMod(context: CommandContext): Promise<Doc> {
  const { body, store, unit, database } = context;
  const name = collectionName(context);
  await waitForWriters(context, name);
  const collection = store.catalogue.collection(database, name);
  if (collection === undefined) throw new DbError(26, 'ns does not exist');
  const reply = doc();
  const index = documentField(body, 'index');
  if (index !== undefined) {
    const changed = changeExpiry(context, collection, index);
    for (const [key, value] of changed) reply.set(key, value);
  }
  const changes: Doc = new Map(collection.identity.options);
  const options = readOptions(context);
  for (const [key, value] of options) changes.set(key, value);
  if (options.size > 0) {
    collection.identity.options = changes;
    saveCollection(collection, unit.stored);
  }
  return reply;
}

function changeExpiry(context: CommandContext, collection: Collection, index: Doc): Doc {
  const name = index.get('name');
  const pattern = index.get('keyPattern');
  const found = collection.indexes.find((one) =>
    name !== undefined ? one.spec.name === name : isDoc(pattern) && sameKeys(one.spec.key, pattern),
  );
  if (found === undefined) {
    throw new DbError(27, `cannot find index for ns ${collection.namespace}`);
  }
  const seconds = index.get('expireAfterSeconds');
  if (seconds === undefined) throw new DbError(72, 'no expireAfterSeconds field');
  if (!isNumeric(seconds)) throw new DbError(72, 'expireAfterSeconds field must be a number');
  const previous = found.spec.stored.get('expireAfterSeconds');
  if (previous === undefined) throw new DbError(72, 'no expireAfterSeconds field to update');
  checkExpiry(seconds);
  setIndexExpiry(collection, context.unit, found.spec.name, seconds);
  return doc(['expireAfterSeconds_old', previous], ['expireAfterSeconds_new', seconds]);
}

function sameKeys(left: Doc, right: Doc): boolean {
  return (
    left.size === right.size &&
    [...left].every(([path, direction]) => String(direction) === String(right.get(path)))
  );
}

export const listCollections: Command = {
  name: 'listCollections',
  fields: [],
  unknownField: 'ignore',
  run: runListCollections,
};

function runListCollections(context: CommandContext): Doc {
  const { body, store, database } = context;
  const nameOnly = booleanField(body, 'nameOnly');
  if (body.has('filter') && !isDoc(body.get('filter'))) {
    throw new DbError(2, '"filter" must be an object');
  }
  const filter = documentField(body, 'filter') ?? new Map();
  const matcher = compileFilter(filter, { now: context.now });
  const options = documentField(body, 'cursor');
  const batchSize = (options && countField(options, 'batchSize')) ?? Number.POSITIVE_INFINITY;
  const documents = store.catalogue
    .entries(database)
    .map((entry) => ('records' in entry ? describeCollection(entry) : describeView(entry)))
    .filter((document) => matcher.matches(document))
    .map((document) =>
      nameOnly ? doc(['name', document.get('name')], ['type', document.get('type')]) : document,
    );
  return openCursor(context, listSource(documents), `${database}.$cmd.listCollections`, {
    batchSize,
  });
}

function describeCollection(collection: Collection): Doc {
  const { identity } = collection;
  return doc(
    ['name', identity.name],
    ['type', 'collection'],
    ['options', identity.options],
    ['info', doc(['readOnly', false], ['uuid', new Binary(identity.uuid, Binary.SUBTYPE_UUID)])],
    ['idIndex', describeIndex(collection, collection.indexes[0]!)],
  );
}

function describeView(view: View): Doc {
  return doc(
    ['name', view.name],
    ['type', 'view'],
    ['options', doc(['viewOn', view.viewOn], ['pipeline', [...view.pipeline]])],
    ['info', doc(['readOnly', true])],
  );
}

export const listDatabases: Command = {
  name: 'listDatabases',
  fields: ['filter', 'nameOnly', 'authorizedDatabases'],
  unknownField: 40415,
  adminOnly: true,
  run(context) {
    const { body, store } = context;
    const nameOnly = booleanField(body, 'nameOnly');
    const matcher = compileFilter(documentField(body, 'filter') ?? new Map(), { now: context.now });
    const databases = store.catalogue
      .databaseNames()
      .map((name) => doc(['name', name], ['sizeOnDisk', 4096], ['empty', false]))
      .filter((document) => matcher.matches(document))
      .map((document) => (nameOnly ? doc(['name', document.get('name')]) : document));
    const reply = doc(['databases', databases]);
    if (!nameOnly) reply.set('totalSize', databases.length * 4096);
    return reply;
  },
};
