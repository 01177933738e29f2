/** flow doctor: what it finds in a database that somebody broke, and what --fix makes of it. */
import { fileURLToPath } from 'node:url';
import { type Db, MongoClient } from 'mongodb';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTestDatabase } from '../support/database.ts';
import { type FlowSandbox, openFlow } from '../support/flow.ts';
import { flowHere } from '../support/flow-in-process.ts';

const project = fileURLToPath(new URL('../fixtures/process', import.meta.url));
const clock = new URL('../../bench/chaos/preload/skewed-clock.mjs', import.meta.url).href;

let flow: FlowSandbox;
let client: MongoClient;
let db: Db;
beforeEach(async () => {
  flow = await openFlow(project, { uri: (await openTestDatabase()).uri });
  client = await MongoClient.connect(flow.env.FLOW_MONGODB_URI as string);
  db = client.db(flow.env.FLOW_DATABASE);
});
afterEach(async () => {
  await client.close();
  await flow.close();
});

interface Check {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly details: readonly string[];
  readonly fixed: readonly string[];
}

/** Exit status and checks, by name. */
async function doctor(...args: string[]) {
  const { code, stdout } = await flowHere(['doctor', '--json', ...args], {
    cwd: project,
    env: flow.env,
  });
  const { healthy, checks } = JSON.parse(stdout) as { healthy: boolean; checks: Check[] };
  expect(healthy).toBe(code === 0);
  const by = Object.fromEntries(checks.map((one) => [one.check, one]));
  return {
    code,
    by,
    faults: checks.filter(({ state }) => state === 'fault').map(({ check }) => check),
  };
}

const longAgo = new Date(Date.now() - 3_600_000);

test('an empty database is told and left as it is; a deployed one is healthy', async () => {
  const empty = await doctor();
  expect(empty).toMatchObject({ code: 0, faults: [] });
  expect(empty.by.indexes).toMatchObject({
    state: 'warning',
    message: expect.stringMatching('nothing was deployed'),
  });
  expect(await db.listCollections().toArray()).toEqual([]);
  await flow.here(['deploy', 'held.job.ts']);
  const deployed = await doctor();
  expect(deployed).toMatchObject({ code: 0, faults: [] });
  expect(Object.keys(deployed.by)).toEqual([
    ...['database', 'indexes', 'clock', 'schedules', 'runners'],
    ...['served jobs', 'owed work', 'invariants'],
  ]);
  expect(Object.values(deployed.by).map(({ state }) => state)).toEqual(Array(8).fill('ok'));
});

test('a missing index is a fault and made by --fix; one that somebody else made is told only', async () => {
  await flow.here(['deploy', 'held.job.ts']);
  await db.collection('runs').dropIndex('slot');
  await db.collection('tasks').dropIndex('delayed');
  await db.collection('tasks').createIndex({ delayedUntil: -1 }, { name: 'delayed' });
  const details = ['runs.slot: missing', 'tasks.delayed: different'];
  const found = await doctor();
  expect(found).toMatchObject({ code: 1, faults: ['indexes'], by: { indexes: { details } } });
  await db.collection('tasks').dropIndex('delayed');
  const fixed = await doctor('--fix');
  expect(fixed).toMatchObject({ code: 0, by: { indexes: { fixed: ['made 2 indexes'] } } });
  const indexes = await db.collection('runs').listIndexes().toArray();
  expect(indexes.find(({ name }) => name === 'slot')).toMatchObject({ unique: true });
});

test('a ready task that no runner serves is a fault, and its job is named', async () => {
  await flow.here(['deploy', 'held.job.ts']);
  await flow.here(['run', 'held']);
  const found = await doctor('--fix');
  expect(found).toMatchObject({ code: 1, faults: ['served jobs'] });
  expect(found.by['served jobs']?.details).toEqual(['held held: 1 task waiting']);
});

