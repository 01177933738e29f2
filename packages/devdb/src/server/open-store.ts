import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerClock } from '../storage/clock.js';
import { Collection, type CollectionIdentity } from '../storage/collection.js';
import { newIndex, specOf } from '../storage/definitions.js';
import { Disk } from '../storage/disk.js';
import { Store } from '../storage/store.js';
import { decodeDocument } from '../values/decode.js';
import { encodeDocument } from '../values/encode.js';
import { type Binary, type Doc, doc, int32, isDoc, type Value } from '../values/value.js';

/** The version of what stands in a data directory. A server refuses a newer one; older ones are converted at start-up. */
export const FORMAT_VERSION = 1;

/** A data directory that cannot be used; the message is a sentence for people. */
export class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
}

/** A store without a disk: all is lost when the server ends. */
export function openMemoryStore(clock: ServerClock): Store {
  return new Store(clock, null);
}

/** Opens the data in `directory` (which the caller owns), or begins a new data directory there. */
export function openDurableStore(directory: string, clock: ServerClock): Store {
  const data = join(directory, 'data');
  const isNew = !existsSync(data);
  if (!isNew && !readdirSync(data).includes('data.mdb')) {
    throw new DataDirectoryError(
      `${data} exists but holds no data of a Flowline development server; choose another directory.`,
    );
  }
  let disk: Disk;
  try {
    disk = new Disk(data);
  } catch (cause) {
    throw new DataDirectoryError(
      `The data in ${data} cannot be opened (${cause instanceof Error ? cause.message : String(cause)}): they are damaged or of another program. Move them away to begin anew.`,
      { cause },
    );
  }
  const store = new Store(clock, disk);
  const format = disk.get('meta', 'format');
  if (format === undefined) {
    if (!isNew && [...disk.entries('records')].length > 0) {
      throw new DataDirectoryError(
        `${data} holds a database of another program; choose another directory.`,
      );
    }
    void disk.commit([
      {
        table: 'meta',
        key: 'format',
        value: encodeDocument(doc(['version', int32(FORMAT_VERSION)])),
      },
    ]);
    return store;
  }
  checkFormat(format, data);
  load(store, disk, data);
  return store;
}

function checkFormat(bytes: Uint8Array, data: string): void {
  const version = Number(decodeDocument(bytes).get('version')?.toString());
  if (version === FORMAT_VERSION) return;
  throw new DataDirectoryError(
    `The data in ${data} have format ${version}; this version of the development server reads format ${FORMAT_VERSION}. Use the version of Flowline that wrote them.`,
  );
}

function load(store: Store, disk: Disk, data: string): void {
  try {
    const byId = loadCatalogue(store, disk);
    loadRecords(store, disk, byId);
    for (const { key, value } of disk.entries('retries')) store.retries.load(key as string, value);
    let latest: Parameters<typeof store.clock.resumeAfter>[0] | null = null;
    for (const { key, value } of disk.entries('changes')) {
      latest = store.changes.load(value, key as number).time;
    }
    if (latest !== null) store.clock.resumeAfter(latest);
  } catch (cause) {
    throw new DataDirectoryError(
      `The data in ${data} are damaged (${cause instanceof Error ? cause.message : String(cause)}). Move them away to begin anew.`,
      { cause },
    );
  }
}

interface Loading {
  readonly collection: Collection;
  readonly specs: readonly Doc[];
}

function loadCatalogue(store: Store, disk: Disk): Map<number, Loading> {
  const byId = new Map<number, Loading>();
  for (const { key, value } of disk.entries('catalogue')) {
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

function loadRecords(store: Store, disk: Disk, byId: ReadonlyMap<number, Loading>): void {
  const orphans: [number, number][] = [];
  for (const { key, value } of disk.entries('records')) {
    const [collectionId, recordId] = key as [number, number];
    const loading = byId.get(collectionId);
    if (loading === undefined) {
      orphans.push([collectionId, recordId]);
      continue;
    }
    const { collection } = loading;
    const document = decodeDocument(value);
    collection.apply(recordId, document, collection.indexChanges(null, document));
    collection.identity.nextRecordId = Math.max(collection.identity.nextRecordId, recordId + 1);
  }
  if (orphans.length > 0) {
    void store.disk?.commit(orphans.map((key) => ({ table: 'records', key, value: null })));
  }
}
