/** The JSON of `--json`: part of the public API, documented in docs/cli.md. Instants are ISO 8601 text in UTC. */
import type {
  Attempt,
  Backfill,
  DataInterval,
  FireRecord,
  FireView,
  Run,
  RunView,
  StoredError,
  Task,
} from '@flowline/core/internal';

export interface AttemptJson {
  readonly n: number;
  readonly outcome: string | null;
  readonly runner: string;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  readonly error: StoredError | null;
}

export interface TaskJson {
  readonly job: string;
  readonly state: string;
  readonly attempts: readonly AttemptJson[];
  readonly waitingFor: readonly string[];
  readonly progress: Task['progress'];
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly error: StoredError | null;
}

export interface RunJson {
  readonly id: string;
  readonly dag: string;
  readonly version: string;
  readonly state: string;
  readonly cause: string;
  readonly logicalDate: Date | null;
  readonly dataInterval: DataInterval | null;
  readonly params: unknown;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly generation: number;
  readonly coalesced: number;
  readonly backfill: string | null;
  readonly reason: string | null;
  readonly cancelRequestedAt: Date | null;
  readonly notBefore: Date | null;
  readonly tasks?: readonly TaskJson[];
}

/** A run; with its tasks when it comes with them. */
export function runJson(run: Run | RunView): RunJson {
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
    reason: run.reason,
    cancelRequestedAt: run.cancelRequestedAt,
    notBefore: run.notBefore,
    ...('tasks' in run ? { tasks: run.tasks.map(taskJson) } : {}),
  };
}

export function taskJson(task: Task): TaskJson {
  return {
    job: task.jobId,
    state: task.state,
    attempts: task.attempts.map(attemptJson),
    waitingFor: task.waitingFor,
    progress: task.progress,
    startedAt: task.startedAt,
    endedAt: task.endedAt,
    error: task.error,
  };
}

function attemptJson({ n, outcome, runner, startedAt, endedAt, error }: Attempt): AttemptJson {
  return { n, outcome, runner, startedAt, endedAt, error };
}

/** A backfill: `{ id, dag, version, from, to, state, total, ... }`, and what was asked for. */
export function backfillJson(backfill: Backfill) {
  return {
    id: backfill.id,
    dag: backfill.dagId,
    version: backfill.version,
    from: backfill.from,
    to: backfill.to,
    state: backfill.state,
    total: backfill.total,
    succeeded: backfill.succeeded,
    failed: backfill.failed,
    cancelled: backfill.cancelled,
    skipped: backfill.skipped,
    running: backfill.running,
    queued: backfill.queued,
    maxActive: backfill.maxActive,
    order: backfill.order,
    reprocess: backfill.reprocess,
    params: backfill.params ?? null,
    reason: backfill.reason,
    createdAt: backfill.createdAt,
    endedAt: backfill.endedAt,
  };
}

/** A coming fire: `{ logicalDate, local, dataInterval, note }`. */
export function nextFireJson({
  logicalDate,
  local,
  dataInterval,
  note,
}: FireView): Omit<FireView, 'isExcluded'> {
  return { logicalDate, local, dataInterval, note };
}

/** A fire, or a span of fires, that did not become a run of its own. */
export function fireJson({ dagId, from, to, count, reason, runId, at }: FireRecord) {
  return { dag: dagId, from, to, count, reason, run: runId, at };
}

/** JSON text with what a plain JSON.stringify cannot write: bigint as text of digits, bytes as base64. */
export function toJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, inner: unknown) => {
      if (typeof inner === 'bigint') return inner.toString();
      if (inner instanceof Uint8Array) return Buffer.from(inner).toString('base64');
      return inner;
    },
    2,
  );
}
