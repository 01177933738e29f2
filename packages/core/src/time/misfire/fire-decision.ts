import type { DataInterval } from '../schedule/fires.js';
import type { Schedule } from '../schedule/schedule.js';
import type { FireLine, OpenLine, UnrunReason } from './fire-lines.js';
import type { PausedSpan } from './paused-spans.js';

/** The misfire policy of a DAG, in milliseconds. */
export interface MisfireRules {
  readonly policy: 'catch-up' | 'coalesce' | 'skip';
  /** Absent: the lesser of 60 s and half the time to the next fire. */
  readonly graceMs?: number;
  /** `catch-up`: at most so many of the newest misfires run. */
  readonly maxCatchUp: number;
  /** `catch-up`: misfires older than this expire. Absent: no limit. */
  readonly windowMs?: number;
  /** Least time between the starts of catch-up runs. Absent: none. */
  readonly spacingMs?: number;
}

export interface DecideFiresInput {
  readonly schedule: Schedule;
  readonly dagId: string;
  /** The cursor: the first logical date that nobody has decided on. */
  readonly nextFireAt: Date;
  /** The database's clock. */
  readonly now: Date;
  readonly misfire: MisfireRules;
  /** Ascending, not overlapping; an open one (`to: null`) last. Spans that ended before the cursor may be left out. */
  readonly pausedSpans?: readonly PausedSpan[];
  /** What fires inside a paused span become where the span itself says nothing. Default `skip`. */
  readonly onResume?: 'skip' | 'latest' | 'all';
  /** What the last batch left open; null or absent for the first. */
  readonly carry?: FireCarry | null;
  /**
   * The schedule ends at `now`: every date that has come is decided, also one whose jitter is not over, and what an open pause
   * holds of them. When a fire is due stays what it is: pauses and grace ask for that. Default false.
   */
  readonly isEnding?: boolean;
  /** No fire becomes a run: each that is not excluded is a line with this reason. */
  readonly instead?: UnrunReason;
  /** Fires in one batch; default 1,000. */
  readonly limit?: number;
}

/** A run to be made. */
export interface DecidedRun {
  readonly logicalDate: Date;
  readonly dataInterval: DataInterval;
  readonly cause: 'schedule' | 'catch-up';
  /** How many fires it stands for, itself included; 1 for an ordinary run. */
  readonly coalesced: number;
  /** When the oldest fire that it stands for was due; of one that a pause held back, when the pause ended. */
  readonly dueAt: Date;
  /** It must not start before this instant (catch-up runs that are spaced); null: at once. */
  readonly notBefore: Date | null;
}

export interface FireDecision {
  /** Oldest first. */
  readonly runs: readonly DecidedRun[];
  /** Fires without a run, oldest first. */
  readonly fires: readonly FireLine[];
  /** Where the cursor goes; null when the schedule is over. */
  readonly nextFireAt: Date | null;
  /** That fire is due so long after its logical date. */
  readonly nextJitterMs: number;
  /** To be stored with the cursor and given to the next call; null at rest. */
  readonly carry: FireCarry | null;
  /** More fires are due at this very `now`: call again. */
  readonly hasMore: boolean;
  /** The cursor stands inside an open pause: nothing to do until it is resumed. */
  readonly isPaused: boolean;
}

/** What one batch leaves open. Plain data, for the database. */
export interface FireCarry {
  /** Misfires folded into a coalesced run whose date is not reached yet. */
  readonly folding: {
    readonly from: Date;
    /** When the oldest of them was due. */
    readonly dueAt: Date;
    readonly newest: Date;
    readonly count: number;
  } | null;
  /** Misfires that were given a catch-up run since the cursor last stood at rest. */
  readonly caughtUp: number;
  /** Where the last spaced catch-up run may start. */
  readonly lastStartAt: Date | null;
  readonly line: OpenLine | null;
}
