/**
 * Changes to the catalogue: collections, views and indexes come, change and go. Each is synchronous, and durable with the
 * unit it is given. Callers wait first for open transactions that have written to the collection.
 */
import { DbError } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import { encodeDocument } from '../values/encode.js';
import { Binary, type Doc, doc, int32, isDoc, isNumeric, type Value } from '../values/value.js';
import type { View } from './catalogue.js';
import { Collection, type CollectionIdentity } from './collection.js';
import type { DiskChange } from './disk/disk-change.js';
import { IndexBuilder, type IndexSpec, OrderedIndex } from './ordered-index.js';
import type { Store, WriteUnit } from './store.js';

/** The specification that every collection has. */
export function idIndexSpec(): IndexSpec {
  return specOf(doc(['v', int32(2)], ['key', doc(['_id', int32(1)])], ['name', '_id_']));
}

/** Reads a stored index specification (one that createIndexes has accepted). */
export function specOf(stored: Doc): IndexSpec {
  const name = stored.get('name') as string;
  const expire = stored.get('expireAfterSeconds');
  const partialFilter = stored.get('partialFilterExpression');
  return {
    name,
    key: stored.get('key') as Doc,
    unique: name === '_id_' || stored.get('unique') === true,
    sparse: stored.get('sparse') === true,
    ...(isDoc(partialFilter) ? { partialFilter } : {}),
    ...(isNumeric(expire) ? { expireAfterSeconds: Number(expire.toString()) } : {}),
    stored,
  };
}

/** An empty index of the given specification. */
export function newIndex(spec: IndexSpec): OrderedIndex {
  if (spec.partialFilter === undefined) return new OrderedIndex(spec, undefined);
  const matcher = compileFilter(spec.partialFilter, { now: new Date(0) });
  return new OrderedIndex(spec, (document) => matcher.matches(document));
}

/** Throws 13297 where a database would come into being whose name differs only in case from another one's. */
function checkDatabaseCase(store: Store, database: string): void {
  const other = store.catalogue.databaseOfOtherCase(database);
  if (other === undefined) return;
  throw new DbError(
    13297,
    `db already exists with different case already have: [${other}] trying to create [${database}]`,
  );
}

/** Makes an empty collection, and its database with the first one. Throws 13297 DatabaseDifferCase. */
export function createCollection(
  store: Store,
  unit: WriteUnit,
  database: string,
  name: string,
  options: Doc = new Map(),
): Collection {
  checkDatabaseCase(store, database);
  const identity: CollectionIdentity = {
    id: store.nextCollectionId++,
    database,
    name,
    uuid: randomUuid(),
    options,
    nextRecordId: 1,
  };
  const collection = Collection.empty(identity, newIndex(idIndexSpec()));
  store.catalogue.set(database, name, collection);
  saveCollection(collection, unit.stored);
  return collection;
}

function randomUuid(): Uint8Array {
  return new Binary(Buffer.from(crypto.randomUUID().replaceAll('-', ''), 'hex'), 4).value();
}

export function createView(store: Store, unit: WriteUnit, view: Omit<View, 'id'>): void {
  checkDatabaseCase(store, view.database);
  const id = store.nextCollectionId++;
  store.catalogue.set(view.database, view.name, { ...view, id });
  unit.stored.push({
    table: 'catalogue',
    key: id,
    value: encodeDocument(
      doc(
        ['database', view.database],
        ['name', view.name],
        ['viewOn', view.viewOn],
        ['pipeline', [...view.pipeline]],
        ['options', view.options],
      ),
    ),
  });
}

/** Writes a collection's definition as it is now. */
export function saveCollection(collection: Collection, stored: DiskChange[]): void {
  const { identity } = collection;
  stored.push({
    table: 'catalogue',
    key: identity.id,
    value: encodeDocument(
      doc(
        ['database', identity.database],
        ['name', identity.name],
        ['uuid', new Binary(identity.uuid, Binary.SUBTYPE_UUID)],
        ['options', identity.options],
        ['indexes', collection.indexes.map((index): Value => index.spec.stored)],
      ),
    ),
  });
}

/** Removes a collection with its records, or a view. */
export function dropEntry(store: Store, unit: WriteUnit, database: string, name: string): void {
  const removed = removeEntry(store, unit, database, name);
  if (removed !== undefined) logDefinition(store, unit, removed, 'drop');
}

