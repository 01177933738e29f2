import type { ExpectationKind, MissedExpectation } from '../../model/expectation.js';

export interface NoticeResult {
  /** Expectations that this call was the first to see missed. */
  readonly noticed: number;
  /** More runs may be waiting for a look. */
  readonly more: boolean;
}

export type MissedFilter =
  | { readonly dagId: string; readonly limit?: number }
  | { readonly runId: string; readonly limit?: number };

export interface ExpectationVerbs {
  /**
   * Judges what runs were expected to do by now, by the database's clock, of at most `limit` runs. Each missed expectation
   * is recorded once, whoever calls, twice, or dies in it.
   */
  noticeMissed(limit: number): Promise<NoticeResult>;
  /** Newest first. */
  listMissed(filter: MissedFilter): Promise<MissedExpectation[]>;
  countMissed(dagId: string): Promise<Partial<Record<ExpectationKind, number>>>;
  /** Records that were not told to anybody yet, the oldest first. */
  listUnannounced(limit: number): Promise<MissedExpectation[]>;
  /** Notes that a record was told. False when it was noted before. Telling comes first, so it may be told twice. */
  markAnnounced(id: string): Promise<boolean>;
}
