import { startServer } from '@flowline/devdb';
import { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { ConnectionWatch } from '../../packages/core/dist/store/connection-watch.js';
import { until } from '../support/until.ts';

/** What of the driver's inside the tests reach for: the connection by which it watches a server. */
interface Inside {
  readonly topology: {
    readonly s: {
      readonly servers: Map<
        string,
        { monitor: { connection: { socket: { destroy(): void } } | null; requestCheck(): void } }
      >;
    };
  };
}

test('a monitor that waits for ever is replaced: the database is found again after a restart', async () => {
  let server = await startServer();
  const client = new MongoClient(server.uri, {
    serverSelectionTimeoutMS: 300,
    connectTimeoutMS: 500,
    heartbeatFrequencyMS: 2_000,
    // Between two questions the connection rests, so that it can be broken in the tick of the next question.
    serverMonitoringMode: 'poll',
  });
  await client.connect();
  const collection = client.db('watch').collection<{ _id: number }>('things');
  const watch = new ConnectionWatch(client, () => performance.now()).start();
  try {
    await collection.insertOne({ _id: 1 });
    const [{ monitor }] = [...(client as unknown as Inside).topology.s.servers.values()] as [
      { monitor: { connection: { socket: { destroy(): void } } | null; requestCheck(): void } },
    ];
    let asked = 0;
    client.on('serverHeartbeatStarted', () => {
      asked += 1;
    });
    await until('a question that is never answered', async () => {
      await new Promise((resolve) => client.once('serverHeartbeatSucceeded', resolve));
      // It asks no more often than every 500 ms; then at once, on a socket that is destroyed and not yet reported as closed.
      await new Promise((resolve) => setTimeout(resolve, 700));
      const before = asked;
      monitor.connection?.socket.destroy();
      monitor.requestCheck();
      return asked > before;
    });
    const { port } = server;
    await server.close();
    await collection.findOne({}).catch(() => {});
    server = await startServer({ port });
    await until('the database is found', () =>
      collection.findOne({}).then(
        () => true,
        () => false,
      ),
    );
  } finally {
    await watch.stop();
    await server.close();
  }
});

test('closed on purpose stays closed', async () => {
  const server = await startServer();
  const client = await MongoClient.connect(server.uri);
  const watch = new ConnectionWatch(client, () => performance.now()).start();
  await watch.stop();
  await watch.stop();
  expect(watch.isStopped).toBe(true);
  await expect(client.db('watch').collection('things').findOne({})).rejects.toThrow(/connected/);
  await server.close();
});
