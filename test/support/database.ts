import { randomBytes } from 'node:crypto';
import { type RunningServer, startServer } from '@flowline/devdb';
import { MongoClient } from 'mongodb';

/** A database of its own for one test file. */
export interface TestDatabase {
  readonly uri: string;
  readonly databaseName: string;
  /** Drops the database. */
  close(): Promise<void>;
}

const SHARED = Symbol.for('flowline.test.server');
const shared = globalThis as { [SHARED]?: Promise<RunningServer> };

/**
 * A fresh database name on the deployment of `FLOW_TEST_MONGODB_URI`, or, where that is not set, on a development server in
 * this process, which all test files of one worker share.
 */
export async function openTestDatabase(): Promise<TestDatabase> {
  const uri = process.env.FLOW_TEST_MONGODB_URI;
  return uri === undefined ? openDevelopmentDatabase() : freshDatabase(uri);
}

/** A fresh database name on a development server, whatever is set: for tests of that server itself. */
export async function openDevelopmentDatabase(): Promise<TestDatabase> {
  return freshDatabase((await sharedServer()).uri);
}

function freshDatabase(uri: string): TestDatabase {
  const databaseName = `flow_test_${randomBytes(6).toString('hex')}`;
  return {
    uri,
    databaseName,
    async close() {
      const client = new MongoClient(uri);
      try {
        await client.db(databaseName).dropDatabase();
      } finally {
        await client.close();
      }
    },
  };
}

function sharedServer(): Promise<RunningServer> {
  shared[SHARED] ??= startServer().then((server) => {
    // The worker may end whenever its tests have.
    server.unref();
    return server;
  });
  return shared[SHARED];
}
