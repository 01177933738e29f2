import { encodeKey } from '../values/index-key.js';
import { type Doc, isNumeric, type Value } from '../values/value.js';
import { BTree, sortedTree } from './btree.js';
import { documentKeys } from './index-keys.js';

/** The position of a document in its collection; ascending in order of insertion. */
export type RecordId = number;

/** What an index is, as createIndexes asked for it. */
export interface IndexSpec {
  readonly name: string;
  /** Field paths with 1 or -1 (any number with that sign). */
  readonly key: Doc;
  readonly unique: boolean;
  readonly sparse: boolean;
  readonly partialFilter?: Doc;
  readonly expireAfterSeconds?: number;
  /** The specification as listIndexes shows it, without `ns`. */
  readonly stored: Doc;
}

/** The keys of one document in one index: the values, and the texts that the index is sorted by. */
export interface IndexedKeys {
  readonly values: readonly Value[][];
  readonly texts: readonly string[];
  readonly multikey: number;
}

const NO_KEYS: IndexedKeys = { values: [], texts: [], multikey: 0 };

/** A text above all entries that start with `prefix`: no part of a key starts with this unit. */
export function after(prefix: string): string {
  return `${prefix}\u00ff`;
}

/** Part of an index, in index order: entries from `low` (included) to `high` (excluded). */
export interface KeyRange {
  readonly low: string;
  readonly high: string;
}

/** Sorted keys of one index over one collection. `clone` is O(1) and copies on write. */
export class OrderedIndex {
  readonly paths: readonly (readonly string[])[];
  readonly descending: readonly boolean[];
  /** One bit per field: an array has been indexed there (never unset, as in MongoDB). */
  multikey = 0;
  #tree: BTree<string, RecordId>;

  constructor(
    readonly spec: IndexSpec,
    /** Whether a document belongs into a partial index; absent for all other indexes. */
    readonly admits: ((document: Doc) => boolean) | undefined,
    tree?: BTree<string, RecordId>,
  ) {
    this.paths = [...spec.key.keys()].map((path) => path.split('.'));
    this.descending = [...spec.key.values()].map(isDescending);
    this.#tree = tree ?? new BTree<string, RecordId>(undefined, compareUnits);
  }

  get size(): number {
    return this.#tree.size;
  }

  /** The keys that `document` has in this index; none if it does not belong here. Throws 171 for parallel arrays. */
  keysOf(document: Doc): IndexedKeys {
    if (this.admits !== undefined && !this.admits(document)) return NO_KEYS;
    const { keys, multikey } = documentKeys(document, this.paths, this.spec.sparse);
    if (keys.length === 0) return NO_KEYS;
    return { values: keys, texts: keys.map((key) => encodeKey(key, this.descending)), multikey };
  }

  add(text: string, recordId: RecordId): void {
    this.#tree.set(text + recordText(recordId), recordId);
  }

  /** Replaces all entries by those of `builder`. */
  load(builder: IndexBuilder): void {
    this.multikey |= builder.multikey;
    const entries = builder.sorted();
    this.#tree = sortedTree(entries, entries.map(recordOf), compareUnits);
  }

  remove(text: string, recordId: RecordId): void {
    this.#tree.delete(text + recordText(recordId));
  }

  /** The first record with exactly this key other than `except`, or undefined. */
  findOther(text: string, except: RecordId | null): RecordId | undefined {
    let pair = this.#tree.getPairOrNextHigher(text);
    while (pair?.[0].startsWith(text)) {
      if (pair[1] !== except) return pair[1];
      pair = this.#tree.nextHigherPair(pair[0]);
    }
    return undefined;
  }

  /** Entries at or after `low`, ascending in index order. */
  ascendingFrom(low: string): Iterator<[string, RecordId]> {
    return this.#tree.entries(low);
  }

  /** Entries before `high`, descending in index order. */
  descendingFrom(high: string): Iterator<[string, RecordId]> {
    return this.#tree.entriesReversed(high, undefined, true);
  }

  clone(): OrderedIndex {
    const copy = new OrderedIndex(this.spec, this.admits, this.#tree.clone());
    copy.multikey = this.multikey;
    return copy;
  }

  /** The same entries under another specification (collMod changes a TTL in place). */
  withSpec(spec: IndexSpec): OrderedIndex {
    const copy = new OrderedIndex(spec, this.admits, this.#tree);
    copy.multikey = this.multikey;
    return copy;
  }
}

/** Collects the entries of an index that is built over many documents. */
export class IndexBuilder {
  readonly #entries: string[] = [];
  multikey = 0;

  constructor(readonly index: OrderedIndex) {}

  /** Adds the keys of a document. Throws 171 for parallel arrays. */
  add(document: Doc, recordId: RecordId): void {
    const { texts, multikey } = this.index.keysOf(document);
    if (texts.length === 0) return;
    this.multikey |= multikey;
    const record = recordText(recordId);
    for (const text of texts) this.#entries.push(text + record);
  }

  /** All entries in order, each once. */
  sorted(): string[] {
    // Without a comparison of its own, sort goes by units, as the tree does.
    this.#entries.sort();
    return this.#entries.filter((entry, at) => at === 0 || entry !== this.#entries[at - 1]);
  }

  /** Of two records with one key, the later one that comes first in the collection; null if there are none. */
  firstDuplicate(): { readonly text: string; readonly recordId: RecordId } | null {
    let found: { text: string; recordId: RecordId } | null = null;
    const entries = this.sorted();
    for (let at = 1; at < entries.length; at++) {
      const text = entries[at]!.slice(0, -RECORD_UNITS);
      if (text !== entries[at - 1]!.slice(0, -RECORD_UNITS)) continue;
      const recordId = recordOf(entries[at]!);
      if (found === null || recordId < found.recordId) found = { text, recordId };
    }
    return found;
  }
}

/** How many units of an entry name its record. */
const RECORD_UNITS = 6;

/** The record that an entry leads to. */
function recordOf(entry: string): RecordId {
  let recordId = 0;
  for (let at = entry.length - RECORD_UNITS; at < entry.length; at++) {
    recordId = recordId * 256 + entry.charCodeAt(at);
  }
  return recordId;
}

/** A record id as six bytes that sort as the number does. */
function recordText(recordId: RecordId): string {
  const high = Math.floor(recordId / 0x1_0000_0000);
  return String.fromCharCode(
    (high >>> 8) & 0xff,
    high & 0xff,
    (recordId >>> 24) & 0xff,
    (recordId >>> 16) & 0xff,
    (recordId >>> 8) & 0xff,
    recordId & 0xff,
  );
}

function isDescending(value: Value): boolean {
  return isNumeric(value) && Number(value.toString()) < 0;
}

/** Equality is quick to deny, so that one comparison is left. */
function compareUnits(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1;
}
