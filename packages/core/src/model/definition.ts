/**
 * A compiled DAG: plain JSON, the same bytes for the same code on every machine.
 *
 * Durations are whole milliseconds, instants ISO 8601 text in UTC. The version of a DAG is a hash of the canonical
 * form (sorted keys) of this object without `version`. The schema is documented in docs/definition.md.
 */

import type { Schedule } from '../time/schedule/schedule.js';

export const definitionSchema = 1;

export interface DagDefinition {
  readonly schema: typeof definitionSchema;
  readonly id: string;
  readonly description?: string;
  /** Absent: the DAG runs on demand only. */
  readonly schedule?: Schedule;
  readonly misfire: MisfirePolicy;
  /** What a resume owes for fires inside the pause. */
  readonly onResume: 'skip' | 'latest' | 'all';
  readonly overlap: 'queue' | 'skip' | 'cancel-previous' | 'allow';
  readonly maxActiveRuns: number;
  readonly maxQueuedRuns: number;
  /** Absent: nothing is expected. Counted from when a run is due; `durationMs` from its start. */
  readonly expectWithin?: ExpectWithin;
  /** How long finished runs, and log lines, are kept. */
  readonly retention: { readonly runsMs: number; readonly logsMs: number };
  /** In topological order, ties by id. */
  readonly jobs: readonly JobDefinition[];
}

export interface MisfirePolicy {
  readonly policy: 'catch-up' | 'coalesce' | 'skip';
  /** Absent: the lesser of 60 s and half the time to the next fire. */
  readonly graceMs?: number;
  readonly maxCatchUp: number;
  /** Absent: no limit on how far back a catch-up reaches. */
  readonly windowMs?: number;
  /** Least time between the starts of catch-up runs. Absent: none. */
  readonly spacingMs?: number;
}

/** At least one of them. */
export interface ExpectWithin {
  readonly startMs?: number;
  readonly finishMs?: number;
  readonly durationMs?: number;
}

export interface JobDefinition {
  readonly id: string;
  readonly description?: string;
  /** Job ids, in the order in which their results become arguments. */
  readonly dependsOn: readonly string[];
  /** DAG id / job id / hash of the ordered dependencies: what a runner must have to run it. */
  readonly serveKey: string;
  readonly queue: string;
  /** Higher first. -100 to 100, default 0. */
  readonly priority: number;
  readonly retry: RetryPolicy;
  readonly timeoutMs: number;
  /** `fail`: a task whose runner was lost must not start twice. */
  readonly onLost: 'retry' | 'fail';
  /** The loss with this number fails the task. */
  readonly maxLost: number;
  /** True: a failure of this job does not fail the run (its dependents are still upstream-failed). */
  readonly allowFailure: boolean;
}

export interface RetryPolicy {
  /** Counts the first try. */
  readonly attempts: number;
  readonly backoff: BackoffPolicy;
  /** Names of the only error classes that are retried; absent: all. The classes themselves are the runner's to know. */
  readonly retryOn?: readonly string[];
  /** Names of the error classes that are never retried. */
  readonly abortOn?: readonly string[];
}

export interface BackoffPolicy {
  readonly type: 'fixed' | 'linear' | 'exponential';
  readonly delayMs: number;
  readonly maxMs: number;
  readonly factor: number;
  readonly jitter: 'none' | 'full' | 'equal';
}
