/** What must hold of a database at every moment, or at rest: see store/invariants. */
export const invariantNames = [
  'one-run-per-date',
  'one-run-per-slot',
  'slot-remembers-run',
  'no-early-fire',
  'every-fire-accounted',
  'cursor-keeps-up',
  'run-has-end',
  'run-is-whole',
  'no-open-task-in-closed-run',
  'no-orphan-task',
  'one-success',
  'attempts-without-gap',
  'tokens-grow',
  'no-stale-write',
  'dependencies-first',
  'task-counters',
  'places-match-runs',
  'backfill-places',
  'backfill-counters',
  'nothing-left-undone',
] as const;
export type InvariantName = (typeof invariantNames)[number];

/** One thing that is not as it must be. */
export interface Violation {
  readonly invariant: InvariantName;
  /** What it is about: `run <id>`, `task <id>`, `dag <id>`, `backfill <id>`, with what of it. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

export interface AuditOptions {
  /** The lease and the longest poll of the runners, in ms: how long a step may take. Default 20,000 and 2,000. */
  readonly leaseMs?: number;
  readonly pollMs?: number;
  /**
   * True: no runner works any more, or all work is done, so nothing may be left undone for longer than a lease and two
   * polls. False (default): the system is alive, and what is under way is no violation.
   */
  readonly atRest?: boolean;
  /** Only these DAGs and what belongs to them. Default all. */
  readonly dagIds?: readonly string[];
  /** Fires before this instant are not accounted for again. Default: all since the schedule was deployed. */
  readonly firesSince?: Date;
}

export interface AuditReport {
  /** Empty when all is as it must be. At most a thousand. */
  readonly violations: readonly Violation[];
  /** How much was looked at. */
  readonly counts: {
    readonly dags: number;
    readonly runs: number;
    readonly tasks: number;
    readonly attempts: number;
    readonly fires: number;
    readonly backfills: number;
  };
}

export interface AuditVerbs {
  /**
   * Checks every invariant of docs/invariants.md against what is stored; writes nothing. Reads in batches, so that its memory
   * does not grow with the history; what looks wrong is read once more before it is reported, since a live system changes
   * between two reads. Instants are compared with the database's clock.
   */
  audit(options?: AuditOptions): Promise<AuditReport>;
}