/** The same for one in whose place another collection is put at once, which is all that change streams are told. */
function removeEntry(
  store: Store,
  unit: WriteUnit,
  database: string,
  name: string,
): Collection | undefined {
  const view = store.catalogue.view(database, name);
  const collection = store.catalogue.collection(database, name);
  store.catalogue.delete(database, name);
  if (view !== undefined) unit.stored.push({ table: 'catalogue', key: view.id, value: null });
  if (collection === undefined) return undefined;
  const { id } = collection.identity;
  unit.stored.push({ table: 'catalogue', key: id, value: null });
  for (const recordId of collection.records.keys()) {
    unit.stored.push({ table: 'records', key: [id, recordId], value: null });
  }
  return collection;
}

/** Gives a collection another name, in the place of what has it. Throws 13297 DatabaseDifferCase. */
export function renameCollection(
  store: Store,
  unit: WriteUnit,
  collection: Collection,
  to: { database: string; name: string },
): void {
  checkDatabaseCase(store, to.database);
  const { identity } = collection;
  const from = { database: identity.database, name: identity.name };
  // From another database a collection is copied: what was there is dropped by itself then.
  const replace = from.database === to.database ? removeEntry : dropEntry;
  replace(store, unit, to.database, to.name);
  logDefinition(store, unit, collection, 'rename', doc(['db', to.database], ['coll', to.name]));
  store.catalogue.delete(from.database, from.name);
  identity.database = to.database;
  identity.name = to.name;
  store.catalogue.set(to.database, to.name, collection);
  saveCollection(collection, unit.stored);
}

function logDefinition(
  store: Store,
  unit: WriteUnit,
  collection: Collection,
  kind: 'drop' | 'rename',
  to?: Doc,
): void {
  const { identity } = collection;
  store.changes.append(
    {
      time: store.clock.tick(),
      kind,
      database: identity.database,
      collection: identity.name,
      uuid: new Binary(identity.uuid, Binary.SUBTYPE_UUID),
      ...(to ? { to } : {}),
    },
    unit.stored,
  );
}

/** Tells change streams that a database is gone; its collections were dropped before. */
export function logDropDatabase(store: Store, unit: WriteUnit, database: string): void {
  store.changes.append(
    { time: store.clock.tick(), kind: 'dropDatabase', database, collection: '', uuid: null },
    unit.stored,
  );
}

/**
 * Builds the indexes over all documents and adds them together, or none of them.
 * Throws 11000 for documents that share a key of a unique index, 171 for parallel arrays.
 */
export function addIndexes(
  collection: Collection,
  unit: WriteUnit,
  specs: readonly IndexSpec[],
): void {
  const built = specs.map((spec) => buildIndex(collection, spec));
  collection.indexes.push(...built);
  saveCollection(collection, unit.stored);
}

/** An index over all documents of a collection, not yet part of it. */
export function buildIndex(collection: Collection, spec: IndexSpec): OrderedIndex {
  const index = newIndex(spec);
  const builder = new IndexBuilder(index);
  for (const [recordId, document] of collection.records.entries()) builder.add(document, recordId);
  const duplicate = spec.unique ? builder.firstDuplicate() : null;
  if (duplicate !== null) {
    const { texts, values } = index.keysOf(collection.records.get(duplicate.recordId)!);
    throw collection.duplicateKeyError(index, values[texts.indexOf(duplicate.text)]!);
  }
  index.load(builder);
  return index;
}

export function dropIndexes(
  collection: Collection,
  unit: WriteUnit,
  names: readonly string[],
): void {
  for (const name of names) {
    const position = collection.indexes.findIndex((index) => index.spec.name === name);
    if (position <= 0) throw new DbError(27, `index not found with name [${name}]`);
    collection.indexes.splice(position, 1);
  }
  saveCollection(collection, unit.stored);
}

/** Changes the time after which a TTL index expires documents. */
export function setIndexExpiry(
  collection: Collection,
  unit: WriteUnit,
  name: string,
  seconds: Value,
): void {
  const position = collection.indexes.findIndex((index) => index.spec.name === name);
  const index = collection.indexes[position]!;
  const stored = new Map(index.spec.stored).set('expireAfterSeconds', seconds);
  collection.indexes[position] = index.withSpec(specOf(stored));
  saveCollection(collection, unit.stored);
}
