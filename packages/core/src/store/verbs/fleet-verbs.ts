import type { RunnerRecord } from '../../model/run.js';

export interface Leadership {
  readonly holder: string;
  /** Grows with each change of holder. */
  readonly epoch: number;
  readonly expiresAt: Date;
}

export interface FleetVerbs {
  registerRunner(
    runner: Omit<RunnerRecord, 'startedAt' | 'heartbeatAt' | 'state' | 'exit'>,
  ): Promise<void>;
  /**
   * Also revives the record if it was pruned while the database was away. `everyMs` is how often it is sent: a pause of
   * the whole fleet that is as long is remembered, for the rescue.
   */
  heartbeatRunner(runnerId: string, state: RunnerRecord['state'], everyMs: number): Promise<void>;
  /** Marks a runner that ends and leaves running tasks behind; `exit` says how (a signal). Kept for their rescuer. */
  retireRunner(runnerId: string, exit: string): Promise<void>;
  removeRunner(runnerId: string): Promise<void>;
  listRunners(): Promise<RunnerRecord[]>;

  /** Wins the lease if it is free or expired by the database's clock (the holder's stored expiry counts). Null otherwise. */
  acquireLeadership(runnerId: string, leaseMs: number): Promise<Leadership | null>;
  /** Only with holder and epoch; null when it was lost. */
  renewLeadership(runnerId: string, epoch: number, leaseMs: number): Promise<Leadership | null>;
  releaseLeadership(runnerId: string, epoch: number): Promise<void>;
  getLeadership(): Promise<Leadership | null>;
}
