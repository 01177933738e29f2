import { MongoClient, type MongoClientOptions } from 'mongodb';
import { ConfigError } from '../errors.js';
import type { ConnectionWatch } from './connection-watch.js';
import { type ContextOptions, createContext } from './context.js';
import { convertDriverError, withoutSecrets } from './driver-errors.js';
import { repairDriver } from './driver-repair.js';
import type { OperationInterceptor } from './intercept.js';
import { createMongoStore } from './mongo-store.js';
import type { Store } from './store.js';

/** Where the database is. Plain data, so that it can be handed to a worker thread. */
export interface ConnectOptions {
  /** `mongodb://` or `mongodb+srv://`. */
  readonly uri: string;
  /** Default: the database named in the URI, else `flowline`. */
  readonly database?: string;
  /** Shown by the server in its log and in `currentOp`. Default `flowline`. */
  readonly appName?: string;
  /** How long to look for a server before giving up, in ms. Default 3,000. */
  readonly serverSelectionTimeoutMs?: number;
  /** Largest encoded result or params, in bytes. Default 1 MiB; at most 15 MiB, for the server takes 16. */
  readonly payloadLimitBytes?: number;
  /** Further options of the driver's MongoClient. Write concern, read preference and retries stay what they are. */
  readonly clientOptions?: Readonly<Record<string, unknown>>;
}

/** What tests replace. */
export interface ConnectSources {
  /** Milliseconds that never step. Default `performance.now()`. */
  readonly monotonicMs?: () => number;
  /** This process's clock; only its offset to the database's is computed from it. Default `Date.now()`. */
  readonly wallMs?: () => number;
  readonly intercept?: OperationInterceptor;
}

const largestPayloadBytes = 15 * 1_048_576;

/**
 * Connects and reads the database's clock once. Throws ConfigError for a URI that cannot be one, StoreError
 * (`store-unreachable`, retryable) when no server answers in time. Nothing is created: see {@link Store.prepare}.
 */
export async function connectStore(
  options: ConnectOptions,
  sources: ConnectSources = {},
): Promise<Store> {
  const limit = options.payloadLimitBytes;
  if (limit !== undefined && !(limit > 0 && limit <= largestPayloadBytes)) {
    throw new ConfigError(
      `payloadLimitBytes: expected a number of bytes up to ${largestPayloadBytes}, found ${limit}`,
    );
  }
  const client = createClient(options);
  let watch: ConnectionWatch | undefined;
  try {
    await client.connect();
    const contextOptions: ContextOptions = {
      ...sources,
      ...(limit === undefined ? {} : { payloadLimitBytes: limit }),
    };
    const context = createContext(client, client.db(databaseOf(options)), contextOptions);
    watch = context.watch;
    await context.clock.read();
    return createMongoStore(context);
  } catch (error) {
    await (watch?.stop() ?? client.close()).catch(() => {});
    throw convertDriverError(error);
  }
}

export function createClient(options: ConnectOptions): MongoClient {
  repairDriver();
  try {
    return new MongoClient(options.uri, {
      appName: options.appName ?? 'flowline',
      serverSelectionTimeoutMS: options.serverSelectionTimeoutMs ?? 3_000,
      // A server that went silent is given up after this; half a minute, the driver's own, is longer than a lease.
      ...(/[?&]connectTimeoutMS=/i.test(options.uri) ? {} : { connectTimeoutMS: 5_000 }),
      ...(options.clientOptions as MongoClientOptions | undefined),
      // What the protocols rest on is not for options or the URI to change.
      writeConcern: { w: 'majority' },
      readPreference: 'primary',
      readConcern: { level: 'local' },
      retryWrites: true,
      retryReads: true,
      promoteValues: true,
      promoteLongs: true,
      promoteBuffers: false,
      ignoreUndefined: false,
    });
  } catch (error) {
    throw new ConfigError(
      `The database's URI cannot be used: ${withoutSecrets((error as Error).message)}`,
      {
        cause: error,
        hint: 'Expected mongodb://host:port/database, in FLOW_MONGODB_URI or flow.config.ts.',
      },
    );
  }
}

export function databaseOf(options: ConnectOptions): string {
  if (options.database) return options.database;
  const path = /^mongodb(?:\+srv)?:\/\/[^/]*\/([^?]*)/.exec(options.uri)?.[1];
  return path ? decodeURIComponent(path) : 'flowline';
}
