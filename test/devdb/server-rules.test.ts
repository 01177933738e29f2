import { type RunningServer, startServer } from '@flowline/devdb';
import { type ClientSession, Long, MongoClient, type Timestamp } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: RunningServer;
let client: MongoClient;

beforeAll(async () => {
  server = await startServer();
  client = await new MongoClient(server.uri).connect();
});

afterAll(async () => {
  await client.close();
  await server.close();
});

const database = () => client.db('rules');

test('a server that nothing was written to has a cluster time to read after', async () => {
  const fresh = await startServer();
  const other = await new MongoClient(fresh.uri).connect();
  try {
    const { operationTime } = await other.db('admin').command({ ping: 1 });
    expect((operationTime as Timestamp).isZero()).toBe(false);
    await other.withSession({ causalConsistency: true }, async (session: ClientSession) => {
      const things = other.db('fresh').collection('things');
      expect(await things.findOne({}, { session })).toBeNull();
      expect(await things.findOne({}, { session })).toBeNull();
    });
  } finally {
    await other.close();
    await fresh.close();
  }
});

describe('a write that takes the number of another one', () => {
  /** Sends each command under the same session and number, of a client that counts no numbers of its own. */
  async function underOneNumber(
    use: (send: (command: object) => Promise<object>) => Promise<void>,
  ): Promise<void> {
    const other = await new MongoClient(server.uri).connect();
    try {
      await other.withSession((session) =>
        use((command) =>
          other.db('rules').command({ ...command, txnNumber: Long.fromNumber(1) }, { session }),
        ),
      );
    } finally {
      await other.close();
    }
  }

  test('is refused where an update would be answered by a deletion', async () => {
    await database()
      .collection<{ _id: number }>('numbers')
      .insertMany([{ _id: 1 }, { _id: 2 }]);
    await underOneNumber(async (send) => {
      const deletion = { delete: 'numbers', deletes: [{ q: { _id: 1 }, limit: 1 }] };
      expect(await send(deletion)).toMatchObject({ n: 1 });
      const update = { update: 'numbers', updates: [{ q: { _id: 2 }, u: { $set: { n: 1 } } }] };
      await expect(send(update)).rejects.toMatchObject({ code: 40638 });
      expect(await database().collection('numbers').find().toArray()).toEqual([{ _id: 2 }]);
      expect(await send(deletion)).toMatchObject({ n: 1 });
    });
  });

  test('is answered by an insertion', async () => {
    await underOneNumber(async (send) => {
      await send({ insert: 'numbers', documents: [{ _id: 3 }] });
      const update = { update: 'numbers', updates: [{ q: { _id: 2 }, u: { $set: { n: 1 } } }] };
      expect(await send(update)).toMatchObject({
        n: 1,
        nModified: 0,
        upserted: [{ index: 0, _id: 3 }],
      });
    });
  });
});

test('create takes a null viewOn and pipeline as none', async () => {
  await database().command({ create: 'plain', viewOn: null, pipeline: null });
  const [found] = await database().listCollections({ name: 'plain' }).toArray();
  expect(found).toMatchObject({ type: 'collection' });
});

test('killAllSessions aborts what is open', async () => {
  await database().createCollection('open');
  const session = client.startSession();
  session.startTransaction();
  await database().collection('open').insertOne({}, { session });
  await client.db('admin').command({ killAllSessions: [] });
  await expect(session.commitTransaction()).rejects.toMatchObject({ code: 251 });
  await session.endSession();
  expect(await database().collection('open').countDocuments()).toBe(0);
});

test('a pipeline of a change stream names a stage that is unknown, and one that is not allowed', async () => {
  const watch = (stage: object) =>
    database().command({ aggregate: 'open', pipeline: [{ $changeStream: {} }, stage], cursor: {} });
  await expect(watch({ $unheard: 1 })).rejects.toMatchObject({ code: 40324 });
  await expect(watch({ $sort: { a: 1 } })).rejects.toMatchObject({ code: 20 });
});

test.each([{ $out: 'copy' }, { $merge: 'copy' }])(
  '%o does not read linearizable',
  async (stage) => {
    const command = { aggregate: 'open', pipeline: [stage], cursor: {} };
    await expect(
      database().command({ ...command, readConcern: { level: 'linearizable' } }),
    ).rejects.toMatchObject({ code: 72 });
    await database().command({ ...command, readConcern: { level: 'majority' } });
  },
);

test('a socket that drivers would not know for one is refused', async () => {
  await expect(startServer({ socketPath: '/nowhere/devdb' })).rejects.toThrow(
    'startServer: socketPath must end in ".sock"',
  );
});

describe('the positional $', () => {
  const places = () => database().collection<{ _id: number; a?: unknown; b?: unknown }>('places');

  test('does not take a place that the filter names itself', async () => {
    await places().insertMany([
      { _id: 1, a: [0, 1], b: [0] },
      { _id: 2, a: [[0]] },
      { _id: 3, a: [{ b: [0, 1] }] },
    ]);
    await places().updateOne({ _id: 1, a: 1, 'b.0': 0 }, { $set: { 'a.$': 2 } });
    await places().updateOne({ _id: 3, 'a.0.b': 1 }, { $set: { 'a.0.b.$': 2 } });
    for (const filter of [
      { _id: 1, 'a.0': 0 },
      { _id: 2, 'a.0.0': 0 },
    ]) {
      const update = places().updateOne(filter, { $set: { 'a.$': 9 } });
      await expect(update).rejects.toMatchObject({ code: 2 });
    }
    expect(await places().find().sort({ _id: 1 }).toArray()).toEqual([
      { _id: 1, a: [0, 2], b: [0] },
      { _id: 2, a: [[0]] },
      { _id: 3, a: [{ b: [0, 2] }] },
    ]);
  });
});

