/**
 * The state of one server: catalogue, open transactions, change log, retry records and, if durable, the disk.
 *
 * Everything here is synchronous and in memory; a write is visible to others as soon as it is made, and acknowledged
 * when `commit` resolves, which is after its disk transaction was synced. Writes become durable in the order in which they
 * became visible, so a kill never leaves a write on disk without the ones that it could have seen.
 */
import { DbError } from '../errors.js';
import { encodeDocument, rememberImage } from '../values/encode.js';
import { Binary, type Doc, type Long } from '../values/value.js';
import { Catalogue } from './catalogue.js';
import { type ChangeKind, ChangeLog } from './change-log.js';
import type { ServerClock } from './clock.js';
import type { Collection } from './collection.js';
import type { Disk } from './disk/disk.js';
import type { DiskChange } from './disk/disk-change.js';
import type { RecordId } from './ordered-index.js';
import { RetryRecords } from './retry-records.js';
import { Transaction, type TransactionWrite } from './transaction.js';

/** MongoDB's `maxBsonObjectSize`. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** What one command writes, until it is committed as a whole. */
export class WriteUnit {
  /** What goes to disk in one transaction. */
  readonly stored: DiskChange[] = [];

  constructor(
    readonly transaction: Transaction | null,
    /** Named in the change events of a transaction. */
    readonly session: { readonly lsid: Doc; readonly txnNumber: Long } | null = null,
  ) {}
}

/** A plain write met a document that an open transaction has written: wait for its end and try again. */
export class Blocked extends Error {
  constructor(readonly transaction: Transaction) {
    super('blocked by an open transaction');
  }
}

/** How a write is told to change streams. */
export type WriteKind = Extract<ChangeKind, 'insert' | 'update' | 'replace' | 'delete'>;

export class Store {
  readonly catalogue = new Catalogue();
  readonly changes = new ChangeLog();
  readonly retries = new RetryRecords();
  readonly transactions = new Set<Transaction>();
  nextCollectionId = 1;

  constructor(
    readonly clock: ServerClock,
    readonly disk: Disk | null,
  ) {}

  /** The catalogue that a unit of work reads: the committed one, or its transaction's snapshot. */
  catalogueOf(unit: WriteUnit): Catalogue {
    return unit.transaction?.snapshot ?? this.catalogue;
  }

  insert(unit: WriteUnit, collection: Collection, document: Doc): RecordId {
    const recordId = collection.identity.nextRecordId;
    this.#write(unit, collection, recordId, null, document, 'insert');
    collection.identity.nextRecordId = recordId + 1;
    return recordId;
  }

  /**
   * Puts a document in the place of another one. `description` is what change streams tell of it (`{ updatedFields,
   * removedFields }`); without one it is told as a replacement, by the whole document.
   */
  replace(
    unit: WriteUnit,
    collection: Collection,
    recordId: RecordId,
    document: Doc,
    description?: Doc,
  ): void {
    const before = collection.records.get(recordId)!;
    const kind = description === undefined ? 'replace' : 'update';
    this.#write(unit, collection, recordId, before, document, kind, description);
  }

  remove(unit: WriteUnit, collection: Collection, recordId: RecordId): void {
    this.#write(unit, collection, recordId, collection.records.get(recordId)!, null, 'delete');
  }

