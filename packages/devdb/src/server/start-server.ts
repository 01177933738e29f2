import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { Adversary, type AdversaryOptions } from '../state/adversary.js';
import { Cursors } from '../state/cursors.js';
import { FailPoints } from '../state/fail-points.js';
import { OperationCounts } from '../state/operation-counts.js';
import type { ServerState } from '../state/server-state.js';
import { Sessions } from '../state/sessions.js';
import { ServerClock } from '../storage/clock.js';
import type { Store } from '../storage/store.js';
import { serveConnection } from './connection.js';
import { takeDirectory } from './embedded/ownership.js';
import { startHousekeeping } from './housekeeping.js';
import { openDurableStore, openMemoryStore } from './open-store.js';

/** How a server in this process is started. */
export interface ServerOptions {
  /** The directory to keep data in, which must belong to this process alone; absent: in memory only. */
  readonly directory?: string;
  /** The address to listen at. Default 127.0.0.1: this server knows no passwords, so that it must not face a network. */
  readonly host?: string;
  /** The TCP port; 0 (the default) takes a free one. */
  readonly port?: number;
  /** The path of a unix socket to listen at instead of host and port; it must end in `.sock`, by which drivers know one. */
  readonly socketPath?: string;
  /** The name of the one-node replica set (default `rs0`); null for a standalone server. */
  readonly replicaSet?: string | null;
  /** How many connections may be open at once (default 1,000); more are closed at once. */
  readonly maxConnections?: number;
  /** The server's clock in milliseconds since 1970 (default the wall clock); tests skew it. */
  readonly nowMs?: () => number;
  /** Randomness from 0 to 1 for fail points (default `Math.random`). */
  readonly random?: () => number;
  /** How often expired documents are removed, in milliseconds (default 1,000). */
  readonly ttlIntervalMs?: number;
  /** Mishaps of real deployments, for tests. Default none. */
  readonly adversary?: AdversaryOptions;
  /** How long the log of a durable server grows before it is moved into the tables; bytes, default 8 MiB. Tests choose less. */
  readonly checkpointBytes?: number;
  /** Called when the number of open connections changes. */
  readonly onConnections?: (open: number) => void;
}

/** A running server. */
export interface RunningServer {
  /** The connection string for drivers, mongosh and Compass. */
  readonly uri: string;
  readonly port: number;
  readonly state: ServerState;
  /** Stops listening, closes all connections, makes all writes durable. Idempotent. */
  close(): Promise<void>;
  /** Lets the process end although the server listens. */
  unref(): void;
}

/**
 * Starts a development server in this process. Throws DataDirectoryError for a directory that cannot be used, RangeError for
 * a socket that no driver would find, and what `listen` throws, e.g. for a port that is taken.
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  checkSocketPath(options.socketPath);
  const clock = new ServerClock(options.nowMs);
  const release = options.directory === undefined ? null : await takeDirectory(options.directory);
  try {
    const { directory, checkpointBytes } = options;
    const store =
      directory === undefined
        ? openMemoryStore(clock)
        : await openDurableStore(
            directory,
            clock,
            checkpointBytes === undefined ? {} : { checkpointBytes },
          );
    return await serve(options, store, release);
  } catch (error) {
    await release?.();
    throw error;
  }
}

/** A driver takes a host for a unix socket by its ending alone. */
function checkSocketPath(path: string | undefined): void {
  if (path === undefined || path.endsWith('.sock')) return;
  throw new RangeError(
    `startServer: socketPath must end in ".sock", by which drivers know a unix socket; got ${JSON.stringify(path)}. Name it ${JSON.stringify(`${path}.sock`)}.`,
  );
}

async function serve(
  options: ServerOptions,
  store: Store,
  release: (() => Promise<void>) | null,
): Promise<RunningServer> {
  const { clock } = store;
  const state: ServerState = {
    store,
    cursors: new Cursors(clock.nowMs),
    sessions: new Sessions(clock.nowMs),
    failPoints: new FailPoints(),
    adversary: options.adversary ? new Adversary(options.adversary) : null,
    replicaSet: options.replicaSet === undefined ? 'rs0' : options.replicaSet,
    address: '',
    startedAtMs: clock.nowMs(),
    operations: new OperationCounts(),
    random: options.random ?? Math.random,
    connections: 0,
    totalConnections: 0,
  };
  const sockets = new Set<Socket>();
  const maxConnections = options.maxConnections ?? 1000;
  const listener = createServer((socket) => {
    if (sockets.size >= maxConnections) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    state.totalConnections += 1;
    state.connections = sockets.size;
    options.onConnections?.(sockets.size);
    serveConnection(state, socket, state.totalConnections, () => {
      sockets.delete(socket);
      state.connections = sockets.size;
      options.onConnections?.(sockets.size);
    });
  });
  const host = options.host ?? '127.0.0.1';
  const place =
    options.socketPath === undefined
      ? { host, port: options.port ?? 0, exclusive: true }
      : { path: options.socketPath };
  const port = await listen(listener, place).catch(async (error) => {
    await store.disk?.close();
    throw error;
  });
  // A server has a cluster time before its first write: what a client reads then must name one that it can read after.
  clock.tick();
  state.address = options.socketPath ?? `${host}:${port}`;
  const stopHousekeeping = startHousekeeping(state, options.ttlIntervalMs ?? 1000);
  let closing: Promise<void> | null = null;
  const close = async () => {
    stopHousekeeping();
    const stopped = new Promise<void>((resolve) => listener.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await stopped;
    await store.disk?.close();
    await release?.();
  };
  return {
    uri: connectionString(state, options.socketPath !== undefined),
    port,
    state,
    close: () => {
      closing ??= close();
      return closing;
    },
    unref: () => {
      listener.unref();
    },
  };
}

function connectionString(state: ServerState, isSocket: boolean): string {
  if (isSocket) return `mongodb://${encodeURIComponent(state.address)}/?directConnection=true`;
  return state.replicaSet === null
    ? `mongodb://${state.address}/?directConnection=true`
    : `mongodb://${state.address}/?replicaSet=${state.replicaSet}`;
}

/** Listens; the port of a TCP listener, 0 for a socket. */
function listen(listener: Server, place: ListenOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(place, () => {
      listener.off('error', reject);
      const address = listener.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}
