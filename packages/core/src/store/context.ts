import type { Db, MongoClient } from 'mongodb';
import { monotonicFactory } from 'ulid';
import { type Collections, collectionsOf } from './collections.js';
import { boundOperation, ConnectionWatch } from './connection-watch.js';
import {
  interceptCollections,
  type OperationInterceptor,
  type StoreOperation,
} from './intercept.js';
import { ServerClock } from './server-time.js';
import { VersionCache } from './version-cache.js';

/** What every verb works with. One per connected store. */
export interface StoreContext {
  readonly client: MongoClient;
  readonly watch: ConnectionWatch;
  readonly db: Db;
  readonly collections: Collections;
  readonly clock: ServerClock;
  readonly versions: VersionCache;
  /** A new run id: a ULID in lower case from the database's time; ids of one process grow in the order of the calls. */
  readonly newId: () => string;
  /** Largest encoded result or params, in bytes. */
  readonly payloadLimitBytes: number;
  /** Where the rotation over pools goes on: see claim-tasks.ts. */
  readonly rotation: PoolRotation;
  readonly monotonicMs: () => number;
}

/** Pools that held work when they were last asked for. */
export interface PoolRotation {
  turn: number;
  pools: readonly string[];
  /** Monotonic. */
  readAtMs: number;
}

export interface ContextOptions {
  readonly payloadLimitBytes?: number;
  readonly monotonicMs?: () => number;
  readonly wallMs?: () => number;
  readonly intercept?: OperationInterceptor;
  /** Of a connection that several stores share. */
  readonly watch?: ConnectionWatch;
}

/** 1 MiB. */
export const defaultPayloadLimitBytes = 1_048_576;

const aLookAtTheClock: StoreOperation = {
  method: 'hello',
  collection: '',
  args: [],
  isWrite: false,
};

export function createContext(
  client: MongoClient,
  db: Db,
  options: ContextOptions = {},
): StoreContext {
  const bounded = interceptCollections(collectionsOf(db), boundOperation);
  const collections = options.intercept
    ? interceptCollections(bounded, options.intercept)
    : bounded;
  const monotonicMs = options.monotonicMs ?? (() => performance.now());
  const { intercept } = options;
  const clock = new ServerClock({
    read: intercept
      ? () => intercept(aLookAtTheClock, () => readLocalTime(db))
      : () => readLocalTime(db),
    monotonicMs,
    wallMs: options.wallMs ?? (() => Date.now()),
  });
  const ulid = monotonicFactory();
  return {
    client,
    watch: options.watch ?? new ConnectionWatch(client, monotonicMs).start(),
    db,
    collections,
    clock,
    versions: new VersionCache(collections.dagVersions),
    newId: () => ulid(clock.estimate().getTime()).toLowerCase(),
    payloadLimitBytes: options.payloadLimitBytes ?? defaultPayloadLimitBytes,
    rotation: { turn: 0, pools: [], readAtMs: 0 },
    monotonicMs,
  };
}

/** MongoDB 4.4. */
export const oldestWireVersion = 9;

/** What `hello` says: the server's clock, and what kind of deployment it is. */
export interface Hello {
  readonly localTime: Date;
  readonly setName?: string;
  readonly msg?: string;
  readonly maxWireVersion: number;
}

export async function hello(db: Db): Promise<Hello> {
  try {
    return (await db.command({ hello: 1 })) as unknown as Hello;
  } catch (error) {
    // 59 CommandNotFound: 4.4.0 and 4.4.1 know the older name only.
    if ((error as { code?: unknown }).code !== 59) throw error;
    return (await db.command({ isMaster: 1 })) as unknown as Hello;
  }
}

async function readLocalTime(db: Db): Promise<Date> {
  return (await hello(db)).localTime;
}
