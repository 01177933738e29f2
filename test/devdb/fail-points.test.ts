import { connect } from 'node:net';
import { type RunningServer, startServer } from '@flowline/devdb';
import { BSON, Long, MongoClient, MongoServerError, UUID } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

let server: RunningServer;
let client: MongoClient;

beforeAll(async () => {
  server = await startServer();
  // What the server answers is looked at, and so the driver must not try again.
  client = await new MongoClient(server.uri, { retryReads: false, retryWrites: false }).connect();
});

afterAll(async () => {
  await client.close();
  await server.close();
});

afterEach(() => client.db('admin').command({ configureFailPoint: 'failCommand', mode: 'off' }));

function failOnce(data: Record<string, unknown>): Promise<unknown> {
  return client
    .db('admin')
    .command({ configureFailPoint: 'failCommand', mode: { times: 1 }, data });
}

async function errorOf(promise: Promise<unknown>): Promise<MongoServerError> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(MongoServerError);
  return error as MongoServerError;
}

/** Sends a command past the driver, which would put in things of its own, and gives the reply. */
async function raw(database: string, command: BSON.Document): Promise<BSON.Document> {
  const body = BSON.serialize({ ...command, $db: database });
  const head = Buffer.alloc(21);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(2013, 12);
  const socket = connect(server.port, '127.0.0.1');
  try {
    socket.write(Buffer.concat([head, body]));
    let reply = Buffer.alloc(0);
    for await (const part of socket) {
      reply = Buffer.concat([reply, part as Buffer]);
      if (reply.length >= 4 && reply.length >= reply.readInt32LE(0)) break;
    }
    return BSON.deserialize(reply.subarray(21), { promoteLongs: false });
  } finally {
    socket.destroy();
  }
}

describe('the data of failCommand', () => {
  test('may name the only namespace that is struck', async () => {
    const struck = client.db('struck');
    await struck.collection('other').insertOne({});
    await failOnce({
      failCommands: ['insert', 'getMore'],
      errorCode: 2,
      namespace: 'struck.things',
    });
    await struck.collection('other').insertOne({});
    await client.db('elsewhere').collection('things').insertOne({});
    expect((await errorOf(struck.collection('things').insertOne({}))).code).toBe(2);
    await struck.collection('things').insertMany([{}, {}, {}]);
    await failOnce({ failCommands: ['getMore'], errorCode: 2, namespace: 'struck.things' });
    await struck.collection('other').find({}, { batchSize: 1 }).toArray();
    const error = await errorOf(struck.collection('things').find({}, { batchSize: 2 }).toArray());
    expect(error.code).toBe(2);
  });

  test('may not ask for what is not done', async () => {
    const error = await errorOf(
      failOnce({ failCommands: ['insert'], errorCode: 2, threadName: 'conn1' }),
    );
    expect(error.code).toBe(238);
    await client.db('struck').collection('things').insertOne({});
  });
});

