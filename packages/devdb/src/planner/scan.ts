/** Walks over a collection, directly or by an index, so that it can stop between two batches while others write. */
import type { Collection } from '../storage/collection.js';
import type { KeyRange, OrderedIndex, RecordId } from '../storage/ordered-index.js';

/** Counts of what a scan had to look at, as `explain` reports them. */
export interface ScanStats {
  keysExamined: number;
  documentsExamined: number;
}

/** Counts at zero. */
export function newStats(): ScanStats {
  return { keysExamined: 0, documentsExamined: 0 };
}

/** A source of record ids. `pause` must be called before others may write; the scan goes on behind the last record. */
export interface Scan {
  next(): RecordId | null;
  pause(): void;
}

/** All records in order of insertion, or backwards. */
export class CollectionScan implements Scan {
  #iterator: Iterator<RecordId> | null = null;
  #last: RecordId | null = null;

  constructor(
    readonly collection: Collection,
    readonly reverse: boolean,
  ) {}

  next(): RecordId | null {
    this.#iterator ??= this.#start();
    const step = this.#iterator.next();
    if (step.done) return null;
    this.#last = step.value;
    return step.value;
  }

  #start(): Iterator<RecordId> {
    const { records } = this.collection;
    if (!this.reverse) return records.keys(this.#last === null ? undefined : this.#last + 0.5);
    const pairs = records.entriesReversed(this.#last ?? undefined, undefined, true);
    return mapIterator(pairs, (pair) => pair[0]);
  }

  pause(): void {
    this.#iterator = null;
  }
}

/** The records of some ranges of an index, one range after the other, in index order or backwards. */
export class IndexScan implements Scan {
  #iterator: Iterator<[string, RecordId]> | null = null;
  #range: number;
  #last: string | null = null;

  constructor(
    readonly index: OrderedIndex,
    readonly ranges: readonly KeyRange[],
    readonly reverse: boolean,
    readonly stats: ScanStats,
  ) {
    this.#range = reverse ? ranges.length - 1 : 0;
  }

  /** The text of the entry that `next` gave last. */
  get lastText(): string {
    return this.#last!;
  }

  next(): RecordId | null {
    for (;;) {
      const range = this.ranges[this.#range];
      if (range === undefined) return null;
      this.#iterator ??= this.#start(range);
      const step = this.#iterator.next();
      const inside =
        !step.done && (this.reverse ? step.value[0] >= range.low : step.value[0] < range.high);
      if (inside) {
        this.stats.keysExamined += 1;
        this.#last = step.value[0];
        return step.value[1];
      }
      this.#iterator = null;
      this.#last = null;
      this.#range += this.reverse ? -1 : 1;
    }
  }

  #start(range: KeyRange): Iterator<[string, RecordId]> {
    if (this.reverse) return this.index.descendingFrom(this.#last ?? range.high);
    // A zero unit behind the last entry is the least text above it.
    return this.index.ascendingFrom(this.#last === null ? range.low : `${this.#last}\u0000`);
  }

  pause(): void {
    this.#iterator = null;
  }
}

/**
 * Several scans of one index whose ranges differ in a prefix, merged by what follows the prefix: the order of a sort on the
 * fields behind an `$in`.
 */
export class MergeScan implements Scan {
  #heads: { scan: IndexScan; skip: number; recordId: RecordId; rest: string }[] | null = null;

  constructor(
    readonly scans: readonly { readonly scan: IndexScan; readonly skip: number }[],
    readonly reverse: boolean,
  ) {}

  next(): RecordId | null {
    if (this.#heads === null) {
      this.#heads = [];
      for (const { scan, skip } of this.scans) this.#advance(scan, skip);
    }
    let best = 0;
    for (let index = 1; index < this.#heads.length; index++) {
      const before = this.#heads[index]!.rest < this.#heads[best]!.rest;
      if (before !== this.reverse) best = index;
    }
    const head = this.#heads[best];
    if (head === undefined) return null;
    this.#heads.splice(best, 1);
    this.#advance(head.scan, head.skip);
    return head.recordId;
  }

  #advance(scan: IndexScan, skip: number): void {
    const recordId = scan.next();
    if (recordId === null) return;
    this.#heads!.push({ scan, skip, recordId, rest: scan.lastText.slice(skip) });
  }

  pause(): void {
    for (const { scan } of this.scans) scan.pause();
  }
}

/** Several scans one after the other. */
export class ChainScan implements Scan {
  #position = 0;

  constructor(readonly scans: readonly Scan[]) {}

  next(): RecordId | null {
    while (this.#position < this.scans.length) {
      const recordId = this.scans[this.#position]!.next();
      if (recordId !== null) return recordId;
      this.#position += 1;
    }
    return null;
  }

  pause(): void {
    for (const scan of this.scans) scan.pause();
  }
}

function mapIterator<A, B>(source: Iterator<A>, change: (value: A) => B): Iterator<B> {
  return {
    next() {
      const step = source.next();
      return step.done
        ? { done: true, value: undefined }
        : { done: false, value: change(step.value) };
    },
  };
}
