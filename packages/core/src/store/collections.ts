/**
 * Every collection of Flowline and the shapes of its documents. Their indexes are in indexes.ts.
 *
 * Rules that the shapes follow:
 * - Names chosen by users (job ids, keys of results) are values, never field names, so that no name is ever a path.
 * - Instants are written by the database (`$$NOW`) wherever they decide something.
 */
import type { Binary, Collection, Db } from 'mongodb';
import type { ExpectationKind } from '../model/expectation.js';
import type {
  AttemptOutcome,
  BackfillState,
  Cause,
  FireReason,
  RunState,
  TaskState,
} from '../model/states.js';
import type { FireCarry, PendingDecision } from './schedule/pending-decision.js';

/** `dags`: a deployed DAG. `_id` is the DAG id. */
export interface DagDocument {
  _id: string;
  project: string;
  /** The current version. */
  version: string;
  state: 'active' | 'retired';
  /** The cursor: the logical date of the next fire that nobody has decided on. Null without a schedule or when it has ended. */
  nextFireAt: Date | null;
  /** That fire is due so long after its logical date. */
  nextJitterMs: number;
  /** Grows with each change of schedule, policy or pause; names the cursor in every compare-and-set. */
  scheduleRev: number;
  /** The schedule owes every fire that came due after this instant; nothing from before it. Absent in older documents. */
  scheduledFrom?: Date;
  /** A stored decision that has not been carried out: see schedule/settle-schedule.ts. Null at rest. */
  pending: PendingDecision | null;
  /** What the last batch left open for the next one (a coalesced run that is still growing). Null at rest. */
  carry: FireCarry | null;
  /** Since when the DAG is paused. */
  pausedAt: Date | null;
  /** Paused spans, in the database's time; the last is open (`to: null`) while the DAG is paused. */
  pausedSpans: PausedSpan[];
  /** Why its schedule cannot go on, until it is deployed again. Nothing is decided for it meanwhile. */
  broken: string | null;
  /** Runs that hold a place, by operations/place-key.ts. Changed by admission and release only. */
  activeRunIds: string[];
  /** The catch-up run that was let start last: see operations/space-catch-up.ts. Absent without `misfire.spacing`. */
  lastCatchUp?: { runId: string; at: Date };
  deployedAt: Date;
  retiredAt: Date | null;
}

export interface PausedSpan {
  from: Date;
  to: Date | null;
  /** What resume asked for, when it overrides the DAG's policy. */
  onResume: 'skip' | 'latest' | 'all' | null;
}

/** `dagVersions`: an immutable compiled definition. `_id` is DAG id / version. */
export interface DagVersionDocument {
  _id: string;
  dagId: string;
  version: string;
  /** The compiled JSON, deflated: see version-cache.ts. */
  definition: Binary;
  createdAt: Date;
}

/** `runs`: one run. `_id` is a ULID in lower case, made from the database's time. */
export interface RunDocument {
  _id: string;
  dagId: string;
  version: string;
  slot: string;
  state: RunState;
  cause: Cause;
  logicalDate: Date | null;
  dataInterval: { from: Date; to: Date } | null;
  generation: number;
  coalesced: number;
  backfillId: string | null;
  /** Only these jobs run; what they need of others is taken from the run `source`. Absent: all of them. */
  part?: { jobs: string[]; source: string | null };
  params: Binary | null;
  priority: number;
  notBefore: Date | null;
  /**
   * From when on the run may take a place, and so its turn: its creation, or `notBefore` where that is later. Queued runs are
   * admitted in this order.
   */
  dueAt: Date;
  /** False until all tasks are there. Only materialised runs are admitted. */
  materialized: boolean;
  /** False until the roots are ready: an admission that died is completed. */
  started: boolean;
  /** A pause met it in the queue, and this was the DAG's revision then: see operations/hold-runs.ts. Absent else. */
  heldAtRev?: number;
  /** An overlap rule refused the run: it is being turned into a line of `fires`. */
  refused: 'overlap' | null;
  createdAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  cancelRequestedAt: Date | null;
  /** True from the request until the run is closed. */
  cancelling: boolean;
  reason: string | null;
  /** How often the run was opened again: see retry/retry-run.ts. */
  openEpoch: number;
  /** A retry that is being prepared: its tasks and the generations they had. Absent at rest. */
  retrying?: { at: Date; tasks: { job: string; generation: number }[] };
  /** What is expected of it and was not judged yet: see expectations/notice-missed.ts. Absent where nothing is. */
  expects?: ExpectedDocument[];
  /** What it has missed. */
  missed?: ExpectationKind[];
  expireAt: Date | null;
}

/** One expectation of a run. */
export interface ExpectedDocument {
  kind: ExpectationKind;
  /** How long it may take, from where it is counted. */
  ms: number;
  /** When to look. */
  by: Date;
}

