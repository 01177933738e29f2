import { Collection, type CollectionIdentity } from '../storage/collection.js';
import { newIndex, specOf } from '../storage/definitions.js';
import type { Tables } from '../storage/disk/tables.js';
import type { Store } from '../storage/store.js';
import { decodeDocument } from '../values/decode.js';
import { type Binary, type Doc, isDoc, type Value } from '../values/value.js';

/** Fills an empty store with what the tables hold. Throws for bytes that cannot be read. */
export function loadStore(store: Store, tables: Tables): void {
  const byId = loadCatalogue(store, tables);
  loadRecords(store, tables, byId);
  for (const { key, value } of tables.entries('retries')) store.retries.load(key as string, value);
  let latest: Parameters<typeof store.clock.resumeAfter>[0] | null = null;
  for (const { key, value } of tables.entries('changes')) {
    latest = store.changes.load(value, key as number).time;
  }
  if (latest !== null) store.clock.resumeAfter(latest);
}

interface Loading {
  readonly collection: Collection;
  readonly specs: readonly Doc[];
}

function loadCatalogue(store: Store, tables: Tables): Map<number, Loading> {
  const byId = new Map<number, Loading>();
  for (const { key, value } of tables.entries('catalogue')) {
    const id = key as number;
    const stored = decodeDocument(value);
    const database = stored.get('database') as string;
    const name = stored.get('name') as string;
    store.nextCollectionId = Math.max(store.nextCollectionId, id + 1);
    if (stored.has('viewOn')) {
      const options = stored.get('options');
      store.catalogue.set(database, name, {
        id,
        database,
        name,
        viewOn: stored.get('viewOn') as string,
        pipeline: stored.get('pipeline') as Value[],
        options: isDoc(options) ? options : new Map(),
      });
      continue;
    }
    const specs = stored.get('indexes') as Doc[];
    const identity: CollectionIdentity = {
      id,
      database,
      name,
      uuid: (stored.get('uuid') as Binary).value(),
      options: stored.get('options') as Doc,
      nextRecordId: 1,
    };
    const collection = Collection.empty(identity, newIndex(specOf(specs[0]!)));
    for (const spec of specs.slice(1)) collection.indexes.push(newIndex(specOf(spec)));
    store.catalogue.set(database, name, collection);
    byId.set(id, { collection, specs });
  }
  return byId;
}

function loadRecords(store: Store, tables: Tables, byId: ReadonlyMap<number, Loading>): void {
  const orphans: [number, number][] = [];
  let current = -1;
  let recordIds: number[] = [];
  let documents: Doc[] = [];
  const finish = () => {
    const collection = byId.get(current)?.collection;
    if (collection === undefined || recordIds.length === 0) return;
    collection.load(recordIds, documents);
    collection.identity.nextRecordId = recordIds.at(-1)! + 1;
    recordIds = [];
    documents = [];
  };
  // Keys come in order: one collection after the other, and its records ascending.
  for (const { key, value } of tables.entries('records')) {
    const [collectionId, recordId] = key as [number, number];
    if (collectionId !== current) {
      finish();
      current = collectionId;
    }
    if (byId.has(collectionId)) {
      recordIds.push(recordId);
      documents.push(decodeDocument(value));
    } else orphans.push([collectionId, recordId]);
  }
  finish();
  if (orphans.length > 0) {
    void store.disk?.commit(orphans.map((key) => ({ table: 'records', key, value: null })));
  }
}
