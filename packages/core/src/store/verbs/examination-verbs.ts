/** What kind of server the database runs on. */
export interface DeploymentFacts {
  readonly kind: 'standalone' | 'replica-set' | 'sharded';
  /** As the server names it: `7.0.14`. */
  readonly version: string;
  /** False for servers older than MongoDB 4.4. */
  readonly isSupported: boolean;
  readonly hasTransactions: boolean;
}

/** An index that is not as it must be. */
export interface IndexFinding {
  readonly collection: string;
  readonly index: string;
  /** `missing`: preparing the database makes it. `different`: somebody made another one of this name; drop it first. */
  readonly problem: 'missing' | 'different';
}

/** Everything that somebody owes and should have paid by now, with how long the oldest of it has waited. */
export const owedKinds = [
  'expired-leases',
  'unpropagated-tasks',
  'half-made-runs',
  'half-started-runs',
  'unfinished-cancellations',
  'unfinished-retries',
  'unfinished-decisions',
  'overdue-schedules',
  'stale-places',
] as const;
export type OwedKind = (typeof owedKinds)[number];

export interface OwedWork {
  readonly kind: OwedKind;
  readonly count: number;
  /** Ids of some of it: tasks, runs or DAGs. */
  readonly examples: readonly string[];
}

export interface ExaminationVerbs {
  /** Asks the server what it is. Writes nothing; needs no prepared database. */
  examineDeployment(): Promise<DeploymentFacts>;
  /** Compares the indexes with those that {@link indexes} names, and tells the sharded collections. Writes nothing. */
  examineIndexes(): Promise<{
    readonly findings: readonly IndexFinding[];
    readonly sharded: readonly string[];
  }>;
  /**
   * What the duties of a leader should have paid more than `olderThanMs` ago by the database's clock (places: at once).
   * Empty in a system that is alive. Writes nothing.
   */
  examineOwed(olderThanMs: number): Promise<OwedWork[]>;
}