test('work that a dead fleet left: told, paid by --fix, and then nothing is left', async () => {
  await flow.here(['deploy', 'held.job.ts']);
  const store = await flow.store();
  const [lost, half] = await Promise.all([1, 2].map(() => flow.here(['run', 'held'])));
  await store.registerRunner({
    ...{ id: 'gone', host: 'gone', bootId: null, pidNamespace: null, pid: 1, processStart: null },
    ...{ serveKeys: [], concurrency: 1 },
  });
  const serveKeys = [(await store.getTask(`${lost.id}/held`))?.serveKey as string];
  await store.claimTasks({ runnerId: 'gone', serveKeys, leaseMs: 20_000, limit: 2 });
  // As long ago as that: the lease, the heartbeat, the end of a task that nobody told, the making of a run.
  const { tasks, runs, runners, dags } = {
    ...{
      tasks: db.collection<{ _id: string }>('tasks'),
      runs: db.collection<{ _id: string }>('runs'),
    },
    ...{
      runners: db.collection<{ _id: string }>('runners'),
      dags: db.collection<{ _id: string }>('dags'),
    },
  };
  await tasks.updateOne({ _id: `${lost.id}/held` }, { $set: { 'lease.expiresAt': longAgo } });
  await tasks.updateOne(
    { _id: `${half.id}/held` },
    { $set: { state: 'failed', lease: null, propagated: false, endedAt: longAgo } },
  );
  await runs.updateOne({ _id: half.id }, { $set: { materialized: false, createdAt: longAgo } });
  await dags.updateOne({ _id: 'held' }, { $push: { activeRunIds: 'nobody' } } as object);
  await runners.updateOne({ _id: 'gone' }, { $set: { heartbeatAt: longAgo } });
  const found = await doctor();
  expect(found.code).toBe(1);
  expect(found.by.runners).toMatchObject({
    state: 'warning',
    details: [expect.stringMatching(/^gone \(gone, pid 1\)/)],
  });
  expect(found.by['owed work']?.details).toEqual([
    `1 running task whose lease has expired: ${lost.id}/held`,
    `1 task whose dependents were not told: ${half.id}/held`,
    `1 run without all its tasks: ${half.id}`,
    '1 place held by a closed run: nobody',
  ]);
  // A runner that is heard, so that the database was not away.
  await store.registerRunner({
    ...{ id: 'alive', host: 'h', bootId: null, pidNamespace: null, pid: 2, processStart: null },
    ...{ serveKeys, concurrency: 1 },
  });
  const fixed = await doctor('--fix');
  expect(fixed.by['owed work']).toMatchObject({ state: 'ok' });
  expect(fixed.by['owed work']?.fixed).toEqual(
    expect.arrayContaining(['1 task taken back from a lost runner', '1 run completed']),
  );
  expect(await store.getTask(`${lost.id}/held`)).toMatchObject({ state: 'ready', losses: 1 });
  expect((await store.getDag('held'))?.activeRunIds).not.toContain('nobody');
  expect((await doctor()).by['owed work']).toMatchObject({ state: 'ok', fixed: [] });
});

test('a history that cannot be is told by the invariants, and --fix leaves it alone', async () => {
  await flow.here(['deploy', 'held.job.ts']);
  const { id } = await flow.here(['run', 'held']);
  await flow.here(['cancel', id]);
  await db
    .collection<{ _id: string }>('tasks')
    .updateOne({ _id: `${id}/held` }, { $set: { state: 'ready' } });
  const found = await doctor('--fix');
  expect(found.code).toBe(1);
  expect(found.by.invariants).toMatchObject({ state: 'fault', fixed: [] });
  expect(found.by.invariants?.details.join('\n')).toMatch(/no-open-task-in-closed-run/);
  const text = await flowHere(['doctor'], { cwd: project, env: flow.env });
  expect(text.stdout).toMatch(
    /^fault {3}invariants: \d+ violations? in 1 run and 2 tasks\n {10}\S/m,
  );
});

test('a clock that is ten minutes off is a warning and no fault', async () => {
  await flow.here(['deploy', 'held.job.ts']);
  const end = await flow.spawn(['doctor'], {
    node: ['--import', clock],
    env: { CLOCK_OFFSET_MS: '600000' },
  }).ended;
  expect(end.stdout).toMatch(/^warning clock: this machine's clock is (9m 59s|10m 0s) ahead of/m);
  expect(end.code).toBe(0);
});

test('a database that does not answer: 3', async () => {
  const env = {
    ...flow.env,
    FLOW_MONGODB_URI: 'mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=100',
  };
  expect(await flowHere(['doctor'], { cwd: project, env })).toMatchObject({ code: 3, stdout: '' });
});
