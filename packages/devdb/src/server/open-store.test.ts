import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ServerClock } from '../storage/clock.js';
import { createCollection } from '../storage/definitions.js';
import { type Store, WriteUnit } from '../storage/store.js';
import { encodeDocument } from '../values/encode.js';
import { doc, int32 } from '../values/value.js';
import { DataDirectoryError } from './data-directory-error.js';
import { openDurableStore } from './open-store.js';

let directory: string;
let data: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'devdb-store-'));
  data = join(directory, 'data');
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const openStore = () => openDurableStore(directory, new ServerClock());

const idsOf = (store: Store) =>
  [...(store.catalogue.collection('d', 'c')?.records.values() ?? [])].map((one) =>
    String(one.get('_id')),
  );

async function insert(store: Store, id: string): Promise<void> {
  const unit = new WriteUnit(null);
  const collection =
    store.catalogue.collection('d', 'c') ?? createCollection(store, unit, 'd', 'c');
  store.insert(unit, collection, doc(['_id', id]));
  await store.commit(unit);
}

/** Makes a directory of what the version before left: the same tables, another format, no log. */
async function makeFormat(version: number): Promise<void> {
  const store = await openStore();
  await insert(store, 'one');
  await store.disk!.close();
  const environment = open<Buffer, string>({
    path: data,
    noSubdir: false,
    encoding: 'binary',
    maxDbs: 6,
  });
  const meta = environment.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' });
  await meta.put('format', encodeDocument(doc(['version', int32(version)])));
  await meta.remove('log');
  await environment.close();
  for (const name of logs()) rmSync(join(data, name));
  writeFileSync(join(data, 'devdb.json'), `{"program":"flowline devdb","format":${version}}\n`);
}

const logs = () => readdirSync(data).filter((name) => name.startsWith('log-'));

describe('a data directory', () => {
  test('of the format without a log is opened and goes on with one', async () => {
    await makeFormat(1);
    const store = await openStore();
    expect(idsOf(store)).toEqual(['one']);
    await insert(store, 'two');
    await store.disk!.close();
    expect(JSON.parse(readFileSync(join(data, 'devdb.json'), 'utf8'))).toMatchObject({ format: 2 });
    const again = await openStore();
    expect(idsOf(again)).toEqual(['one', 'two']);
    await again.disk!.close();
  });

  test('of a newer format is refused and stays as it was', async () => {
    await makeFormat(3);
    const before = readFileSync(join(data, 'data.mdb'));
    await expect(openStore()).rejects.toThrow(
      /have format 3; this version of the development server reads format 2\. Use the version/,
    );
    expect(readFileSync(join(data, 'data.mdb')).equals(before)).toBe(true);
    expect(logs()).toEqual([]);
  });

  test('whose log is missing, cut before its end or of another directory is refused', async () => {
    const store = await openStore();
    await insert(store, 'one');
    await store.disk!.close();
    const log = join(data, logs()[0]!);
    const whole = readFileSync(log);
    rmSync(log);
    await expect(openStore()).rejects.toThrow(DataDirectoryError);
    await expect(openStore()).rejects.toThrow(
      /damaged or of another program: the log from number 2 is missing/,
    );
    writeFileSync(log, whole);
    truncateSync(log, statSync(log).size - 1);
    await expect(openStore()).rejects.toThrow(/does not begin as a segment of a log/);
    writeFileSync(log, Buffer.from(whole).fill(0, 12, 28));
    await expect(openStore()).rejects.toThrow(DataDirectoryError);
    writeFileSync(log, whole);
    const again = await openStore();
    expect(idsOf(again)).toEqual(['one']);
    await again.disk!.close();
  });
});
