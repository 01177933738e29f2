import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { faultOfDataFile } from '../storage/check-data-file.js';
import type { ServerClock } from '../storage/clock.js';
import { Collection, type CollectionIdentity } from '../storage/collection.js';
import { newIndex, specOf } from '../storage/definitions.js';
import { Disk } from '../storage/disk.js';
import { Store } from '../storage/store.js';
import { decodeDocument } from '../values/decode.js';
import { encodeDocument } from '../values/encode.js';
import { type Binary, type Doc, doc, int32, isDoc, type Value } from '../values/value.js';

import { DataDirectoryError } from './data-directory-error.js';

/** The version of what stands in a data directory. A server refuses a newer one; older ones are converted at start-up. */
export const FORMAT_VERSION = 1;

/** A store without a disk: all is lost when the server ends. */
export function openMemoryStore(clock: ServerClock): Store {
  return new Store(clock, null);
}

/** Written beside the data once the first transaction is on disk: from then on the data file must be whole. */
const MARK = 'devdb.json';

/** Opens the data in `directory` (which the caller owns), or begins a new data directory there. */
export async function openDurableStore(directory: string, clock: ServerClock): Promise<Store> {
  const data = join(directory, 'data');
  checkFiles(data);
  let disk: Disk;
  try {
    disk = new Disk(data);
  } catch (cause) {
    throw damaged(data, cause instanceof Error ? cause.message : String(cause), cause);
  }
  const store = new Store(clock, disk);
  const format = disk.get('meta', 'format');
  if (format === undefined) {
    if (existsSync(join(data, MARK))) throw damaged(data, 'their format is not written in them');
    const version = encodeDocument(doc(['version', int32(FORMAT_VERSION)]));
    await disk.commit([{ table: 'meta', key: 'format', value: version }]);
  } else {
    checkFormat(format, data);
    load(store, disk, data);
  }
  const mark = JSON.stringify({ program: 'flowline devdb', format: FORMAT_VERSION });
  writeFileSync(join(data, MARK), `${mark}\n`);
  return store;
}

/** Refuses what is not ours and what lmdb would stumble over. */
function checkFiles(data: string): void {
  if (!existsSync(data)) return;
  const names = readdirSync(data);
  if (names.length === 0) return;
  const file = join(data, 'data.mdb');
  const isOurs = names.includes(MARK);
  if (!names.includes('data.mdb')) {
    if (isOurs) throw damaged(data, 'the file data.mdb is missing');
    throw new DataDirectoryError(
      `${data} exists but holds no data of a Flowline development server; choose another directory.`,
    );
  }
  const fault = faultOfDataFile(file);
  if (fault === null) return;
  if (isOurs || statSync(file).size > 0) throw damaged(data, fault);
  // A server that was killed before its first transaction leaves an empty file behind.
  rmSync(file);
}

function damaged(data: string, why: string, cause?: unknown): DataDirectoryError {
  return new DataDirectoryError(
    `The data in ${data} are damaged or of another program: ${why}. Move them away to begin anew.`,
    { cause },
  );
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
    throw damaged(data, cause instanceof Error ? cause.message : String(cause), cause);
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
  for (const { key, value } of disk.entries('records')) {
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
