import type { Store } from '../storage/store.js';
import type { Adversary } from './adversary.js';
import type { Cursors } from './cursors.js';
import type { FailPoints } from './fail-points.js';
import type { OperationCounts } from './operation-counts.js';
import type { Sessions } from './sessions.js';

/** Everything that the commands of one server share. */
export interface ServerState {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly sessions: Sessions;
  readonly failPoints: FailPoints;
  /** Makes mishaps for tests; null in use. */
  readonly adversary: Adversary | null;
  /** What `hello` says: the replica set's name, or null for a standalone. */
  readonly replicaSet: string | null;
  /** `host:port` (or a socket path) where the server listens; known once it does. */
  address: string;
  readonly startedAtMs: number;
  readonly operations: OperationCounts;
  /** Randomness for fail points. */
  readonly random: () => number;
  connections: number;
  totalConnections: number;
}
