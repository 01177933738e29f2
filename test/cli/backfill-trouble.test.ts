/** A backfill that cannot be fed, beside others: whose failure is told by which command. */
import { fileURLToPath } from 'node:url';
import { type Db, MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';
import { type FlowSandbox, openFlow } from '../support/flow.ts';
import { flowHere } from '../support/flow-in-process.ts';

const depot = fileURLToPath(new URL('../fixtures/cli/depot', import.meta.url));

let database: TestDatabase;
let flow: FlowSandbox;
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  database = await openTestDatabase();
  flow = await openFlow(depot, { uri: database.uri });
  client = await MongoClient.connect(database.uri);
  db = client.db(flow.env.FLOW_DATABASE!);
});
afterAll(async () => {
  await flow?.close();
  await db?.dropDatabase();
  await client?.close();
  await database?.close();
});

const here = (...args: string[]) => flowHere(args, { cwd: depot, env: flow.env });
const oneDay = (from: string, to: string) =>
  here('run', 'stock', '--backfill', '--from', from, '--to', to);

test('is not the failure of another one that is stored; of its own command it is a remark', async () => {
  expect((await here('deploy')).code).toBe(0);
  const stuck = (await oneDay('2026-03-01', '2026-03-02')).stdout.match(/\w{26}/)![0];
  // Its version is gone, and its date had no turn.
  await db
    .collection<{ _id: string }>('backfills')
    .updateOne(
      { _id: stuck },
      { $set: { version: 'gone', cursor: 0, openRunIds: [], activeRunIds: [] } },
    );
  await db.collection('runs').deleteMany({});
  const other = await oneDay('2026-03-03', '2026-03-04');
  expect(other).toMatchObject({ code: 0, stdout: expect.stringMatching(/\w{26}/) });
  expect(other.stderr).not.toContain('could not be made');
  expect((await here('backfill', 'pause', stuck)).code).toBe(0);
  const resumed = await here('backfill', 'resume', stuck);
  expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining(stuck) });
  expect(resumed.stderr).toMatch(/could not be made yet: .*version gone/);
  expect(await db.collection('runs').countDocuments({ cause: 'backfill' })).toBe(1);
});
