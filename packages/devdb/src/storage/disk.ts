/**
 * Durable storage: one lmdb environment with a few tables. The memory is the truth while the server runs; the disk
 * is what the next server starts from. Each command's changes are one batch, and the batches that wait together become
 * one lmdb transaction (group commit). A promise of `commit` resolves only when its transaction is synced to disk.
 * Batches reach the disk in the order of `commit` calls, so that what survives a kill is always a prefix.
 */
import { type Database, open, type RootDatabase } from 'lmdb';

/** The tables of a data directory. Keys of `records` are `[collection id, record id]`. */
export type TableName = 'catalogue' | 'records' | 'retries' | 'changes' | 'meta';
const TABLES: readonly TableName[] = ['catalogue', 'records', 'retries', 'changes', 'meta'];

/** A key of a table. */
export type DiskKey = string | number | [number, number];

/** One change to one table; `value` null removes the key. */
export interface DiskChange {
  readonly table: TableName;
  readonly key: DiskKey;
  readonly value: Uint8Array | null;
}

interface Waiting {
  readonly changes: readonly DiskChange[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The lmdb side of one data directory. */
export class Disk {
  readonly #root: RootDatabase<Buffer, DiskKey>;
  readonly #tables = new Map<TableName, Database<Buffer, DiskKey>>();
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;
  #failure: unknown;

  /** Opens (or creates) the environment in `directory`. Throws what lmdb throws for a file that is not its own. */
  constructor(directory: string) {
    this.#root = open<Buffer, DiskKey>({
      path: directory,
      noSubdir: false,
      encoding: 'binary',
      maxDbs: TABLES.length + 1,
      // A commit's promise must mean "synced", and a half-synced newest transaction must not be what a restart finds.
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

  /** Makes the changes durable, all or none of them. Rejects if the disk refuses; then nothing later succeeds either. */
  commit(changes: readonly DiskChange[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ changes, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when everything committed so far is on disk. */
  async flushed(): Promise<void> {
    // An empty batch comes through with the group that it waits in, however many come after it.
    if (this.#running !== null) await this.commit([]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #run(): Promise<void> {
    // Let the commands that are ready in this turn of the event loop join the first group.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        if (this.#failure !== undefined) throw this.#failure;
        await this.#writeGroup(group);
        for (const { resolve } of group) resolve();
      } catch (error) {
        // Memory is ahead of the disk from here on: nothing may be acknowledged any more.
        this.#failure = error;
        for (const { reject } of group) reject(error);
      }
    }
    this.#running = null;
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    if (group.every(({ changes }) => changes.length === 0)) return;
    // Mostly one and the same promise; each one that rejects means that nothing of the group is safe.
    const written = new Set<Promise<boolean>>();
    const committed = this.#root.batch(() => {
      for (const { changes } of group) {
        for (const change of changes) written.add(this.#write(change));
      }
    });
    await Promise.all([committed, ...written]);
  }

  #write(change: DiskChange): Promise<boolean> {
    const table = this.#tables.get(change.table)!;
    return change.value === null
      ? table.remove(change.key)
      : table.put(change.key, change.value as Buffer);
  }

  /** Writes what waits and closes the environment. */
  async close(): Promise<void> {
    await this.flushed().catch(() => {});
    await this.#root.close();
  }
}
