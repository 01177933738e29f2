import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerClock } from '../storage/clock.js';
import { faultOfDataFile } from '../storage/disk/check-data-file.js';
import { Disk, type DiskOptions } from '../storage/disk/disk.js';
import { LogFault } from '../storage/disk/replay.js';
import { Tables } from '../storage/disk/tables.js';
import { Store } from '../storage/store.js';
import { decodeDocument } from '../values/decode.js';
import { encodeDocument } from '../values/encode.js';
import { doc, int32 } from '../values/value.js';
import { DataDirectoryError } from './data-directory-error.js';
import { loadStore } from './load-store.js';

/**
 * The version of what stands in a data directory. A server refuses a newer one and converts an older one at its start.
 * 1: tables only. 2: tables and a log, which holds what is newer; the tables are as before.
 */
export const FORMAT_VERSION = 2;

/** A store without a disk: all is lost when the server ends. */
export function openMemoryStore(clock: ServerClock): Store {
  return new Store(clock, null);
}

/** Written beside the data once the first transaction is on disk: from then on the data file must be whole. */
const MARK = 'devdb.json';

/** Opens the data in `directory` (which the caller owns), or begins a new data directory there. */
export async function openDurableStore(
  directory: string,
  clock: ServerClock,
  options: DiskOptions = {},
): Promise<Store> {
  const data = join(directory, 'data');
  checkFiles(data);
  let tables: Tables;
  try {
    tables = new Tables(data);
  } catch (cause) {
    throw damaged(data, messageOf(cause), cause);
  }
  try {
    await checkFormat(tables);
    const disk = await openDisk(tables, options);
    const mark = JSON.stringify({ program: 'flowline devdb', format: FORMAT_VERSION });
    writeFileSync(join(data, MARK), `${mark}\n`);
    const store = new Store(clock, disk);
    try {
      loadStore(store, tables);
    } catch (cause) {
      await disk.close();
      throw damaged(data, messageOf(cause), cause);
    }
    return store;
  } catch (error) {
    await tables.close();
    throw error;
  }
}

/** Brings an older format up to ours. The format is raised before there is a log, so that no older server overlooks one. */
async function checkFormat(tables: Tables): Promise<void> {
  const data = tables.directory;
  const stored = tables.get('meta', 'format');
  if (stored === undefined && existsSync(join(data, MARK))) {
    throw damaged(data, 'their format is not written in them');
  }
  const version = stored && Number(decodeDocument(stored).get('version')?.toString());
  if (version === FORMAT_VERSION) return;
  if (version !== undefined && version !== 1) {
    throw new DataDirectoryError(
      `The data in ${data} have format ${version}; this version of the development server reads format ${FORMAT_VERSION}. Use the version of Flowline that wrote them.`,
    );
  }
  const value = encodeDocument(doc(['version', int32(FORMAT_VERSION)]));
  await tables.write([{ table: 'meta', key: 'format', value }]);
}

async function openDisk(tables: Tables, options: DiskOptions): Promise<Disk> {
  try {
    return await Disk.open(tables, options);
  } catch (cause) {
    if (cause instanceof LogFault) throw damaged(tables.directory, cause.message, cause);
    throw new DataDirectoryError(
      `The data in ${tables.directory} could not be brought up to date: ${messageOf(cause)}. They are safe; see to the disk and start again.`,
      { cause },
    );
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
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
