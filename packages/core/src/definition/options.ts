/** What a user may write in `@Job({ ... })` and `@Dag({ ... })`. Durations are text: `'250ms'`, `'30s'`, `'1h30m'`, `'PT5M'`. */

import type { ScheduleInput } from '../time/schedule/schedule-input.js';
import type { DagClass } from './job-types.js';

/** An error class for `retryOn` and `abortOn`. */
export type ErrorClass = abstract new (...args: never[]) => object;

/** What happens to fires that nobody turned into a run in time. */
export interface MisfireOptions {
  /** Default `coalesce`: one run for all of them. */
  readonly policy?: 'catch-up' | 'coalesce' | 'skip';
  /** How late a fire may be and still run as if on time. Default: the lesser of 60 s and half the time to the next fire. */
  readonly grace?: string;
  /** `catch-up` only: at most this many of the newest. Default 100. */
  readonly maxCatchUp?: number;
  /** `catch-up` only: how far back it reaches. Default: no limit. */
  readonly window?: string;
  /** Least time between the starts of two catch-up runs. Default: none but what `maxActiveRuns` gives. */
  readonly spacing?: string;
}

/**
 * What runs are expected to do in time. A run that does not is never touched: the leader records it, tells the hooks of the
 * runner, and `flow show` names it.
 */
export interface ExpectOptions {
  /** Its first task has started, so long after the run was due. */
  readonly start?: string;
  /** It has succeeded, so long after it was due. */
  readonly finish?: string;
  /** It is over, so long after it started. */
  readonly duration?: string;
}

/** How long finished runs and log lines are kept. */
export interface RetentionOptions {
  /** Default `'30d'`. */
  readonly runs?: string;
  /** Default `'7d'`. */
  readonly logs?: string;
}

/** The delay before the next attempt. */
export interface BackoffOptions {
  /** Default `exponential`. */
  readonly type?: 'fixed' | 'linear' | 'exponential';
  /** Before the second attempt. Default `'1s'`. */
  readonly delay?: string;
  /** The delay never grows above this. Default `'1h'`, or `delay` where that is more. */
  readonly max?: string;
  /** `exponential` only: the growth per attempt. Default 2. */
  readonly factor?: number;
  /** `full`: between 0 and the delay; `equal`: between half and all of it. Default `none`. */
  readonly jitter?: 'none' | 'full' | 'equal';
}

/** Whether and when a failed attempt is followed by another. */
export interface RetryOptions {
  /** Counts the first try: 1 (the default) means no retry. */
  readonly attempts?: number;
  readonly backoff?: BackoffOptions;
  /** Only these errors are retried. Default: all. */
  readonly retryOn?: readonly ErrorClass[];
  /** These errors are not retried, whatever `retryOn` says. */
  readonly abortOn?: readonly ErrorClass[];
}

/** Options of a whole graph: on `@Dag`, or on one root `@Job`. */
export interface GraphOptions {
  /** Absent: the DAG runs on demand only. */
  readonly schedule?: ScheduleInput;
  /** A policy, or a policy with its limits. Default `coalesce`. */
  readonly misfire?: 'catch-up' | 'coalesce' | 'skip' | MisfireOptions;
  /** What a scheduled fire does while earlier runs are active. Default `queue`. */
  readonly overlap?: 'queue' | 'skip' | 'cancel-previous' | 'allow';
  /** Default 1. */
  readonly maxActiveRuns?: number;
  /** How many scheduled fires may wait under `overlap: 'queue'`. Default 100. */
  readonly maxQueuedRuns?: number;
  /** What a resume owes for fires inside the pause. Default `skip`. */
  readonly onResume?: 'skip' | 'latest' | 'all';
  /** Default: nothing is expected. */
  readonly expectWithin?: ExpectOptions;
  readonly retention?: RetentionOptions;
}

/** Options of `@Dag`. */
export interface DagOptions extends GraphOptions {
  /** Default: the class name in kebab-case. Changing it makes another DAG. */
  readonly id?: string;
  readonly description?: string;
}

/** Options of `@Job`. The graph's own ({@link GraphOptions}) are legal on a root job only. */
export interface JobOptions<Dag extends DagClass = DagClass> extends GraphOptions {
  /** Default: the class name in kebab-case. */
  readonly id?: string;
  readonly description?: string;
  /** The `@Dag` class this job belongs to. Default: the DAG of its dependencies, or a DAG of its own. */
  readonly dag?: Dag;
  readonly retry?: RetryOptions;
  /** How long one attempt may take. Default `'1h'`. */
  readonly timeout?: string;
  /** Which runners' queue. Default `default`. */
  readonly queue?: string;
  /** -100 to 100, higher first. Default 0. */
  readonly priority?: number;
  /** `fail`: a task whose runner was lost must not start twice. Default `retry`. */
  readonly onLost?: 'retry' | 'fail';
  /** The loss with this number fails the task. Default 3. */
  readonly maxLost?: number;
  /** A failure of this job does not fail the run. Default false. */
  readonly allowFailure?: boolean;
}
