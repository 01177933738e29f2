/** Clocks that are wrong, and a thread that stands still. */
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { useDatabase } from '../../bench/chaos/database.mjs';
import { startProxy } from '../../bench/chaos/tcp-proxy.mjs';
import { endOf, onOtherHost, outcomes, testWithFlow, withClock } from '../support/fleet.ts';
import { until } from '../support/until.ts';

const project = fileURLToPath(new URL('../fixtures/process', import.meta.url));

// The lease is long enough for a machine that does much else: none of these is about how soon it lapses.
const test = testWithFlow(project, 'held.job.ts', ['runner', '--lease', '6s']);

test.concurrent('a leader whose clock is ten minutes ahead fires nothing early and steals no lease', async ({
  flow,
  started,
}) => {
  const store = await flow.store();
  const ahead = await started(['runner'], withClock(10));
  await until('it leads', async () => (await store.getLeadership())?.holder === ahead.id);
  await flow.here(['deploy', 'every-second.job.ts']);
  const { id } = await flow.here(['run', 'held']);
  await until('the start', () => flow.events().some((line) => line.startsWith('start 1')));
  const right = await started(['runner']);
  const runsOf = () => store.listRuns({ dagId: 'every-second', limit: 1_000 });
  // Several rounds of a leader: one that believed its own clock would have taken the task in the first.
  await until('fires', async () => (await runsOf()).length >= 5);
  flow.allow('release');
  const run = await endOf(flow, id);
  expect(outcomes(run, 'held')?.map(([outcome]) => outcome)).toEqual(['succeeded']);
  await flow.here(['pause', 'every-second']);
  for (const { createdAt, startedAt, logicalDate } of await runsOf()) {
    const due = logicalDate?.getTime() as number;
    expect(createdAt.getTime()).toBeGreaterThanOrEqual(due);
    if (startedAt !== null) expect(startedAt.getTime()).toBeGreaterThanOrEqual(due);
  }
  expect((await store.audit()).violations).toEqual([]);
  expect(right.output()).not.toContain('lease lost');
}, 300_000);

test.concurrent('a runner whose clock is ten minutes behind takes over when the lease has lapsed', async ({
  flow,
  started,
}) => {
  const behind = withClock(-10);
  const first = await started();
  const { id } = await flow.here(['run', 'held']);
  await until('the first start', () => flow.events().includes(`start 1 ${first.pid}`));
  const second = await started(undefined, {
    node: [...(onOtherHost.node ?? []), ...(behind.node ?? [])],
    env: { ...onOtherHost.env, ...behind.env },
  });
  first.child.kill('SIGKILL');
  await until('the second start', () => flow.events().includes(`start 2 ${second.pid}`));
  flow.allow('release');
  expect(outcomes(await endOf(flow, id), 'held')).toEqual([
    ['lost', first.id],
    ['succeeded', second.id],
  ]);
}, 300_000);

test.concurrent('a thread that stands still for 45 s keeps its lease, and another one leads meanwhile', async ({
  flow,
  started,
}) => {
  const store = await flow.store();
  const blocked = await started(undefined, { env: { SPIN_MS: '45000', SPIN_UNTIL: 'end' } });
  await until('it leads', async () => (await store.getLeadership())?.holder === blocked.id);
  const { id } = await flow.here(['run', 'spin']);
  await until('the start', () => flow.events().includes(`start 1 ${blocked.pid}`));
  const other = await started(undefined, onOtherHost);
  await until('another leader', async () => (await store.getLeadership())?.holder === other.id);
  flow.allow('end');
  const run = await endOf(flow, id);
  expect(outcomes(run, 'spin')).toEqual([['succeeded', blocked.id]]);
}, 300_000);

test.concurrent('a thread that stands still while its lease is lost: the late result is refused', async ({
  flow,
  started,
  skip,
}) => {
  const database = await useDatabase(flow.env.FLOW_MONGODB_URI as string);
  if (database.target === null) skip(`${database.whyNoProxy}`);
  const proxy = await startProxy(database.target as { host: string; port: number });
  const first = await started(undefined, {
    env: { FLOW_MONGODB_URI: database.uriThrough(proxy.port), SPIN_MS: '0', SPIN_UNTIL: 'end' },
  });
  const { id } = await flow.here(['run', 'spin']);
  await until('the first start', () => flow.events().includes(`start 1 ${first.pid}`));
  const second = await started();
  proxy.cut();
  await until('the second end', () => flow.events().includes(`end 2 ${second.pid}`));
  const run = await endOf(flow, id);
  flow.allow('end');
  proxy.heal();
  await until('the late end', () => flow.events().includes(`end 1 ${first.pid}`));
  await until('the refusal', () => /was refused|lease lost/.test(first.output()));
  expect(await (await flow.store()).viewRun(id)).toEqual(run);
  expect(outcomes(run, 'spin')).toEqual([
    ['lost', first.id],
    ['succeeded', second.id],
  ]);
  await proxy.close();
}, 300_000);
