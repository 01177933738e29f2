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
