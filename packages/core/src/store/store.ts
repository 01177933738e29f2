import type { ClockMeasurement } from './server-time.js';
import type { AuditVerbs } from './verbs/audit-verbs.js';
import type { BackfillVerbs } from './verbs/backfill-verbs.js';
import type { DagVerbs } from './verbs/dag-verbs.js';
import type { ExaminationVerbs } from './verbs/examination-verbs.js';
import type { ExpectationVerbs } from './verbs/expectation-verbs.js';
import type { FleetVerbs } from './verbs/fleet-verbs.js';
import type { LogVerbs } from './verbs/log-verbs.js';
import type { RunVerbs } from './verbs/run-verbs.js';
import type { TaskVerbs } from './verbs/task-verbs.js';

/**
 * Everything that Flowline asks of its database, as verbs of the domain. No query text and no type of the driver
 * crosses this seam. Every verb throws StoreError when the database fails (`retryable` tells which), and each is safe
 * to repeat: see the verb for what a repetition answers.
 */
export interface Store
  extends DagVerbs,
    RunVerbs,
    TaskVerbs,
    BackfillVerbs,
    ExpectationVerbs,
    FleetVerbs,
    LogVerbs,
    AuditVerbs,
    ExaminationVerbs {
  /** The database's clock, by a round trip. */
  readServerTime(): Promise<Date>;
  /** Last server time + monotonic time since: for display and for narrowing, never for deciding. */
  estimateServerTime(): Date;
  /** This process's clock minus the database's, at the last reading, in ms. */
  readonly clockOffsetMs: number;
  /**
   * The offset by the shortest of some round trips, each halved, so that it is off by at most half of that. `clockOffsetMs`
   * is what the last of them said.
   */
  measureClockOffset(samples?: number): Promise<ClockMeasurement>;
  /** Calls back when another process made work ready, where the deployment can tell (change streams). A hint only. */
  watchReady(listener: () => void): Promise<{ readonly supported: boolean; stop(): Promise<void> }>;
  /** Creates collections and indexes; idempotent, safe from many processes at once. Refuses a sharded or too old deployment. */
  prepare(): Promise<void>;
  /** Closes connections. Idempotent. */
  close(): Promise<void>;
}
