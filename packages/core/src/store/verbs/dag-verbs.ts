import type { DagDefinition } from '../../model/definition.js';
import type { Dag, FireRecord } from '../../model/run.js';
import type { FireReason } from '../../model/states.js';
import type { FreshTask } from './task-verbs.js';

export interface DeployParams {
  readonly definition: DagDefinition;
  /** Hash of the definition, from the compiler. */
  readonly version: string;
  readonly project: string;
}

export interface DeployResult {
  readonly change: 'added' | 'changed' | 'unchanged' | 'revived';
  readonly previousVersion: string | null;
  /** Open runs that go on under the version they were created with. */
  readonly openRuns: number;
}

export interface SettleResult {
  /** Runs created by this call. */
  readonly created: number;
  /** Fires written to the `fires` collection by this call. */
  readonly recorded: number;
  /** True when a batch limit was reached and more is due now. */
  readonly more: boolean;
}

/** What became of many DAGs at once. */
export interface SettledDags {
  readonly recorded: number;
  readonly more: boolean;
  /** DAGs that failed; they stay as they were and keep nobody else from their turn. */
  readonly failed: readonly { readonly dagId: string; readonly error: unknown }[];
  /** DAGs that were found unable to go on; they are marked broken, and in nobody's way. */
  readonly broken: readonly { readonly dagId: string; readonly reason: string }[];
  /** Why runs that were made could not be admitted; they are queued. */
  readonly notAdmitted: readonly unknown[];
}

export interface SettleDueParams {
  /** DAGs at most. */
  readonly limit: number;
  /** Asked before each further portion: a deposed leader stops in the middle. */
  readonly mayGoOn?: () => boolean;
  /** Told of tasks that can be claimed, by name where the names are known. */
  readonly onReady?: (tasks?: readonly FreshTask[]) => void;
}

export interface DagVerbs {
  /**
   * Stores the version (immutable) and makes it current. Settles what the old schedule owes up to the database's now
   * first; an unchanged schedule keeps its cursor to the byte. Idempotent. Throws ConflictError when another project
   * owns the id.
   */
  deployDag(params: DeployParams): Promise<DeployResult>;
  /** What {@link DagVerbs.deployDag} would answer; writes nothing. */
  planDeploy(params: DeployParams): Promise<DeployResult>;
  /** Stops the schedule of a DAG that left the code; history and open runs stay. Only within `project`. Idempotent. */
  retireDag(dagId: string, project: string): Promise<boolean>;
  getDag(dagId: string): Promise<Dag | null>;
  listDags(filter?: { readonly project?: string; readonly state?: Dag['state'] }): Promise<Dag[]>;
  /** The compiled definition; immutable, so callers may cache it. Null when there is none. */
  getVersion(dagId: string, version: string): Promise<DagDefinition | null>;

  /** Ids of active DAGs whose cursor is due by the database's clock, or which have a `pending` to finish. */
  findDueDags(limit: number): Promise<string[]>;
  /** The earliest `nextFireAt` of all DAGs: when the scheduler has to look again. */
  earliestFireAt(): Promise<Date | null>;
  /**
   * The cursor protocol (design 7): finishes a stored `pending` as it stands, else decides what is due by the
   * database's clock, stores the decision by compare-and-set, carries it out, moves the cursor. One batch a call.
   * A schedule that cannot be evaluated is marked broken and never throws here. Safe to call from any process at
   * any time, twice, or to die in.
   */
  settleSchedule(dagId: string): Promise<SettleResult>;
  /**
   * The same for all DAGs of {@link DagVerbs.findDueDags}, each step for many of them in one operation; and admits the runs that
   * it made, before the cursors are moved.
   */
  settleDue(params: SettleDueParams): Promise<SettledDags>;
  /**
   * Marks active DAGs broken whose documents are so damaged that {@link DagVerbs.settleDue} would never look at them: a cursor
   * that is no date, say. Deploying them again mends them. Answers with those. Repeatable.
   */
  settleDamaged(limit: number): Promise<SettledDags['broken']>;

  /**
   * Decides what is due at `dueAt`, an instant that {@link DagVerbs.earliestFireAt} gave, before it comes: a `settleDue` that
   * begins less than `presumedMs` (default 250) after it begins with storing that. Writes nothing; what is foreseen is kept by this
   * store alone, until the next call.
   */
  foresee(dueAt: Date, presumedMs?: number): Promise<void>;

  /**
   * Reads what settling the next fires will read, works out what would be decided, and forgets it: the first tick of a new
   * leader, which often comes late already, then waits neither for versions nor for code that never ran. Writes nothing.
   */
  rehearseSettling(limit: number): Promise<void>;

  /** Opens a paused span at the database's now. Settles first. False when it was paused already. */
  pauseDag(dagId: string): Promise<boolean>;
  /** Closes the span; `onResume` overrides the DAG's policy for it. False when it was not paused. */
  resumeDag(dagId: string, onResume?: 'skip' | 'latest' | 'all'): Promise<boolean>;

  /** Newest first. */
  listFires(
    dagId: string,
    options?: { readonly from?: Date; readonly to?: Date; readonly limit?: number },
  ): Promise<FireRecord[]>;
  countFires(dagId: string): Promise<Partial<Record<FireReason, number>>>;
}
