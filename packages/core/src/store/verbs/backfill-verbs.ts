import type { Backfill, DataInterval } from '../../model/run.js';
import type { BackfillState } from '../../model/states.js';

export interface BackfillRequest {
  readonly dagId: string;
  /** Included. */
  readonly from: Date;
  /** Excluded. Absent, or later than the cursor: the cursor; later dates belong to the scheduler. */
  readonly to?: Date;
  readonly maxActive?: number;
  readonly order?: 'oldest' | 'newest';
  readonly reprocess?: 'none' | 'failed' | 'all';
  /** Only these jobs run; what they need of others is taken from the newest run of the date that has it. Absent: all. */
  readonly jobs?: readonly string[];
  /** With `jobs`: also everything downstream of them. */
  readonly downstream?: boolean;
  readonly params?: unknown;
  readonly reason?: string;
}

export interface PlannedDate {
  readonly logicalDate: Date;
  readonly dataInterval: DataInterval;
  readonly action: 'create' | 'rerun' | 'skip';
  /** Generation of the run to create; for `skip` that of the run that is there. */
  readonly generation: number;
  /** Why, in words, for `skip` and `rerun`. */
  readonly because: string | null;
  /** The run whose results a part of the graph takes; null where it needs none. */
  readonly source: string | null;
}

export interface BackfillPlan {
  readonly dagId: string;
  readonly version: string;
  /** The only jobs that run, in topological order; null: all of them. */
  readonly jobs: readonly string[] | null;
  readonly from: Date;
  readonly to: Date;
  /** How many dates there are of each kind. */
  readonly counts: Readonly<Record<PlannedDate['action'], number>>;
  /** Logical dates; null where there are none. */
  readonly first: Date | null;
  readonly last: Date | null;
  /** Oldest first; no more of them than were asked for. */
  readonly dates: readonly PlannedDate[];
  /** Set when `to` was cut back to the cursor. */
  readonly note: string | null;
}

export interface FeedOptions {
  /** Only what has room is looked at, as after the end of a run; what somebody left who died is the leader's. */
  readonly placesOnly?: boolean;
  /** Only this backfill: how others fare is nothing that its caller has to hear of. */
  readonly only?: string;
}

export interface BackfillVerbs {
  /**
   * Computes what would happen, for `--dry-run` and confirmation. Writes nothing. Throws NotFoundError, UsageError (no schedule).
   * `datesAtMost`: how many dates the plan names; all of them are counted. A plan of a year of minutes then takes no more memory
   * than one of a day. Absent: all.
   */
  planBackfill(
    request: BackfillRequest,
    options?: { readonly datesAtMost?: number },
  ): Promise<BackfillPlan>;
  /** Stores the plan as a backfill. With no date to run it is stored closed. */
  createBackfill(request: BackfillRequest): Promise<Backfill>;
  /** Creates and admits the next runs of every running backfill up to its maxActive; closes those that are done. Repeatable. */
  feedBackfills(options?: FeedOptions): Promise<number>;
  getBackfill(id: string): Promise<Backfill | null>;
  listBackfills(filter?: {
    readonly dagId?: string;
    readonly state?: readonly BackfillState[];
    readonly limit?: number;
  }): Promise<Backfill[]>;
  /** How long the newest succeeded runs of a DAG took, in milliseconds, at most 20: for a backfill without any of its own. */
  readDurations(dagId: string): Promise<number[]>;
  pauseBackfill(id: string): Promise<Backfill>;
  resumeBackfill(id: string): Promise<Backfill>;
  /** Stops creating runs; with `running` also cancels those that are open. */
  cancelBackfill(id: string, options?: { readonly running?: boolean }): Promise<Backfill>;
}
