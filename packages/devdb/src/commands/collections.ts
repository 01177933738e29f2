import { DbError } from '../errors.js';
import type { View } from '../storage/catalogue.js';
import {
  createCollection,
  createView,
  dropEntry,
  logDropDatabase,
  renameCollection,
} from '../storage/definitions.js';
import { type Doc, doc, int32, isDoc, type Value } from '../values/value.js';
import { readCollectionOptions } from './collection-options.js';
import {
  booleanField,
  type Command,
  type CommandContext,
  checkNamespace,
  checkNewName,
  collectionName,
  wrongType,
} from './command.js';
import { refuseSystem, waitForWriters } from './namespaces.js';
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
  // As in MongoDB, null is as if the field were not there.
  if (isGiven(body.get('viewOn')) || isGiven(body.get('pipeline'))) {
    createView(store, unit, readView(context, name));
    return doc();
  }
  const options = readCollectionOptions(context);
  createCollection(store, unit, database, name, options);
  return body.has('autoIndexId')
    ? doc(['note', 'the autoIndexId option is deprecated and will be removed in a future release'])
    : doc();
}

function isGiven(value: Value): boolean {
  return value !== undefined && value !== null;
}

function readView(context: CommandContext, name: string): Omit<View, 'id'> {
  const { body, database } = context;
  const viewOn = body.get('viewOn');
  const pipeline = body.get('pipeline') ?? [];
  if (!isGiven(viewOn)) throw new DbError(72, "'pipeline' requires 'viewOn' to also be specified");
  if (typeof viewOn !== 'string') throw wrongType('viewOn', viewOn, 'string');
  if (!Array.isArray(pipeline)) throw wrongType('pipeline', pipeline, 'array');
  const view = { database, name, viewOn, pipeline, options: new Map<string, Value>() };
  checkView(context, view);
  return view;
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
  checkNewName(to.database, to.name);
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
  if (store.catalogue.has(to.database, to.name) && !booleanField(body, 'dropTarget')) {
    throw new DbError(48, 'target namespace exists');
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
