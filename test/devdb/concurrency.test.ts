import { type RunningServer, startServer } from '@flowline/devdb';
import { type ClientSession, MongoClient, MongoServerError } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

interface Thing {
  _id: number;
  n?: number;
  owner?: string;
  state?: string;
  at?: Date;
}

let server: RunningServer;
let client: MongoClient;
/** The server's clock stands this far from the wall clock. */
let skewMs = 0;

const things = () => client.db('concurrency').collection<Thing>('things');

beforeAll(async () => {
  server = await startServer({ nowMs: () => Date.now() + skewMs, ttlIntervalMs: 20 });
  client = await new MongoClient(server.uri).connect();
});

afterAll(async () => {
  await client.close();
  await server.close();
});

beforeEach(async () => {
  skewMs = 0;
  await client.db('concurrency').dropDatabase();
  await things().insertMany([
    { _id: 1, n: 0 },
    { _id: 2, n: 0 },
  ]);
});

async function inTransaction<T>(use: (session: ClientSession) => Promise<T>): Promise<T> {
  const session = client.startSession();
  session.startTransaction();
  try {
    return await use(session);
  } finally {
    if (session.inTransaction()) await session.abortTransaction();
    await session.endSession();
  }
}

async function errorOf(promise: Promise<unknown>): Promise<MongoServerError> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(MongoServerError);
  return error as MongoServerError;
}

describe('a transaction', () => {
  test('sees what was there at its first statement, and its own writes', () =>
    inTransaction(async (session) => {
      expect(await things().findOne({ _id: 1 }, { session })).toEqual({ _id: 1, n: 0 });
      await things().updateOne({ _id: 2 }, { $set: { n: 7 } });
      expect(await things().findOne({ _id: 2 }, { session })).toEqual({ _id: 2, n: 0 });
      await things().updateOne({ _id: 1 }, { $set: { n: 5 } }, { session });
      expect(await things().findOne({ _id: 1 }, { session })).toEqual({ _id: 1, n: 5 });
      expect(await things().findOne({ _id: 1 })).toEqual({ _id: 1, n: 0 });
    }));

  test('gets a write conflict for a document that another one has written', () =>
    inTransaction(async (first) => {
      await things().updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: first });
      await inTransaction(async (second) => {
        const error = await errorOf(
          things().updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: second }),
        );
        expect(error.code).toBe(112);
        expect(error.hasErrorLabel('TransientTransactionError')).toBe(true);
      });
      await first.commitTransaction();
      expect(await things().findOne({ _id: 1 })).toEqual({ _id: 1, n: 1 });
    }));

  test('gets a write conflict for a document that has changed since its snapshot', () =>
    inTransaction(async (session) => {
      await things().findOne({ _id: 2 }, { session });
      await things().updateOne({ _id: 1 }, { $inc: { n: 1 } });
      const error = await errorOf(things().deleteOne({ _id: 1 }, { session }));
      expect(error.code).toBe(112);
    }));

  test('gets a write conflict for a unique key that another one has taken', async () => {
    await things().createIndex(
      { n: 1 },
      { unique: true, partialFilterExpression: { n: { $gt: 0 } } },
    );
    await inTransaction(async (first) => {
      await things().insertOne({ _id: 10, n: 9 }, { session: first });
      await inTransaction(async (second) => {
        const error = await errorOf(things().insertOne({ _id: 11, n: 9 }, { session: second }));
        expect(error.code).toBe(112);
      });
      await first.commitTransaction();
    });
    expect((await errorOf(things().insertOne({ _id: 11, n: 9 }))).code).toBe(11000);
  });

  test('makes a plain write wait until it ends', () =>
    inTransaction(async (session) => {
      await things().updateOne({ _id: 1 }, { $set: { n: 1 } }, { session });
      const order: string[] = [];
      const plain = things()
        .findOneAndUpdate({ _id: 1 }, { $inc: { n: 10 } }, { returnDocument: 'after' })
        .then((found) => {
          order.push('plain');
          return found;
        });
      // A read of the same document does not wait.
      expect(await things().findOne({ _id: 1 })).toEqual({ _id: 1, n: 0 });
      order.push('commit');
      await session.commitTransaction();
      expect(await plain).toEqual({ _id: 1, n: 11 });
      expect(order).toEqual(['commit', 'plain']);
    }));

  test('makes a plain write with a time limit give up', () =>
    inTransaction(async (session) => {
      await things().updateOne({ _id: 1 }, { $set: { n: 1 } }, { session });
      const error = await errorOf(
        things().findOneAndUpdate({ _id: 1 }, { $inc: { n: 10 } }, { maxTimeMS: 30 }),
      );
      expect(error.code).toBe(50);
    }));

  test('makes an index build wait until it ends', () =>
    inTransaction(async (session) => {
      await things().insertOne({ _id: 3, n: 3 }, { session });
      const build = things().createIndex({ n: 1 });
      await things().findOne({});
      await session.commitTransaction();
      await build;
      expect(await things().find({ n: 3 }, { hint: 'n_1' }).toArray()).toEqual([{ _id: 3, n: 3 }]);
    }));
});

