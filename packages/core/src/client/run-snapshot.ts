import type { ExpectationKind } from '../model/expectation.js';
import type {
  Attempt,
  AttemptLoss,
  DataInterval,
  Run,
  RunView,
  StoredError,
  Task,
} from '../model/run.js';
import type { AttemptOutcome, Cause, RunState, TaskState } from '../model/states.js';

/** A run as application code sees it; its JSON is what `flow runs --json` prints. Instants are UTC. */
export interface RunSnapshot {
  readonly id: string;
  readonly dag: string;
  readonly version: string;
  readonly state: RunState;
  readonly cause: Cause;
  readonly logicalDate: Date | null;
  readonly dataInterval: DataInterval | null;
  readonly params: unknown;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly generation: number;
  /** How many fires this run stands for. */
  readonly coalesced: number;
  readonly backfill: string | null;
  /** The only jobs that run, when the run is one of a part of its graph; null: all of them. */
  readonly jobs: readonly string[] | null;
  readonly reason: string | null;
  readonly cancelRequestedAt: Date | null;
  /** The run takes no place before this. */
  readonly notBefore: Date | null;
  /** What `expectWithin` expected of it and did not happen in time. */
  readonly missed: readonly ExpectationKind[];
  /** In topological order. */
  readonly tasks: readonly TaskSnapshot[];
}

export interface TaskSnapshot {
  readonly job: string;
  readonly state: TaskState;
  readonly attempts: readonly AttemptSnapshot[];
  /** Jobs that have to end first. */
  readonly waitingFor: readonly string[];
  readonly progress: { readonly fraction: number; readonly note: string | null } | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly error: StoredError | null;
  /** Attempts that ended `failed`, which `retry.attempts` bounds. */
  readonly failures: number;
  /** Attempts that ended `lost`; `maxLost` of them fail the task. */
  readonly losses: number;
  readonly maxLost: number;
}

export interface AttemptSnapshot {
  /** From 1. */
  readonly n: number;
  /** Null while it runs. */
  readonly outcome: AttemptOutcome | null;
  readonly runner: string;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  readonly error: StoredError | null;
  /** What is known of a lost attempt; null for others. */
  readonly loss?: AttemptLoss;
}

/** A stored run in the public shape, without its tasks: what a list of runs shows. */
export function runFacts(run: Run): Omit<RunSnapshot, 'tasks'> {
  return {
    id: run.id,
    dag: run.dagId,
    version: run.version,
    state: run.state,
    cause: run.cause,
    logicalDate: run.logicalDate,
    dataInterval: run.dataInterval,
    params: run.params ?? null,
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    generation: run.generation,
    coalesced: run.coalesced,
    backfill: run.backfillId,
    jobs: run.jobs,
    reason: run.reason,
    cancelRequestedAt: run.cancelRequestedAt,
    notBefore: run.notBefore,
    missed: run.missed,
  };
}

/** A stored run in the public shape. */
export function runSnapshot(run: RunView): RunSnapshot {
  return { ...runFacts(run), tasks: run.tasks.map(taskSnapshot) };
}

function taskSnapshot(task: Task): TaskSnapshot {
  return {
    job: task.jobId,
    state: task.state,
    attempts: task.attempts.map(attemptSnapshot),
    waitingFor: task.waitingFor,
    progress: task.progress,
    startedAt: task.startedAt,
    endedAt: task.endedAt,
    error: task.error,
    failures: task.failures,
    losses: task.losses,
    maxLost: task.maxLost,
  };
}

function attemptSnapshot(attempt: Attempt): AttemptSnapshot {
  const { n, outcome, runner, startedAt, endedAt, error, loss } = attempt;
  const told = { n, outcome, runner, startedAt, endedAt, error };
  return loss === null ? told : { ...told, loss };
}
