import { type RunningServer, startServer } from '@flowline/devdb';
import { MongoClient, MongoServerError } from 'mongodb';
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
