import type { DataInterval } from '../model/run.js';
import type { Cause } from '../model/states.js';
import type { TransactionWork } from './transaction-work.js';

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
  /**
   * Ends this attempt with success in one transaction with your own MongoDB writes: they and the task's result appear
   * together or not at all. What `work` returns is the task's result and what this resolves with; what `run` returns
   * afterwards is ignored. `work` may run again when the database asks for it, and has to be over within the lease: the
   * lease is not renewed meanwhile, since a renewal would be a write conflict.
   *
   * Rejects with LeaseLostError when the task is not ours any more, NoTransactionsError on a standalone server,
   * UsageError when called again after it, PayloadError for a result that cannot be stored, and with what `work` throws;
   * nothing is written then, and the attempt goes on. A retryable StoreError means that the answer was lost: let it end
   * the attempt; the fence finds out whether it was applied.
   */
  commit<T>(work: TransactionWork<T>): Promise<T>;
  /**
   * Does something once per task: runs `work` and stores its value with the task, so that a later attempt gets the value
   * and does not do it again. Between the end of `work` and the write of its value an attempt can die; then it is done again.
   *
   * `name` is 1 to 200 characters and names the step within the job; concurrent calls with one name share one run. Values
   * are stored as results are, together at most as large as one result (1 MiB). Another generation of the task (a rerun
   * on purpose) begins without them. Rejects with LeaseLostError, PayloadError, OptionError for the name, and with what
   * `work` throws, which leaves nothing behind.
   */
  once<T>(name: string, work: () => T | Promise<T>): Promise<T>;
}