test('concurrent claims give each document to one owner', async () => {
  await things().deleteMany({});
  await things().createIndex({ state: 1, _id: 1 });
  await things().insertMany(Array.from({ length: 400 }, (_, _id) => ({ _id, state: 'ready' })));
  const claims: number[] = [];
  await Promise.all(
    Array.from({ length: 16 }, async (_, index) => {
      for (;;) {
        const found = await things().findOneAndUpdate(
          { state: 'ready' },
          { $set: { state: 'running', owner: `o${index}` } },
          { sort: { _id: 1 } },
        );
        if (found === null) return;
        claims.push(found._id);
      }
    }),
  );
  expect(claims.sort((left, right) => left - right)).toEqual(
    Array.from({ length: 400 }, (_, id) => id),
  );
});

test('concurrent upserts of one key make one document', async () => {
  const results = await Promise.all(
    Array.from({ length: 20 }, () =>
      things().updateOne({ _id: 77 }, { $inc: { n: 1 } }, { upsert: true }),
    ),
  );
  expect(results.filter((result) => result.upsertedCount === 1)).toHaveLength(1);
  expect(await things().findOne({ _id: 77 })).toEqual({ _id: 77, n: 20 });
});

test('documents expire by the clock of the server, not before', async () => {
  await things().createIndex({ at: 1 }, { expireAfterSeconds: 60 });
  const now = Date.now();
  await things().insertMany([
    { _id: 10, at: new Date(now - 1_000) },
    { _id: 11, at: new Date(now + 3_600_000) },
  ]);
  await things().insertOne({ _id: 12, at: new Date(now - 61_000) });
  await until(async () => (await things().findOne({ _id: 12 })) === null);
  expect(await things().countDocuments({ _id: { $in: [10, 11] } })).toBe(2);
  skewMs = 70_000;
  await until(async () => (await things().findOne({ _id: 10 })) === null);
  expect(await things().countDocuments({ _id: { $in: [1, 2, 11] } })).toBe(3);
});

test('an idle cursor and a long transaction end after their time', async () => {
  await things().insertMany(Array.from({ length: 10 }, (_, index) => ({ _id: 100 + index })));
  const cursor = things().find({}, { batchSize: 2 });
  await cursor.next();
  const session = client.startSession();
  session.startTransaction();
  await things().updateOne({ _id: 1 }, { $set: { n: 1 } }, { session });
  skewMs = 11 * 60_000;
  // A plain write gets through once the transaction's time is over.
  await things().updateOne({ _id: 1 }, { $set: { n: 2 } });
  const error = await errorOf(session.commitTransaction());
  expect(error.code).toBe(251);
  await session.endSession();
  const late = await errorOf(
    (async () => {
      while (await cursor.next());
    })(),
  );
  expect(late.code).toBe(43);
});

test('the failCommand fail point fails what it is told to, so often', async () => {
  await client.db('admin').command({
    configureFailPoint: 'failCommand',
    mode: { times: 1 },
    data: { failCommands: ['find'], errorCode: 11600 },
  });
  // The driver retries a read once.
  expect(await things().findOne({ _id: 1 })).toEqual({ _id: 1, n: 0 });
  await client.db('admin').command({
    configureFailPoint: 'failCommand',
    mode: { times: 1 },
    data: { failCommands: ['insert'], closeConnection: true },
  });
  await things().insertOne({ _id: 50 });
  expect(await things().countDocuments({ _id: 50 })).toBe(1);
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 90_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('the awaited state did not come');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