  /**
   * Throws 263 for a capped collection in a transaction, 11000 for a duplicate, 171 for parallel arrays, 112 if another transaction is in the way of this
   * transaction, `Blocked` if one is in the way of a plain write. Changes nothing then.
   */
  #write(
    unit: WriteUnit,
    collection: Collection,
    recordId: RecordId,
    before: Doc | null,
    after: Doc | null,
    kind: WriteKind,
    description?: Doc,
  ): void {
    if (unit.transaction !== null && collection.identity.options.get('capped') === true) {
      throw new DbError(
        263,
        `Collection '${collection.namespace}' is a capped collection. Writes in transactions are not allowed on capped collections.`,
      );
    }
    const bytes = after === null ? null : encodeDocument(after);
    if (bytes !== null && bytes.length > MAX_DOCUMENT_BYTES) throw tooLarge(bytes.length, kind);
    const changes = collection.indexChanges(before, after);
    const { transaction } = unit;
    this.#checkLocks(unit, collection, recordId, before);
    const duplicate = collection.findDuplicate(before === null ? null : recordId, changes);
    if (duplicate !== null) {
      const holder = transaction === null ? this.#holder(collection, duplicate.owner, null) : null;
      if (holder !== null) throw new Blocked(holder);
      throw duplicate.error;
    }
    if (after !== null) this.#checkOthersKeys(unit, collection, recordId, before, after);
    collection.apply(recordId, after, changes);
    if (transaction !== null) {
      transaction.record({ collection, recordId, before, after, kind, description });
      return;
    }
    this.#log(unit, { collection, recordId, before, after, kind, description }, bytes);
  }

  #checkLocks(
    unit: WriteUnit,
    collection: Collection,
    recordId: RecordId,
    before: Doc | null,
  ): void {
    if (before === null) return;
    const { transaction } = unit;
    if (transaction?.holds(collection.identity.id, recordId)) return;
    const holder = this.#holder(collection, recordId, transaction);
    if (transaction === null) {
      if (holder !== null) throw new Blocked(holder);
      return;
    }
    // First committer wins: what changed since the snapshot must not be overwritten.
    const committed = this.#committed(collection)?.records.get(recordId);
    if (holder !== null || committed !== before) throw writeConflict();
  }

  /** Keys that are taken where this unit cannot see them: by open transactions, or since its snapshot. */
  #checkOthersKeys(
    unit: WriteUnit,
    collection: Collection,
    recordId: RecordId,
    before: Doc | null,
    after: Doc,
  ): void {
    if (this.transactions.size === 0) return;
    const { transaction } = unit;
    const { id, database, name } = collection.identity;
    const self = before === null ? null : recordId;
    for (const other of this.transactions) {
      if (other === transaction || !other.touches(id)) continue;
      const view = other.snapshot.collection(database, name);
      const owner = view?.findDuplicate(self, view.indexChanges(null, after))?.owner;
      if (owner === undefined || !other.holds(id, owner)) continue;
      throw transaction === null ? new Blocked(other) : writeConflict();
    }
    if (transaction === null) return;
    const committed = this.#committed(collection);
    const owner = committed?.findDuplicate(self, committed.indexChanges(null, after))?.owner;
    if (owner !== undefined && !transaction.holds(id, owner)) throw writeConflict();
  }

  #committed(collection: Collection): Collection | undefined {
    return this.catalogue.collection(collection.identity.database, collection.identity.name);
  }

  /** The open transaction, other than `except`, that has written the record. */
  #holder(
    collection: Collection,
    recordId: RecordId,
    except: Transaction | null,
  ): Transaction | null {
    for (const transaction of this.transactions) {
      if (transaction !== except && transaction.holds(collection.identity.id, recordId)) {
        return transaction;
      }
    }
    return null;
  }

  /** The open transaction that has written to a collection: its definition must not change before that ends. */
  writerOf(collection: Collection): Transaction | null {
    for (const transaction of this.transactions) {
      if (transaction.touches(collection.identity.id)) return transaction;
    }
    return null;
  }

  #log(unit: WriteUnit, write: TransactionWrite, encoded: Uint8Array | null): void {
    const { collection, recordId, before, after, kind, description } = write;
    const { identity } = collection;
    unit.stored.push({ table: 'records', key: [identity.id, recordId], value: encoded });
    if (after !== null && encoded !== null) rememberImage(after, encoded);
    const image = after ?? before!;
    this.changes.append(
      {
        time: this.clock.tick(),
        kind,
        database: identity.database,
        collection: identity.name,
        uuid: new Binary(identity.uuid, Binary.SUBTYPE_UUID),
        documentId: image.get('_id'),
        ...(kind === 'insert' || kind === 'replace' ? { document: after! } : {}),
        ...(description ? { updateDescription: description } : {}),
        ...(unit.session && unit.transaction ? unit.session : {}),
      },
      this.disk === null ? null : unit.stored,
      encoded,
    );
  }

  /** Opens a transaction on a snapshot of everything committed. */
  beginTransaction(): Transaction {
    const transaction = new Transaction(this.catalogue.snapshot(), this.clock.nowMs());
    this.transactions.add(transaction);
    return transaction;
  }

  /** Makes a transaction's writes visible, all at once; they are durable when `commit(unit)` resolves. */
  applyTransaction(unit: WriteUnit): void {
    const transaction = unit.transaction!;
    this.transactions.delete(transaction);
    for (const write of transaction.writes) {
      // The locks kept others off these records, so that their keys cannot clash now.
      const committed = this.#committed(write.collection)!;
      committed.apply(
        write.recordId,
        write.after,
        committed.indexChanges(write.before, write.after),
      );
      const bytes = write.after === null ? null : encodeDocument(write.after);
      this.#log(unit, { ...write, collection: committed }, bytes);
    }
    transaction.end();
  }

  /** Drops a transaction's writes. */
  abortTransaction(transaction: Transaction): void {
    this.transactions.delete(transaction);
    transaction.end();
  }

  /** Makes what the unit wrote durable; it may be used (and committed) again afterwards. */
  async commit(unit: WriteUnit): Promise<void> {
    const stored = unit.stored.splice(0);
    if (this.disk !== null && stored.length > 0) await this.disk.commit(stored);
  }
}

/** The error of a statement in a transaction that lost against another one. */
export function writeConflict(): DbError {
  return new DbError(112, 'WriteConflict', { labels: ['TransientTransactionError'] });
}

function tooLarge(bytes: number, kind: WriteKind): DbError {
  return kind === 'insert'
    ? new DbError(
        2,
        `object to insert too large. size in bytes: ${bytes}, max size: ${MAX_DOCUMENT_BYTES}`,
      )
    : new DbError(17419, `Resulting document after update is larger than ${MAX_DOCUMENT_BYTES}`);
}
