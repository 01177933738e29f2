import { MongoClient, MongoServerError } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDevelopmentDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let client: MongoClient;

beforeAll(async () => {
  database = await openDevelopmentDatabase();
  client = await new MongoClient(database.uri).connect();
});

afterAll(async () => {
  await client.close();
  await database.close();
});

describe('the official driver', () => {
  const things = () =>
    client
      .db(database.databaseName)
      .collection<{ _id: number; n?: number; state?: string; at?: Date }>('things');

  beforeEach(async () => {
    await things().drop();
  });

  test('pings and says hello with the local time', async () => {
    const admin = client.db('admin');
    expect(await admin.command({ ping: 1 })).toMatchObject({ ok: 1 });
    const hello = await admin.command({ hello: 1 });
    expect(hello.localTime).toBeInstanceOf(Date);
    expect(hello).not.toHaveProperty('topologyVersion');
  });

  test('inserts, finds, counts and deletes', async () => {
    await things().insertMany([
      { _id: 1, n: 1 },
      { _id: 2, n: 2 },
      { _id: 3, n: 3 },
    ]);
    expect(
      await things()
        .find({ n: { $gte: 2 } })
        .sort({ n: -1 })
        .toArray(),
    ).toEqual([
      { _id: 3, n: 3 },
      { _id: 2, n: 2 },
    ]);
    expect(await things().countDocuments({ n: { $lt: 3 } })).toBe(2);
    expect(await things().estimatedDocumentCount()).toBe(3);
    expect((await things().deleteMany({ n: { $gt: 1 } })).deletedCount).toBe(2);
  });

  test('reads more than one batch', async () => {
    await things().insertMany(Array.from({ length: 350 }, (_, _id) => ({ _id })));
    const found = await things().find({}, { batchSize: 100 }).toArray();
    expect(found.map((one) => one._id)).toEqual(Array.from({ length: 350 }, (_, _id) => _id));
  });

  test('updates, upserts and claims by findOneAndUpdate', async () => {
    await things().createIndex({ state: 1, at: 1 });
    await things().insertMany([
      { _id: 1, state: 'ready', at: new Date(2000) },
      { _id: 2, state: 'ready', at: new Date(1000) },
    ]);
    const claimed = await things().findOneAndUpdate(
      { state: 'ready' },
      { $set: { state: 'running' }, $inc: { n: 1 } },
      { sort: { at: 1 }, returnDocument: 'after' },
    );
    expect(claimed).toEqual({ _id: 2, state: 'running', at: new Date(1000), n: 1 });
    expect(
      (await things().updateOne({ _id: 9 }, { $set: { n: 9 } }, { upsert: true })).upsertedId,
    ).toBe(9);
    expect((await things().updateMany({}, { $inc: { n: 1 } })).modifiedCount).toBe(3);
  });

  test('refuses a duplicate of a unique index with its key', async () => {
    await things().createIndex({ n: 1 }, { unique: true });
    await things().insertOne({ _id: 1, n: 1 });
    const error = await things()
      .insertOne({ _id: 2, n: 1 })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MongoServerError);
    expect(error).toMatchObject({ code: 11000, keyPattern: { n: 1 }, keyValue: { n: 1 } });
  });

  test('aggregates', async () => {
    await things().insertMany([
      { _id: 1, state: 'a' },
      { _id: 2, state: 'a' },
      { _id: 3, state: 'b' },
    ]);
    const groups = await things()
      .aggregate([{ $group: { _id: '$state', n: { $sum: 1 } } }, { $sort: { _id: 1 } }])
      .toArray();
    expect(groups).toEqual([
      { _id: 'a', n: 2 },
      { _id: 'b', n: 1 },
    ]);
  });

  test('commits a transaction as a whole and forgets an aborted one', async () => {
    await things().insertOne({ _id: 1, n: 0 });
    await client.withSession((session) =>
      session.withTransaction(async () => {
        await things().updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session });
        await things().insertOne({ _id: 2 }, { session });
        expect(await things().countDocuments({})).toBe(1);
      }),
    );
    expect(await things().countDocuments({})).toBe(2);
    const session = client.startSession();
    session.startTransaction();
    await things().deleteOne({ _id: 1 }, { session });
    await session.abortTransaction();
    await session.endSession();
    expect(await things().countDocuments({})).toBe(2);
  });

  test('tells a change stream of each change', async () => {
    await things().insertOne({ _id: 0 });
    const stream = things().watch([], { maxAwaitTimeMS: 50 });
    // The stream has to be open before the insert.
    expect(await stream.tryNext()).toBeNull();
    const first = stream.next();
    await things().insertOne({ _id: 1, n: 5 });
    expect(await first).toMatchObject({ operationType: 'insert', fullDocument: { _id: 1, n: 5 } });
    await stream.close();
  });
});
