import type { DataInterval } from '../model/run.js';
import type { Cause } from '../model/states.js';

/** Lines that are kept with the attempt; `data` is any value that can be stored. Never throws, never waits. */
export interface JobLog {
  debug(message: string, data?: unknown): void;
  info(message: string, data?: unknown): void;
  warn(message: string, data?: unknown): void;
  error(message: string, data?: unknown): void;
}

/**
 * What a job's `run` is told about the attempt it is. `Params` is the type of the run's params; the type is a promise of
 * the code that triggers, nothing checks it at run time.
 */
export interface JobContext<Params = unknown> {
  readonly runId: string;
  /** The id of the DAG. */
  readonly dag: string;
  /** The id of the job. */
  readonly job: string;
  /** From 1; grows with each start, whatever ended the one before. */
  readonly attempt: number;
  /** `retry.attempts`: how many attempts may fail. */
  readonly maxAttempts: number;
  /** The instant that the schedule names; null for a run without one. */
  readonly logicalDate: Date | null;
  /** `[from, to)`: the time that this run stands for; null for a run without a logical date. */
  readonly dataInterval: DataInterval | null;
  /** Why the run exists. */
  readonly cause: Cause;
  readonly params: Params;
  /** Aborts on timeout, cancel, a lost lease and shutdown; `reason` says which (a TaskError). */
  readonly signal: AbortSignal;
  readonly log: JobLog;
  /** The same for all attempts of the task: hand it to systems that can recognise a repetition. */
  readonly idempotencyKey: string;
  /** Grows with each attempt: a system that remembers the highest one can refuse a late writer. */
  readonly fence: number;
  /** Tells how far the attempt is, 0 to 1, with a short note. Cheap; only the newest is kept. */
  progress(fraction: number, note?: string): void;
}