export interface StoredErrorDocument {
  name: string;
  message: string;
  code?: string;
  stack?: string;
}

export interface AttemptDocument {
  n: number;
  token: number;
  runner: string;
  startedAt: Date;
  endedAt: Date | null;
  outcome: AttemptOutcome | null;
  error: StoredErrorDocument | null;
  /** For `lost` only; absent else. */
  loss?: {
    reason: 'lease-expired' | 'runner-dead';
    lastHeartbeatAt: Date | null;
    exit: string | null;
    lastLines: { at: Date; level: LogDocument['level']; message: string }[];
  };
}

export interface LeaseDocument {
  runner: string;
  token: number;
  /** Task id # token: names one grant, so that a renewal of many leases is one exact filter. */
  grant: string;
  /** Names the call that took it: how a batch finds out what it got. */
  claim: string;
  expiresAt: Date;
}

/** The value of one finished step of a task. */
export interface StepDocument {
  name: string;
  /** The generation of the task that it belongs to; those of another one do not count. */
  generation: number;
  /** The fencing token of the attempt that wrote it. */
  token: number;
  /** Size of `value`. */
  bytes: number;
  value: Binary | null;
}

/** `tasks`: one task. `_id` is run id / job id. */
export interface TaskDocument {
  _id: string;
  runId: string;
  dagId: string;
  version: string;
  jobId: string;
  /** Place in the topological order of the version. */
  order: number;
  state: TaskState;
  serveKey: string;
  /** Queue and DAG, and whether it is a backfill's: see claim-tasks.ts. */
  pool: string;
  /** The job's priority plus the run's. Higher first. */
  priority: number;
  /** What a claimed task carries of its run, so that the claim's reply is enough. */
  cause: Cause;
  logicalDate: Date | null;
  dataInterval: { from: Date; to: Date } | null;
  /** Waits for nothing: made ready by admission. */
  root: boolean;
  /** The run's openEpoch with which the task was reset last. Absent in its first. */
  openEpoch?: number;
  /** Upstream jobs that have not reported yet, with the generation they will report under; null above the limit of fan-in.ts. */
  pending: { job: string; generation: number }[] | null;
  /** Joins above that limit which wait for this task: what "any open upstream?" asks for. Absent elsewhere. */
  feeds?: string[];
  /** What the upstream tasks that reported have said. */
  upstream: { failed: boolean; skipped: boolean; cancelled: boolean };
  readyAt: Date | null;
  delayedUntil: Date | null;
  lease: LeaseDocument | null;
  /** The last fencing token given out for this task. Never goes back. */
  token: number;
  attempts: AttemptDocument[];
  failures: number;
  losses: number;
  onLost: 'retry' | 'fail';
  maxLost: number;
  allowFailure: boolean;
  cancelRequestedAt: Date | null;
  /** False from the write that closed the task until its dependents and its run know. */
  propagated: boolean;
  result: Binary | null;
  /** The run that the result is a copy from; the task itself is left out: operations/leave-out-tasks.ts. */
  takenFrom?: string;
  /** Values of `ctx.once`, of this generation and possibly of older ones: see steps.ts. Absent without any. */
  steps?: StepDocument[];
  error: StoredErrorDocument | null;
  progress: { fraction: number; note: string | null } | null;
  startedAt: Date | null;
  endedAt: Date | null;
  generation: number;
  expireAt: Date | null;
}

/** `slots`: how the run of a slot ended. `_id` is DAG id / slot. Outlives the run. */
export interface SlotDocument {
  _id: string;
  dagId: string;
  slot: string;
  runId: string;
  /** `refused`: an overlap rule turned the run into a line of `fires`; the slot stays used. */
  outcome: Extract<RunState, 'succeeded' | 'failed' | 'cancelled'> | 'refused';
  logicalDate: Date | null;
  dataInterval: { from: Date; to: Date } | null;
  generation: number;
  coalesced: number;
  /** The run was one of a part of its graph. Absent: of all of it. */
  isPart?: true;
  openEpoch: number;
  closedAt: Date;
  /** Null for logical dates: kept for ever. */
  expireAt: Date | null;
}

/** `leases`: leadership. `_id` is what is leased. */
export interface LeadershipDocument {
  _id: string;
  holder: string | null;
  epoch: number;
  expiresAt: Date;
}

/** `runners`: one runner process. `_id` is unique for each start of a process. */
export interface RunnerDocument {
  _id: string;
  host: string;
  bootId: string | null;
  pidNamespace: string | null;
  pid: number;
  processStart: string | null;
  serveKeys: string[];
  concurrency: number;
  startedAt: Date;
  heartbeatAt: Date;
  state: 'running' | 'draining' | 'stopped';
  /** How it ended, when it left tasks behind. */
  exit?: string | null;
  expireAt: Date;
}