describe('the labels of an error', () => {
  const passing = [6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436];
  const things = () => client.db('labels').collection('things');

  beforeAll(() => client.db('labels').createCollection('things'));

  /** The labels of the reply to a command of a retryable write, or of a transaction that has begun. */
  async function labelsOf(
    command: Record<string, unknown>,
    data: Record<string, unknown>,
    isTransaction = false,
  ): Promise<unknown> {
    const lsid = { id: new UUID() };
    const numbers = {
      lsid,
      txnNumber: new Long(1),
      ...(isTransaction ? { autocommit: false } : {}),
    };
    if (isTransaction) await raw('labels', { find: 'things', ...numbers, startTransaction: true });
    const name = Object.keys(command)[0]!;
    await failOnce({ failCommands: [name], ...data });
    const database = name.endsWith('Transaction') ? 'admin' : 'labels';
    return (await raw(database, { ...command, ...numbers })).errorLabels;
  }

  const insertion = { insert: 'things', documents: [{ a: 1 }] };

  test.each(passing)(
    'say of code %i that a write or the end of a transaction may be tried again',
    async (errorCode) => {
      const label = ['RetryableWriteError'];
      expect(await labelsOf(insertion, { errorCode })).toEqual(label);
      expect(await labelsOf(insertion, { writeConcernError: { code: errorCode } })).toEqual(label);
      expect(await labelsOf({ commitTransaction: 1 }, { errorCode }, true)).toEqual(label);
      expect(await labelsOf({ abortTransaction: 1 }, { errorCode }, true)).toEqual(label);
      const concern = { writeConcernError: { code: errorCode } };
      expect(await labelsOf({ commitTransaction: 1 }, concern, true)).toEqual(label);
      expect(await labelsOf(insertion, { errorCode }, true)).toEqual(['TransientTransactionError']);
      expect(await raw('labels', insertion)).not.toHaveProperty('errorLabels');
    },
  );

  test.each([24, 112, 246, 251, 267])(
    'say of code %i that a transaction has to begin anew',
    async (errorCode) => {
      expect(await labelsOf(insertion, { errorCode }, true)).toEqual(['TransientTransactionError']);
      expect(await labelsOf(insertion, { errorCode })).toBeUndefined();
    },
  );

  test.each([...passing, 63, 133, 150, 234, 13388])(
    'say of code %i that a change stream may go on',
    async (errorCode) => {
      const pipeline = [{ $changeStream: {} }];
      const open = { aggregate: 'things', pipeline, cursor: {} };
      const { cursor } = await raw('labels', open);
      await failOnce({ failCommands: ['aggregate'], errorCode });
      const reply = await raw('labels', open);
      expect(reply.errorLabels).toEqual(['ResumableChangeStreamError']);
      // A getMore is struck before anything knows whose cursor it reads.
      await failOnce({ failCommands: ['getMore'], errorCode });
      const more = await raw('labels', { getMore: cursor.id, collection: 'things', maxTimeMS: 1 });
      expect(more).not.toHaveProperty('errorLabels');
      await raw('labels', { killCursors: 'things', cursors: [cursor.id] });
      await failOnce({ failCommands: ['aggregate'], errorCode });
      const plain = await raw('labels', { aggregate: 'things', pipeline: [], cursor: {} });
      expect(plain).not.toHaveProperty('errorLabels');
    },
  );

  test('say nothing of other codes', async () => {
    expect(await labelsOf(insertion, { errorCode: 11000 })).toBeUndefined();
    expect(await labelsOf(insertion, { writeConcernError: { code: 64 } })).toBeUndefined();
    expect(await labelsOf({ commitTransaction: 1 }, { errorCode: 50 }, true)).toBeUndefined();
  });

  test('are those that the fail point gives, also none', async () => {
    const given = { errorCode: 91, errorLabels: ['Given'] };
    expect(await labelsOf(insertion, given)).toEqual(['Given']);
    const concern = { writeConcernError: { code: 91 }, errorLabels: ['Given'] };
    expect(await labelsOf(insertion, concern)).toEqual(['Given']);
    expect(await labelsOf(insertion, { errorCode: 91, errorLabels: [] })).toBeUndefined();
    const none = { writeConcernError: { code: 91 }, errorLabels: [] };
    expect(await labelsOf(insertion, none)).toBeUndefined();
  });

  test('make the driver try a write and a transaction again', async () => {
    const patient = await new MongoClient(server.uri).connect();
    try {
      const mine = patient.db('labels').collection<{ _id: string }>('things');
      await failOnce({ failCommands: ['insert'], errorCode: 11600 });
      await mine.insertOne({ _id: 'retried' });
      await failOnce({ failCommands: ['commitTransaction'], errorCode: 91 });
      await patient.withSession((session) =>
        session.withTransaction(async () => {
          await mine.insertOne({ _id: 'committed' }, { session });
        }),
      );
      const ids = await things().distinct('_id', { _id: { $type: 'string' } });
      expect(ids.sort()).toEqual(['committed', 'retried']);
    } finally {
      await patient.close();
    }
  });
});
