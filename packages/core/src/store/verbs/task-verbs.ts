import type { TransactionWork } from '../../definition/transaction-work.js';
import type { DataInterval, StoredError, Task } from '../../model/run.js';
import type { AttemptOutcome, Cause, TaskState } from '../../model/states.js';

/** A task as its new holder needs it: everything that building a JobContext takes, in the claim's one reply. */
export interface ClaimedTask {
  readonly taskId: string;
  readonly runId: string;
  readonly dagId: string;
  readonly version: string;
  readonly jobId: string;
  readonly serveKey: string;
  /** The fence; grows with each grant and never goes back. */
  readonly token: number;
  /** From 1, this attempt included. */
  readonly attempt: number;
  /** Attempts that ended `failed` before this one. */
  readonly failures: number;
  readonly losses: number;
  readonly generation: number;
  readonly cause: Cause;
  readonly logicalDate: Date | null;
  readonly dataInterval: DataInterval | null;
}

export interface ClaimParams {
  readonly runnerId: string;
  readonly serveKeys: readonly string[];
  readonly leaseMs: number;
  /** Never more than the free slots. */
  readonly limit: number;
  /** Only these tasks, which the runner serves: the fast path for what this process made ready itself. */
  readonly fresh?: readonly FreshTask[];
}

/** A task that has just been made ready for the first time, with all that its first claim answers. */
export type FreshTask = Omit<
  ClaimedTask,
  'token' | 'attempt' | 'failures' | 'losses' | 'generation'
>;

export interface HeldLease {
  readonly taskId: string;
  readonly token: number;
}

export interface RenewResult {
  /** No longer ours: abort. */
  readonly lost: readonly string[];
  /** Ours, with cancellation requested: abort with TaskCancelledError. */
  readonly cancelRequested: readonly string[];
}

/** What became of an attempt. `retry` names the delay; the store turns it into a database instant. */
export type FinishOutcome =
  | { readonly kind: 'succeeded'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly error: StoredError }
  | { readonly kind: 'retry'; readonly error: StoredError; readonly delayMs: number }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'returned'; readonly reason: string }
  | { readonly kind: 'cancelled'; readonly error: StoredError };

export interface FinishParams {
  readonly taskId: string;
  readonly runnerId: string;
  readonly token: number;
  readonly attempt: number;
  readonly outcome: FinishOutcome;
}

export interface FinishResult {
  readonly state: TaskState;
  readonly outcome: AttemptOutcome;
  /** True when the write had been applied before and only its answer was lost. */
  readonly repeated: boolean;
}

/** The attempt that commits; its outcome is a success. */
export interface CommitParams {
  readonly taskId: string;
  readonly runnerId: string;
  readonly token: number;
  readonly attempt: number;
  /** Called before each run of the work; what it throws aborts the transaction and is passed on. */
  readonly beforeEach?: () => void;
}

export interface CommitResult<T> {
  readonly value: T;
  /** True when the commit had been applied and only its answer was lost. */
  readonly repeated: boolean;
}

/** A finished step of a task: see `ctx.once`. */
export interface Step {
  readonly name: string;
  readonly value: unknown;
}

/** A task as the write that closed it left it. */
export interface ClosedTask {
  readonly runId: string;
  readonly dagId: string;
  readonly version: string;
  readonly jobId: string;
  readonly state: TaskState;
  readonly generation: number;
}

export interface RescuedTask {
  readonly taskId: string;
  readonly runnerId: string;
  readonly state: TaskState;
}

export interface TaskVerbs {
  /**
   * Takes up to `limit` ready tasks that the serve keys cover: `ready -> running`, lease with token + 1, attempt + 1,
   * guarded by state, expiry by the database's clock. Rotates over the pools that hold such work.
   */
  claimTasks(params: ClaimParams): Promise<ClaimedTask[]>;
  /** Params of the run and results of the dependencies, in the order of `dependsOn`. */
  readInputs(
    runId: string,
    dependsOn: readonly string[],
  ): Promise<{ readonly params: unknown; readonly results: unknown[] }>;
  /** One updateMany on exactly these ids and tokens; then, where fewer matched, one indexed find. */
  renewLeases(runnerId: string, held: readonly HeldLease[], leaseMs: number): Promise<RenewResult>;
  /**
   * Ends an attempt, fenced by state, holder and token. Under a cancel flag everything but a success ends `cancelled`.
   * Throws LeaseLostError when the token is stale; PayloadError for a result that cannot be stored (nothing written).
   * Does not propagate: call {@link TaskVerbs.propagate} next.
   */
  finishAttempt(params: FinishParams): Promise<FinishResult>;
  /**
   * Runs `work` and the fenced success of the attempt, with what `work` returned as its result, in one transaction. Throws
   * NoTransactionsError on a standalone server, LeaseLostError when the token is stale, PayloadError, and what `work`
   * throws as it is: nothing is written then. After a retryable StoreError the commit may have been applied; the call may be
   * repeated, and answers with the stored result if it was. The lease must not be renewed meanwhile. Does not propagate.
   */
  commitAttempt<T>(params: CommitParams, work: TransactionWork<T>): Promise<CommitResult<T>>;
  /** Steps that attempts of the task's present generation have finished. Throws LeaseLostError when the token is stale. */
  readSteps(lease: HeldLease, runnerId: string): Promise<Step[]>;
  /**
   * Stores the value of a finished step with the task, fenced by state, holder and token. Repeating it is no second
   * write. Throws LeaseLostError; PayloadError for a value that cannot be stored, or when the steps of the task together
   * exceed the limit of one payload or 1,000; ConflictError when another attempt has stored that name.
   */
  saveStep(lease: HeldLease, runnerId: string, step: Step): Promise<void>;
  /**
   * Tells the dependents of a closed task, decides them, closes the run if nothing is open, releases its place, and
   * only then marks the task `propagated`. Repeatable after a death at any point.
   * Returns ids of tasks that became ready, and whether the run closed. `closed` is what the caller's own write has just made of
   * the task; without it the task is read.
   */
  propagate(
    taskId: string,
    closed?: ClosedTask,
  ): Promise<{ readonly ready: readonly string[]; readonly runClosed: boolean }>;
  /** Pays marks `propagated: false` older than `olderThanMs` by the database's clock, whoever lives. Returns how many. */
  payPropagation(olderThanMs: number): Promise<number>;
  /** `delayed -> ready` for every task whose instant has come by the database's clock. Returns how many. */
  promoteDelayed(): Promise<number>;
  /** The earliest `delayedUntil` among tasks with these serve keys. */
  earliestDelayed(serveKeys: readonly string[]): Promise<Date | null>;
  /**
   * Ends attempts whose lease has expired by the database's clock as `lost`: back to `ready`, or `failed` by onLost,
   * maxLost; `cancelled` under a cancel flag. Holds back while no stored heartbeat is younger than `leaseMs`.
   * Guarded by state and token, so that two rescuers count one loss.
   */
  rescueExpired(leaseMs: number): Promise<RescuedTask[]>;
  /** The same at once for all tasks of a runner that the caller has proved dead. */
  rescueRunner(runnerId: string): Promise<RescuedTask[]>;
  /** Fraction in [0, 1]; guarded by holder and token; a stale token is a no-op. */
  reportProgress(
    lease: HeldLease,
    runnerId: string,
    fraction: number,
    note?: string,
  ): Promise<void>;
  getTask(taskId: string): Promise<Task | null>;
  /** Ready tasks, by serve key, that no live runner serves; for "no runner knows X". */
  findUnserved(limit: number): Promise<{ readonly serveKey: string; readonly count: number }[]>;
}
