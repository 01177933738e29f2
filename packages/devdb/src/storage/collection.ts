import { DbError } from '../errors.js';
import { formatValue } from '../values/format.js';
import { encodeKeyPart } from '../values/index-key.js';
import { Decimal128, type Doc, doc, type Value } from '../values/value.js';
import { BTree, sortedTree } from './btree.js';
import {
  IndexBuilder,
  type IndexedKeys,
  type OrderedIndex,
  type RecordId,
} from './ordered-index.js';

/** What a collection is, shared by its committed state and the views that transactions have of it. */
export interface CollectionIdentity {
  /** The number under which its records are stored; never used twice in one data directory. */
  readonly id: number;
  database: string;
  name: string;
  readonly uuid: Uint8Array;
  /** The options of `create`, as listCollections shows them. */
  options: Doc;
  nextRecordId: RecordId;
}

const NOTHING: IndexedKeys = { values: [], texts: [], multikey: 0 };

/** What one change takes from and gives to one index. */
interface IndexChange {
  readonly index: OrderedIndex;
  readonly removed: readonly string[];
  readonly added: readonly string[];
  readonly keys: IndexedKeys;
}

/**
 * The documents of one collection and its indexes, in memory. It is either the committed state or a
 * transaction's view (a clone of it); both behave alike. Documents are never changed in place.
 */
export class Collection {
  constructor(
    readonly identity: CollectionIdentity,
    public records: BTree<RecordId, Doc>,
    /** The first one is `_id_`. */
    readonly indexes: OrderedIndex[],
  ) {}

  static empty(identity: CollectionIdentity, idIndex: OrderedIndex): Collection {
    return new Collection(identity, new BTree<RecordId, Doc>(undefined, byNumber), [idIndex]);
  }

  /** Fills an empty collection and its indexes with documents in ascending order of their records. */
  load(recordIds: RecordId[], documents: Doc[]): void {
    this.records = sortedTree(recordIds, documents, byNumber);
    for (const index of this.indexes) {
      const builder = new IndexBuilder(index);
      documents.forEach((document, at) => {
        builder.add(document, recordIds[at]!);
      });
      index.load(builder);
    }
  }

  get namespace(): string {
    return `${this.identity.database}.${this.identity.name}`;
  }

  /** The record with this `_id`, or undefined. */
  findById(id: Value): RecordId | undefined {
    return this.indexes[0]!.findOther(encodeKeyPart(id), null);
  }

  /** What a change would do to the indexes. Throws 171 for parallel arrays; changes nothing. */
  indexChanges(before: Doc | null, after: Doc | null): IndexChange[] {
    const changes: IndexChange[] = [];
    for (const index of this.indexes) {
      if (before !== null && after !== null && sameIndexedFields(index, before, after)) continue;
      const old = before === null ? NOTHING : index.keysOf(before);
      const keys = after === null ? NOTHING : index.keysOf(after);
      if (old.texts.length <= 1 && keys.texts.length <= 1) {
        if (old.texts[0] !== keys.texts[0]) {
          changes.push({ index, removed: old.texts, added: keys.texts, keys });
        } else if (keys.multikey !== 0) {
          changes.push({ index, removed: [], added: [], keys });
        }
        continue;
      }
      const oldTexts = new Set(old.texts);
      const newTexts = new Set(keys.texts);
      const removed = [...oldTexts].filter((text) => !newTexts.has(text));
      const added = [...newTexts].filter((text) => !oldTexts.has(text));
      if (removed.length + added.length > 0 || keys.multikey !== 0) {
        changes.push({ index, removed, added, keys });
      }
    }
    return changes;
  }

  /**
   * The first record that stands in the way of a change under a unique index, with the error that says so.
   * Changes nothing.
   */
  findDuplicate(
    recordId: RecordId | null,
    changes: readonly IndexChange[],
  ): { owner: RecordId; error: DbError } | null {
    for (const { index, added, keys } of changes) {
      if (!index.spec.unique) continue;
      for (const text of added) {
        const owner = index.findOther(text, recordId);
        if (owner === undefined) continue;
        return {
          owner,
          error: this.duplicateKeyError(index, keys.values[keys.texts.indexOf(text)]!),
        };
      }
    }
    return null;
  }

  /** Applies a change whose uniqueness was checked. `after` null removes the record. */
  apply(recordId: RecordId, after: Doc | null, changes: readonly IndexChange[]): void {
    for (const { index, removed, added, keys } of changes) {
      index.multikey |= keys.multikey;
      for (const text of removed) index.remove(text, recordId);
      for (const text of added) index.add(text, recordId);
    }
    if (after === null) this.records.delete(recordId);
    else this.records.set(recordId, after);
  }

  duplicateKeyError(index: OrderedIndex, values: readonly Value[]): DbError {
    const keyValue: Doc = new Map();
    let position = 0;
    for (const path of index.spec.key.keys()) keyValue.set(path, values[position++]);
    return new DbError(
      11000,
      `E11000 duplicate key error collection: ${this.namespace} index: ${index.spec.name} dup key: ${keyText(keyValue)}`,
      { extra: doc(['keyPattern', index.spec.key], ['keyValue', keyValue]) },
    );
  }

  /** A view that can be changed without changing this one. O(number of indexes). */
  clone(): Collection {
    return new Collection(
      this.identity,
      this.records.clone(),
      this.indexes.map((index) => index.clone()),
    );
  }
}

/** Whether the indexed top-level fields are the very same values, so that the keys cannot differ. */
function sameIndexedFields(index: OrderedIndex, before: Doc, after: Doc): boolean {
  if (index.admits !== undefined) return false;
  for (const path of index.paths) {
    const field = path[0]!;
    const value = after.get(field);
    if (value !== before.get(field)) return false;
    if (value === undefined && after.has(field) !== before.has(field)) return false;
  }
  return true;
}

function byNumber(left: number, right: number): number {
  return left - right;
}

/** A key as the message of a duplicate prints it: decimals without their wrapper. */
function keyText(keyValue: Doc): string {
  const parts = [...keyValue].map(([path, value]) => {
    const text = value instanceof Decimal128 ? value.toString() : formatValue(value);
    return `${path}: ${text}`;
  });
  return `{ ${parts.join(', ')} }`;
}
