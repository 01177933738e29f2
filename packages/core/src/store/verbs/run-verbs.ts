import type { DataInterval, Run, RunView } from '../../model/run.js';
import type { Cause, RunState } from '../../model/states.js';
import type { FreshTask } from './task-verbs.js';

export interface CreateRunParams {
  readonly dagId: string;
  /** Absent: the DAG's current version. */
  readonly version?: string;
  /** From dateSlot, keySlot or uniqueSlot. Absent: a unique one. */
  readonly slot?: string;
  readonly cause: Cause;
  readonly logicalDate?: Date;
  readonly dataInterval?: DataInterval;
  readonly generation?: number;
  readonly coalesced?: number;
  readonly backfillId?: string;
  /** Only these jobs run; the results that they need of others are those of the run `source`. Absent: all of them. */
  readonly part?: { readonly jobs: string[]; readonly source: string | null };
  readonly params?: unknown;
  /** The run takes no place before this instant of the database's clock. */
  readonly notBefore?: Date;
  /** Instead of `notBefore`: this long after the database's now. */
  readonly delayMs?: number;
  readonly reason?: string;
  /** When the oldest fire of the run was due: what `expectWithin` counts from. Absent: when the run itself is due. */
  readonly expectFrom?: Date;
}

export interface CreateRunResult {
  readonly runId: string;
  /** False: the slot was taken; `runId` is the run that has it (its documents may be pruned already). */
  readonly created: boolean;
}

export interface RunFilter {
  readonly dagId?: string;
  readonly state?: readonly RunState[];
  readonly cause?: readonly Cause[];
  readonly backfillId?: string;
  readonly logicalFrom?: Date;
  readonly logicalTo?: Date;
  readonly limit?: number;
  /** Runs older than this id (they sort by time), for paging. */
  readonly before?: string;
}

export interface RetryResult {
  readonly runId: string;
  readonly dagId: string;
  readonly backfillId: string | null;
  /** The jobs whose tasks run again, in topological order. */
  readonly jobs: readonly string[];
}

export interface RunVerbs {
  /** Inserts run and tasks and marks the run materialised; repeatable after a death between any two writes. */
  createRun(params: CreateRunParams): Promise<CreateRunResult>;
  /** Completes runs whose creator died, older than `olderThanMs`. Returns how many. */
  finishHalfMadeRuns(olderThanMs: number): Promise<number>;
  /**
   * Gives places to queued runs of one DAG as its overlap rules allow and makes their root tasks ready. Every cause
   * goes through here. Returns the ids of the runs admitted by this call. Refused fires go to `fires`.
   * `only` is for whoever has just made a run and wants no more than that it starts: under `overlap: 'allow'` nothing
   * but that run is looked at. Elsewhere runs still come in their turn.
   */
  admitRuns(dagId: string, only?: string): Promise<string[]>;
  /**
   * {@link RunVerbs.admitRuns} for many DAGs, each step for all of them in one operation. `onReady` is told which tasks can be
   * claimed, by name where the names are known, before the admission is marked as done.
   */
  admitDags(
    dagIds: readonly string[],
    onReady?: (tasks?: readonly FreshTask[]) => void,
  ): Promise<string[]>;
  /**
   * DAGs that have a materialised queued run whose `notBefore` has passed: the next `limit` of them, by id, from behind `after`
   * on and round again. Many runs wait for long, so whoever goes through more DAGs than one call answers with begins each call
   * where the last one ended. Without `after`: from the first one on.
   */
  findDagsWithQueuedRuns(limit: number, after?: string): Promise<string[]>;
  /** Checks every id in every `activeRunIds` (DAGs and backfills): closed or gone, pulled; still queued, admission completed. */
  repairPlaces(): Promise<number>;

  getRun(runId: string): Promise<Run | null>;
  /** With its tasks in topological order and all attempts. */
  viewRun(runId: string): Promise<RunView | null>;
  /** Newest first. */
  listRuns(filter: RunFilter): Promise<Run[]>;
  countRuns(dagId: string): Promise<Partial<Record<RunState, number>>>;

  /**
   * Requests cancellation (design 8) and carries it out as far as it can: waiting tasks are cancelled, running ones
   * flagged. Idempotent. Returns the state seen after.
   * Throws NotFoundError; a closed run is `closed: true` and nothing is written.
   */
  cancelRun(
    runId: string,
    reason?: string,
  ): Promise<{ readonly state: RunState; readonly closed: boolean }>;
  /**
   * Opens a closed run again and takes some of its tasks back to the start: those named in `jobs`, else all that failed, were
   * cancelled or could not run; with everything downstream of them that did not succeed, and with `downstream` also what did.
   * The run is then queued; admission starts it. Throws NotFoundError (run, job), ConflictError for an open run, one with
   * nothing to retry, one that is removed within a day, or one whose backfill was cancelled.
   */
  retryRun(
    runId: string,
    selection?: { readonly jobs?: readonly string[]; readonly downstream?: boolean },
  ): Promise<RetryResult>;
  /** Completes retries whose caller died. Returns how many. */
  finishRetries(): Promise<number>;
  /** Goes on with every requested cancellation that still has open tasks. */
  continueCancels(): Promise<number>;
}