test('an upsert does not leave out what $setOnInsert cannot set', async () => {
  const things = database().collection<{ _id: number; n?: number }>('unset');
  const update = things.updateOne({ _id: 1 }, { $setOnInsert: { '_id.a': 1 } }, { upsert: true });
  await expect(update).rejects.toMatchObject({ code: 28 });
  expect(await things.countDocuments()).toBe(0);
  await things.insertOne({ _id: 1 });
  const met = await things.updateOne(
    { _id: 1 },
    { $setOnInsert: { '_id.a': 1 }, $set: { n: 1 } },
    { upsert: true },
  );
  expect(met.modifiedCount).toBe(1);
});

test('an array is filled up to the place 1,500,000 behind its end and no farther', async () => {
  const lists = database().collection<{ _id: number; a: number[] }>('lists');
  await lists.insertOne({ _id: 1, a: [] });
  const far = lists.updateOne({ _id: 1 }, { $set: { 'a.1500001': 1 } });
  await expect(far).rejects.toMatchObject({ code: 34 });
  await lists.updateOne({ _id: 1 }, { $set: { 'a.1500000': 1 } });
});

describe('in a transaction', () => {
  test('a capped collection is not written', async () => {
    const capped = await database().createCollection<{ _id: number; n?: number }>('capped', {
      capped: true,
      size: 4096,
    });
    await capped.insertOne({ _id: 1, n: 1 });
    await client.withSession(async (session) => {
      for (const write of [
        () => capped.insertOne({ _id: 2 }, { session }),
        () => capped.updateOne({ _id: 1 }, { $set: { n: 2 } }, { session }),
      ]) {
        session.startTransaction();
        await expect(write()).rejects.toMatchObject({ code: 263 });
        await session.abortTransaction();
      }
    });
    expect(await capped.find().toArray()).toEqual([{ _id: 1, n: 1 }]);
  });

  test('killCursors and the end itself are not the first command', async () => {
    for (const command of [
      { killCursors: 'open', cursors: [Long.ONE] },
      { commitTransaction: 1 },
    ]) {
      await client.withSession(async (session) => {
        session.startTransaction();
        const name = 'killCursors' in command ? 'rules' : 'admin';
        await expect(client.db(name).command(command, { session })).rejects.toMatchObject({
          code: 263,
        });
      });
    }
  });

  test('nobody waits who asks for an index that is there', async () => {
    const indexed = database().collection<{ _id: number; a: number }>('indexed');
    await indexed.createIndex({ a: 1 });
    await client.withSession(async (session) => {
      session.startTransaction();
      await indexed.insertOne({ _id: 1, a: 1 }, { session });
      expect(await indexed.createIndex({ a: 1 })).toBe('a_1');
      await session.commitTransaction();
    });
  });
});

test('a count follows its hint to an index that leaves documents out', async () => {
  const hinted = database().collection('hinted');
  await hinted.createIndex({ x: 1 }, { sparse: true });
  await hinted.insertMany([{ x: 1 }, { y: 1 }]);
  const count = (hint?: object) => database().command({ count: 'hinted', ...(hint && { hint }) });
  expect(await count()).toMatchObject({ n: 2 });
  expect(await count({ x: 1 })).toMatchObject({ n: 1 });
});

test.each([
  [{ find: 'hinted', filter: { a: { $regex: 'a\0b' } } }, 2],
  [{ find: 'hinted', filter: { a: { $regex: 'c'.repeat(32_762) } } }, 51091],
  [{ find: 'hinted', min: { x: 1 }, max: { y: 1 }, hint: { x: 1 } }, 51176],
  [{ find: 'hinted', min: { x: 1 }, hint: { $natural: 1 } }, 2],
  [{ createIndexes: 'hinted', indexes: [{ key: { z: 1 }, name: 'z\0' }] }, 67],
  [{ collMod: 'hinted', index: { name: 'x_1', keyPattern: { x: 1 }, expireAfterSeconds: 1 } }, 72],
])('%o is refused with code %i', async (command, code) => {
  await expect(database().command(command)).rejects.toMatchObject({ code });
});

test('$dateFromString gives null for a format that is missing', async () => {
  const date = { $dateFromString: { dateString: '2020-01-01', format: '$missing' } };
  await database().collection('hinted').insertOne({ z: 1 });
  const found = database()
    .collection('hinted')
    .aggregate([{ $limit: 1 }, { $project: { date } }]);
  expect(await found.toArray()).toMatchObject([{ date: null }]);
});

test('$merge takes the word of a sparse unique index that its key is unique', async () => {
  const target = database().collection('merged');
  await target.createIndex({ k: 1 }, { unique: true, sparse: true });
  await database().collection('source').insertOne({ k: 1 });
  const merge = { $merge: { into: 'merged', on: 'k' } };
  await database()
    .collection('source')
    .aggregate([{ $unset: '_id' }, merge])
    .toArray();
  expect(await target.countDocuments({ k: 1 })).toBe(1);
});

test('a cursor ends with the name of its collection, and with an index of an $or', async () => {
  const read = database().collection<{ _id: number; a?: number; b?: number }>('read');
  await read.createIndexes([{ key: { a: 1 } }, { key: { b: 1 } }]);
  await read.insertMany([1, 2, 3, 4].map((_id) => ({ _id, a: 1, b: 1 })));
  const either = read.find({ $or: [{ a: 1 }, { b: 1 }] }, { batchSize: 2 });
  await either.next();
  await read.dropIndex('b_1');
  await expect(either.toArray()).rejects.toMatchObject({ code: 175 });
  const all = read.find({}, { batchSize: 2 });
  await all.next();
  await read.rename('read_on');
  await expect(all.toArray()).rejects.toMatchObject({ code: 175 });
});