/** `presence`: when runners were heard, of whom it does not matter. One document: see operations/presence.ts. */
export interface PresenceDocument {
  _id: string;
  heardAt: Date;
  /** Oldest first. */
  silences: { from: Date; to: Date }[];
}

/** `backfills`: one backfill. Its plan and what else store/backfill keeps is theirs; these fields are read here too. */
export interface BackfillDocument {
  _id: string;
  dagId: string;
  version: string;
  from: Date;
  to: Date;
  state: BackfillState;
  maxActive: number;
  order: 'oldest' | 'newest';
  reprocess: 'none' | 'failed' | 'all';
  /** Only these jobs run, in topological order. Absent: all of them. */
  jobs?: string[];
  params: Binary | null;
  reason: string | null;
  /** Dates that were found to be nothing to run when their turn came, and why: the newest ones. */
  passedOver?: { at: Date; because: string }[];
  /** Runs that hold a place of this backfill, by operations/place-key.ts. Changed by admission and release only. */
  activeRunIds: string[];
  /** Runs that were made, or made to run again, and are not counted as closed yet, by operations/place-key.ts. */
  openRunIds: string[];
  /** Openings of retried runs that `openRunIds` has had, so that none is taken up twice. */
  reopened?: string[];
  createdAt: Date;
  endedAt: Date | null;
  /** Dates in the range. */
  total: number;
  /** Left alone by the plan, or found taken when their turn came. */
  skipped: number;
  /** Closed runs by outcome, each counted in the write that pulls it from `openRunIds`. */
  succeeded: number;
  failed: number;
  cancelled: number;
  /** The runs that closed last: when, and how long they took from their start. Absent before the first. */
  recent?: { at: Date; ms: number }[];
  /** Since when it goes on without a pause. Absent before the first resume. */
  resumedAt?: Date;
  /** How many dates the plan gives work; they stand in `backfillDates`. */
  planned: number;
  /** How many of those have had their turn: their run was made, or their slot was found taken. */
  cursor: number;
}

/** `backfillDates`: a stretch of a backfill's plan, so that no plan outgrows a document. `_id` is backfill id / number. */
export interface BackfillDatesDocument {
  _id: string;
  backfillId: string;
  /** Place in the plan of the first of `dates`. */
  start: number;
  /** In the order of work. */
  /** `source`: the run whose results a part of the graph takes. */
  dates: { at: Date; from: Date; generation: number; source?: string }[];
  createdAt: Date;
}

/** `fires`: a fire, or a span, that did not become a run of its own. `_id` is DAG id / first logical date. */
export interface FireDocument {
  _id: string;
  dagId: string;
  from: Date;
  to: Date;
  count: number;
  reason: FireReason;
  runId: string | null;
  at: Date;
}

/** `missed`: an expectation that was not met. `_id` is run id / kind, or DAG id / kind / logical date without a run. */
export interface MissedExpectationDocument {
  _id: string;
  dagId: string;
  kind: ExpectationKind;
  runId: string | null;
  logicalDate: Date | null;
  count: number;
  expectedBy: Date;
  missedAt: Date;
  /** False until the hooks of a leader were told. */
  announced: boolean;
  expireAt: Date;
}

/** `logs`: one line. `_id` is task id / attempt / sequence. */
export interface LogDocument {
  _id: string;
  runId: string;
  jobId: string;
  attempt: number;
  seq: number;
  at: Date;
  /** The database's time, as the writer estimated it: the order of reading. */
  storedAt: Date;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  data: Binary | null;
  expireAt: Date;
}

export interface Collections {
  readonly dags: Collection<DagDocument>;
  readonly dagVersions: Collection<DagVersionDocument>;
  readonly runs: Collection<RunDocument>;
  readonly tasks: Collection<TaskDocument>;
  readonly slots: Collection<SlotDocument>;
  readonly leases: Collection<LeadershipDocument>;
  readonly runners: Collection<RunnerDocument>;
  readonly presence: Collection<PresenceDocument>;
  readonly backfills: Collection<BackfillDocument>;
  readonly backfillDates: Collection<BackfillDatesDocument>;
  readonly fires: Collection<FireDocument>;
  readonly missed: Collection<MissedExpectationDocument>;
  readonly logs: Collection<LogDocument>;
}

export function collectionsOf(db: Db): Collections {
  return {
    dags: db.collection('dags'),
    dagVersions: db.collection('dagVersions'),
    runs: db.collection('runs'),
    tasks: db.collection('tasks'),
    slots: db.collection('slots'),
    leases: db.collection('leases'),
    runners: db.collection('runners'),
    presence: db.collection('presence'),
    backfills: db.collection('backfills'),
    backfillDates: db.collection('backfillDates'),
    fires: db.collection('fires'),
    missed: db.collection('missed'),
    logs: db.collection('logs'),
  };
}
