import type { ExpectationKind } from './expectation.js';
import type {
  AttemptOutcome,
  BackfillState,
  Cause,
  FireReason,
  RunState,
  TaskState,
} from './states.js';

/** `[from, to)`, UTC. */
export interface DataInterval {
  readonly from: Date;
  readonly to: Date;
}

/** One execution of a DAG version. */
export interface Run {
  readonly id: string;
  readonly dagId: string;
  readonly version: string;
  readonly slot: string;
  readonly state: RunState;
  readonly cause: Cause;
  /** The instant that the schedule names; absent for manual and api runs without one. */
  readonly logicalDate: Date | null;
  readonly dataInterval: DataInterval | null;
  /** Which run of this logical date: 0 the first, more by reprocessing. */
  readonly generation: number;
  /** How many fires this run stands for; 1 unless coalesced. */
  readonly coalesced: number;
  readonly backfillId: string | null;
  /** The only jobs that run, when the run is one of a part of its graph; null: all of them. */
  readonly jobs: readonly string[] | null;
  readonly params: unknown;
  readonly priority: number;
  /** The run takes no place before this instant (`--at`, `--delay`). */
  readonly notBefore: Date | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly reason: string | null;
  readonly openEpoch: number;
  /** What was expected of it by `expectWithin` and did not happen in time. */
  readonly missed: readonly ExpectationKind[];
}

/** An error as it is kept in history: no class, no secrets, the stack cut at 4 KiB. */
export interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
}

/** What is known of an attempt that ended `lost`. */
export interface AttemptLoss {
  /** `lease-expired`: nobody renewed it; `runner-dead`: its process was proved gone. */
  readonly reason: 'lease-expired' | 'runner-dead';
  /** The last heartbeat of its runner, by the database's clock; null when its record was gone. */
  readonly lastHeartbeatAt: Date | null;
  /** How its process ended, where it could still say so: a signal, or that it was forced. */
  readonly exit: string | null;
  /** The last lines that the attempt logged, oldest first. */
  readonly lastLines: readonly {
    readonly at: Date;
    readonly level: LogLine['level'];
    readonly message: string;
  }[];
}

/** One try of a task, from 1. `outcome` is null while it runs. */
export interface Attempt {
  readonly n: number;
  readonly token: number;
  readonly runner: string;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  readonly outcome: AttemptOutcome | null;
  readonly error: StoredError | null;
  /** For `lost` only, else null. */
  readonly loss: AttemptLoss | null;
}

/** One job in one run. */
export interface Task {
  readonly id: string;
  readonly runId: string;
  readonly dagId: string;
  readonly jobId: string;
  readonly state: TaskState;
  readonly serveKey: string;
  /** Jobs that this task still waits for. */
  readonly waitingFor: readonly string[];
  readonly attempts: readonly Attempt[];
  /** How many attempts ended `failed`, and how many `lost`. */
  readonly failures: number;
  readonly losses: number;
  /** So many losses fail the task. */
  readonly maxLost: number;
  readonly token: number;
  readonly lease: Lease | null;
  /** When a delayed task becomes ready. */
  readonly delayedUntil: Date | null;
  readonly progress: { readonly fraction: number; readonly note: string | null } | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly error: StoredError | null;
  readonly generation: number;
}

/** The time-limited right to a task. `expiresAt` is the database's clock. */
export interface Lease {
  readonly runner: string;
  readonly token: number;
  readonly expiresAt: Date;
}

/** A run with its tasks, in topological order. */
export interface RunView extends Run {
  readonly tasks: readonly Task[];
}

/** A fire, or a span of at least two, that did not become a run of its own. */
export interface FireRecord {
  readonly dagId: string;
  /** First and last logical date; the same for one fire. */
  readonly from: Date;
  readonly to: Date;
  /** 0: nobody knows, since no schedule could tell the dates; `from` and `to` are the ends of that time then. */
  readonly count: number;
  readonly reason: FireReason;
  /** The run that stands for it (coalesced, overlap), when there is one. */
  readonly runId: string | null;
  readonly at: Date;
}

/** One line written by `ctx.log`, or by the runner about a task. */
export interface LogLine {
  readonly runId: string;
  readonly jobId: string;
  readonly attempt: number;
  /** Order within one attempt, from 0. */
  readonly seq: number;
  readonly at: Date;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly data?: unknown;
}

/** A runner process as the store knows it. */
export interface RunnerRecord {
  readonly id: string;
  readonly host: string;
  readonly bootId: string | null;
  /** The pid namespace, so that two containers on one host are told apart. */
  readonly pidNamespace: string | null;
  readonly pid: number;
  /** Start time of the process in clock ticks since boot, so that a reused pid is told apart. */
  readonly processStart: string | null;
  readonly serveKeys: readonly string[];
  readonly concurrency: number;
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
  /** `stopped`: it ended and left tasks behind; `exit` says how. A clean end removes the record. */
  readonly state: 'running' | 'draining' | 'stopped';
  readonly exit: string | null;
}

/** An operator-asked range of logical dates, and how far it is. */
export interface Backfill {
  readonly id: string;
  readonly dagId: string;
  readonly version: string;
  readonly from: Date;
  readonly to: Date;
  readonly state: BackfillState;
  readonly maxActive: number;
  readonly order: 'oldest' | 'newest';
  readonly reprocess: 'none' | 'failed' | 'all';
  /** The only jobs that run, in topological order; null: all of them. */
  readonly jobs: readonly string[] | null;
  readonly params: unknown;
  readonly reason: string | null;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  /** Dates in the range; `skipped` of them are left alone by the plan. */
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly skipped: number;
  readonly running: number;
  readonly queued: number;
  /** How long the runs took that closed last, in milliseconds: at most 50. */
  readonly durationsMs: readonly number[];
  /** When they closed, in the order of counting; none from before the last resume. */
  readonly recentEnds: readonly Date[];
  /** Dates that turned out to be nothing to run when their turn came, and why: the newest ones, at most 20. */
  readonly passedOver: readonly { readonly at: Date; readonly because: string }[];
}

/** A deployed DAG. */
export interface Dag {
  readonly id: string;
  readonly project: string;
  readonly version: string;
  /** `retired`: removed by `deploy --prune`; keeps its history, fires no more. */
  readonly state: 'active' | 'retired';
  readonly scheduleRev: number;
  readonly nextFireAt: Date | null;
  readonly pausedAt: Date | null;
  /** Why the schedule cannot be evaluated; null when it can. */
  readonly broken: string | null;
  readonly activeRunIds: readonly string[];
  readonly deployedAt: Date;
}
