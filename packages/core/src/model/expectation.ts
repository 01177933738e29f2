/** What a DAG's runs are expected to do in time, and what is kept when one does not. */

export const expectationKinds = ['start', 'finish', 'duration'] as const;
/** `start`: its first task started; `finish`: it succeeded; `duration`: it was over so long after it started. */
export type ExpectationKind = (typeof expectationKinds)[number];

/** An expectation that was not met: kept once for each run and kind, or for each stretch of fires that never became runs. */
export interface MissedExpectation {
  /** Unique: what, and of which run or fire. */
  readonly id: string;
  readonly dagId: string;
  readonly kind: ExpectationKind;
  /** Null for fires that never became a run. */
  readonly runId: string | null;
  /** Of the run, or of the first of the fires; null for a run without one. */
  readonly logicalDate: Date | null;
  /** How many fires it is about: more than 1 for a stretch that never became runs. */
  readonly count: number;
  /** When it should have happened. */
  readonly expectedBy: Date;
  /** When a leader noticed, by the database's clock. */
  readonly missedAt: Date;
}
