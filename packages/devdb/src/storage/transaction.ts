import type { Doc } from '../values/value.js';
import type { Catalogue } from './catalogue.js';
import type { Collection } from './collection.js';
import type { RecordId } from './ordered-index.js';

/** One document change of an open transaction, in the order of its statements. */
export interface TransactionWrite {
  readonly collection: Collection;
  readonly recordId: RecordId;
  readonly before: Doc | null;
  readonly after: Doc | null;
  readonly kind: 'insert' | 'update' | 'replace' | 'delete';
  /** What an update has changed, as change streams tell it. */
  readonly description: Doc | undefined;
}

/**
 * An open multi-document transaction. It reads and writes clones of the collections as they were at its first
 * statement (snapshot isolation). A document that it has written is locked: others' transactions get 112 WriteConflict, plain
 * writes wait until it ends.
 */
export class Transaction {
  readonly writes: TransactionWrite[] = [];
  readonly finished: Promise<void>;
  readonly #locks = new Map<number, Set<RecordId>>();
  #end: () => void = () => {};

  constructor(
    readonly snapshot: Catalogue,
    /** When its first statement came, in milliseconds of the server's clock. */
    readonly startedAtMs: number,
  ) {
    this.finished = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  holds(collectionId: number, recordId: RecordId): boolean {
    return this.#locks.get(collectionId)?.has(recordId) ?? false;
  }

  /** Whether it has written to the collection at all. */
  touches(collectionId: number): boolean {
    return this.#locks.has(collectionId);
  }

  record(write: TransactionWrite): void {
    const { id } = write.collection.identity;
    let locked = this.#locks.get(id);
    if (locked === undefined) {
      locked = new Set();
      this.#locks.set(id, locked);
    }
    locked.add(write.recordId);
    this.writes.push(write);
  }

  /** Lets those go on that wait for its locks. */
  end(): void {
    this.#end();
  }
}
