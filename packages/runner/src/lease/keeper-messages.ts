import type { ConnectOptions, RunnerRecord } from '@flowline/core/internal';

/** A lease as the two threads name it. */
export interface LeaseRef {
  readonly taskId: string;
  readonly token: number;
}

export interface KeptLease extends LeaseRef {
  /** Monotonic milliseconds; the clock is the machine's and the same in both threads. */
  readonly renewUntil: number;
}

/** What the keeping thread is started with. */
export interface KeeperData {
  readonly runnerId: string;
  readonly connection: ConnectOptions;
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  readonly held: readonly KeptLease[];
  readonly state: RunnerRecord['state'];
}

export type ToKeeper =
  | ({ readonly type: 'hold' } & KeptLease)
  | { readonly type: 'drop'; readonly taskId: string }
  | { readonly type: 'state'; readonly state: RunnerRecord['state'] }
  | { readonly type: 'stop' };

export type FromKeeper =
  | { readonly type: 'ready' }
  | {
      readonly type: 'renewed';
      /** Monotonic, before the renewal was sent. */
      readonly sentAt: number;
      readonly renewed: readonly LeaseRef[];
      readonly lost: readonly LeaseRef[];
      readonly cancelRequested: readonly LeaseRef[];
    }
  | { readonly type: 'failed'; readonly message: string };
