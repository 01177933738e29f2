import { setImmediate } from 'node:timers/promises';
import { type Database, open, type RootDatabase } from 'lmdb';
import { type DiskChange, type DiskKey, TABLES, type TableName } from './disk-change.js';

/** So many changes are handed over at once before the event loop gets its turn. */
const PIECE = 500;

/** The lmdb environment of a data directory: what was moved out of the log. */
export class Tables {
  readonly #root: RootDatabase<Buffer, DiskKey>;
  readonly #tables = new Map<TableName, Database<Buffer, DiskKey>>();
  #closing: Promise<void> | null = null;

  /** Opens (or creates) the environment in `directory`. Throws what lmdb throws for a file that is not its own. */
  constructor(readonly directory: string) {
    this.#root = open<Buffer, DiskKey>({
      path: directory,
      noSubdir: false,
      encoding: 'binary',
      maxDbs: TABLES.length + 1,
      // A write's promise must mean "synced", and a half-synced newest transaction must not be what a restart finds.
      overlappingSync: false,
    });
    for (const name of TABLES) {
      this.#tables.set(name, this.#root.openDB<Buffer, DiskKey>({ name, encoding: 'binary' }));
    }
  }

  get(table: TableName, key: DiskKey): Buffer | undefined {
    return this.#tables.get(table)!.get(key);
  }

  /** All entries of a table in key order. */
  entries(table: TableName): Iterable<{ key: DiskKey; value: Buffer }> {
    return this.#tables.get(table)!.getRange({});
  }

  /**
   * Resolves when the changes are synced. They may take more than one transaction, so that others get their turn: what a
   * kill leaves of them is not told.
   */
  async write(changes: Iterable<DiskChange>): Promise<void> {
    // Mostly a few promises many times; each one that rejects means that not everything is safe.
    const written = new Set<Promise<boolean>>();
    let count = 0;
    for (const change of changes) {
      const promise = this.#write(change);
      if (!written.has(promise)) {
        // It may reject before all have been handed over; it is awaited below.
        promise.catch(() => {});
        written.add(promise);
      }
      count += 1;
      if (count % PIECE === 0) await setImmediate();
    }
    await Promise.all(written);
  }

  #write({ table, key, value }: DiskChange): Promise<boolean> {
    const database = this.#tables.get(table)!;
    return value === null ? database.remove(key) : database.put(key, value as Buffer);
  }

  /** Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#root.close();
    return this.#closing;
  }
}
