/**
 * What each session did under its newest transaction number, so that a repeated write is answered and not done again.
 * Records are stored in the same disk batch as the writes that they tell of.
 */
import { decodeDocument } from '../values/decode.js';
import { encodeDocument } from '../values/encode.js';
import { type Doc, Long, type Value } from '../values/value.js';
import type { DiskChange } from './disk/disk-change.js';

/** How a session's newest transaction number was used. */
export type RetryKind = 'write' | 'transaction';

/** One session's record. */
export interface RetryRecord {
  readonly txnNumber: bigint;
  readonly kind: RetryKind;
  /** Results of retryable writes by statement id. */
  readonly statements: Map<number, Doc>;
  /** Of a transaction: whether it was committed (otherwise it was aborted or is open). */
  committed: boolean;
  lastUsedMs: number;
}

/** All sessions' records by the session's key. */
export class RetryRecords {
  readonly #records = new Map<string, RetryRecord>();

  get(session: string): RetryRecord | undefined {
    return this.#records.get(session);
  }

  /** Starts a new number for a session; forgets what it did under older ones. */
  begin(session: string, txnNumber: bigint, kind: RetryKind, nowMs: number): RetryRecord {
    const record: RetryRecord = {
      txnNumber,
      kind,
      statements: new Map(),
      committed: false,
      lastUsedMs: nowMs,
    };
    this.#records.set(session, record);
    return record;
  }

  /** Appends the session's record as it is now to what goes to disk. */
  store(session: string, stored: DiskChange[]): void {
    const record = this.#records.get(session);
    if (record === undefined) return;
    const value = encodeDocument(
      new Map<string, Value>([
        ['txnNumber', Long.fromBigInt(record.txnNumber)],
        ['kind', record.kind],
        ['committed', record.committed],
        ['lastUsedMs', record.lastUsedMs],
        [
          'statements',
          [...record.statements].map(
            ([id, result]) =>
              new Map<string, Value>([
                ['id', id],
                ['result', result],
              ]),
          ),
        ],
      ]),
    );
    stored.push({ table: 'retries', key: session, value });
  }

  /** Takes a record from disk at start-up. */
  load(session: string, bytes: Uint8Array): void {
    const stored = decodeDocument(bytes);
    const statements = new Map<number, Doc>();
    for (const entry of stored.get('statements') as Doc[]) {
      statements.set(entry.get('id') as number, entry.get('result') as Doc);
    }
    this.#records.set(session, {
      txnNumber: (stored.get('txnNumber') as Long).toBigInt(),
      kind: stored.get('kind') as RetryKind,
      committed: stored.get('committed') === true,
      lastUsedMs: stored.get('lastUsedMs') as number,
      statements,
    });
  }

  /** Forgets sessions that were last used before `beforeMs`. */
  expire(beforeMs: number, stored: DiskChange[]): void {
    for (const [session, record] of this.#records) {
      if (record.lastUsedMs >= beforeMs) continue;
      this.#records.delete(session);
      stored.push({ table: 'retries', key: session, value: null });
    }
  }
}
