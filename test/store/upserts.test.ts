/** Upserts of one key in one moment, on a server that lets them meet: always the embedded one, whose adversary does. */
import { startServer } from '@flowline/devdb';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dateSlot } from '../../packages/core/src/model/ids.js';
import { connectStore } from '../../packages/core/src/store/connect.js';
import type { Store } from '../../packages/core/src/store/store.js';
import { graphOf } from './graphs.js';
import { definitionOf, deployment } from './scheduling.js';

const processes = 4;
let server: Awaited<ReturnType<typeof startServer>>;
let stores: Store[];

beforeAll(async () => {
  server = await startServer({ adversary: { seed: 7, racingUpserts: true, maxDelayMs: 5 } });
  const connection = { uri: server.uri, database: 'upserts' };
  stores = await Promise.all(Array.from({ length: processes }, () => connectStore(connection)));
  await stores[0]!.prepare();
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await server.close();
});

const byAll = <T>(ask: (store: Store) => Promise<T>) => Promise.all(stores.map(ask));

it('many refuse the same runs: each becomes one line, and nobody is refused himself', async () => {
  const { schedule } = definitionOf('x', { cron: '0 0 1 1 *' });
  const overlap = { schedule: schedule!, maxActiveRuns: 1, maxQueuedRuns: 1 };
  const definition = graphOf('crowded', { only: [] }, overlap);
  await stores[0]!.deployDag(deployment(definition));
  for (let minute = 0; minute < 12; minute += 1) {
    const logicalDate = new Date(Date.UTC(2020, 0, 1, 0, minute));
    const slot = dateSlot(logicalDate);
    await stores[0]!.createRun({ dagId: 'crowded', cause: 'schedule', slot, logicalDate });
  }
  // Somebody marked ten and died: now all find them, and carry the refusals out side by side.
  const client = await MongoClient.connect(server.uri);
  await client
    .db('upserts')
    .collection('runs')
    .updateMany(
      { dagId: 'crowded', logicalDate: { $gte: new Date(Date.UTC(2020, 0, 1, 0, 2)) } },
      { $set: { refused: 'overlap' } },
    );
  await client.close();
  await byAll((store) => store.admitRuns('crowded'));
  const fires = await stores[0]!.listFires('crowded');
  expect(fires.map(({ reason, count }) => [reason, count])).toEqual(
    Array.from({ length: 10 }, () => ['overlap', 1]),
  );
  const runs = await stores[0]!.listRuns({ dagId: 'crowded', limit: 100 });
  expect(runs.map(({ state }) => state).sort()).toEqual(['queued', 'running']);
});

it('many are heard for the first time', async () => {
  await byAll((store) => store.heartbeatRunner('revived', 'running', 5_000));
  expect(await stores[0]!.listRunners()).toMatchObject([{ id: 'revived' }]);
});
