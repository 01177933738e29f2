import type { Collection } from '../storage/collection.js';
import type { RecordId } from '../storage/ordered-index.js';
import type { Doc } from '../values/value.js';
import { mayRepeat, openPlan } from './open-plan.js';
import type { Plan } from './plan.js';
import type { Scan, ScanStats } from './scan.js';
import { newStats } from './scan.js';

/** A document with its place in the collection. */
export interface Found {
  readonly recordId: RecordId;
  readonly document: Doc;
}

/** The documents that a plan finds and a filter matches, in the order of the plan. */
export class DocumentScan {
  readonly stats: ScanStats = newStats();
  readonly #scan: Scan;
  readonly #seen: Set<RecordId> | null;

  constructor(
    readonly collection: Collection,
    readonly plan: Plan,
    readonly matches: (document: Doc) => boolean,
  ) {
    this.#scan = openPlan(collection, plan, this.stats);
    this.#seen = mayRepeat(plan) ? new Set() : null;
  }

  next(): Found | null {
    for (;;) {
      const recordId = this.#scan.next();
      if (recordId === null) return null;
      if (this.#seen !== null) {
        if (this.#seen.has(recordId)) continue;
        this.#seen.add(recordId);
      }
      const document = this.collection.records.get(recordId);
      if (document === undefined) continue;
      this.stats.documentsExamined += 1;
      if (this.matches(document)) return { recordId, document };
    }
  }

  /** Must be called before others may write; `next` goes on behind the last document. */
  pause(): void {
    this.#scan.pause();
  }

  /** All that are left. */
  toArray(): Found[] {
    const out: Found[] = [];
    for (let found = this.next(); found !== null; found = this.next()) out.push(found);
    return out;
  }
}
