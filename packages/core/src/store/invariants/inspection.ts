/**
 * How an audit is put together. An inspection reads one kind of subject (a run with its tasks, a DAG with its places, a stretch
 * of fires) in batches; its invariants are pure functions of one subject. What an invariant finds wrong is read again and
 * reported only if it is still so: two reads are never one snapshot.
 */
import type { StoreContext } from '../context.js';
import type { AuditOptions, InvariantName } from '../verbs/audit-verbs.js';

export interface Finding {
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

export interface Invariant<Subject> {
  readonly name: InvariantName;
  check(subject: Subject, audit: Audit): Iterable<Finding>;
}

export interface Inspection<Subject> {
  /** Every subject, in batches: memory is bounded by one batch. */
  read(audit: Audit): AsyncIterable<Subject>;
  /** The same subject as it is now; null when it is gone. */
  again(audit: Audit, subject: Subject): Promise<Subject | null>;
  readonly invariants: readonly Invariant<Subject>[];
}

/** One call of `audit`. */
export class Audit {
  readonly context: StoreContext;
  readonly atRest: boolean;
  readonly dagIds: readonly string[] | null;
  readonly firesSince: Date;
  /** The database's clock when the audit began. */
  readonly now: Date;
  readonly counts = { dags: 0, runs: 0, tasks: 0, attempts: 0, fires: 0, backfills: 0 };
  /** What took place before this has had its lease and two polls. */
  readonly #settledMs: number;

  constructor(context: StoreContext, options: AuditOptions, now: Date) {
    this.context = context;
    this.atRest = options.atRest ?? false;
    this.dagIds = options.dagIds ?? null;
    this.firesSince = options.firesSince ?? new Date(0);
    this.now = now;
    this.#settledMs = now.getTime() - (options.leaseMs ?? 20_000) - 2 * (options.pollMs ?? 2_000);
  }

  /** True when whatever follows `instant` should have followed by now. */
  isSettled(instant: Date | null): boolean {
    return instant !== null && instant.getTime() <= this.#settledMs;
  }

  /** As {@link isSettled}, in a system at rest. */
  isOverdue(instant: Date | null): boolean {
    return this.atRest && this.isSettled(instant);
  }

  /** The filter that keeps to the DAGs asked for. */
  get ofDags(): { dagId?: { $in: string[] } } {
    return this.dagIds === null ? {} : { dagId: { $in: [...this.dagIds] } };
  }
}

/** A date or what stands for none. */
export function show(instant: Date | null): string {
  return instant === null ? 'none' : instant.toISOString();
}
