/** The network between one runner and the database: cut past the lease, cut while it leads, slow. */
import { fileURLToPath } from 'node:url';
import { afterAll, test as base, beforeAll, expect } from 'vitest';
import { useDatabase } from '../../bench/chaos/database.mjs';
import { startProxy } from '../../bench/chaos/tcp-proxy.mjs';
import { openTestDatabase } from '../support/database.ts';
import { endOf, outcomes, testWithFlow } from '../support/fleet.ts';
import { until } from '../support/until.ts';

const project = fileURLToPath(new URL('../fixtures/process', import.meta.url));
const runnerArgs = ['runner', '--lease', '3s'];
const test = testWithFlow(project, 'held.job.ts', runnerArgs);

let database: Awaited<ReturnType<typeof useDatabase>>;
beforeAll(async () => {
  database = await useDatabase((await openTestDatabase()).uri);
});
const proxies: { close(): Promise<void> }[] = [];
afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()));
});

/** A proxy to the primary, and the environment of a runner behind it. */
async function proxied() {
  const proxy = await startProxy(database.target as { host: string; port: number });
  proxies.push(proxy);
  return { proxy, env: { FLOW_MONGODB_URI: database.uriThrough(proxy.port) } };
}

base('a proxy can stand before this database', ({ skip }) => {
  // An encrypted connection is for the names of the servers: the other tests of this file are left out there.
  if (database.target === null) skip(`${database.whyNoProxy}`);
});

test.concurrent('cut off past its lease: another runner takes the task, the late result is refused', async ({
  flow,
  started,
  skip,
}) => {
  if (database.target === null) skip();
  const { proxy, env } = await proxied();
  const first = await started(runnerArgs, { env });
  const { id } = await flow.here(['run', 'held']);
  await until('the first start', () => flow.events().includes(`start 1 ${first.pid}`));
  // Deaf: it goes on although its runner tells it that the lease cannot be confirmed.
  flow.allow('deaf');
  const second = await started();
  proxy.cut();
  await until('the second start', () => flow.events().includes(`start 2 ${second.pid}`));
  flow.allow('release');
  await until('the late end', () => flow.events().includes(`end 1 ${first.pid}`));
  const run = await endOf(flow, id);
  proxy.heal();
  await until('the refusal', () => /was refused|lease lost/.test(first.output()));
  const after = await (await flow.store()).viewRun(id);
  expect(after).toEqual(run);
  expect(outcomes(run, 'held')).toEqual([
    ['lost', first.id],
    ['succeeded', second.id],
  ]);
  // It is a runner like any other again.
  second.child.kill('SIGKILL');
  const next = await flow.here(['run', 'held']);
  expect(outcomes(await endOf(flow, next.id), 'held')).toEqual([['succeeded', first.id]]);
}, 300_000);

test.concurrent('a leader that is cut off: another one leads, no fire is run twice and none is lost', async ({
  flow,
  started,
  skip,
}) => {
  if (database.target === null) skip();
  const { proxy, env } = await proxied();
  const store = await flow.store();
  const first = await started(runnerArgs, { env });
  await until('it leads', async () => (await store.getLeadership())?.holder === first.id);
  await started();
  await flow.here(['deploy', 'every-second.job.ts']);
  const runsOf = () => store.listRuns({ dagId: 'every-second', limit: 1_000 });
  await until('the first fires', async () => (await runsOf()).length >= 3);
  proxy.cut();
  await until('another leader', async () => {
    const office = await store.getLeadership();
    return office !== null && office.holder !== first.id;
  });
  const before = (await runsOf()).length;
  proxy.heal();
  await until('further fires', async () => (await runsOf()).length >= before + 3);
  await flow.here(['pause', 'every-second']);
  const { violations } = await store.audit();
  expect(violations).toEqual([]);
  const dates = (await runsOf()).map(({ logicalDate }) => logicalDate?.getTime());
  expect(new Set(dates).size).toBe(dates.length);
}, 300_000);

test.concurrent('a slow network: the lease is kept, the result is accepted', async ({
  flow,
  started,
  skip,
}) => {
  if (database.target === null) skip();
  const { proxy, env } = await proxied();
  const first = await started(['runner', '--lease', '5s'], { env });
  proxy.delay(150);
  await started(['runner', '--lease', '5s']);
  const { id } = await flow.here(['run', 'held']);
  await until('the start', () => flow.events().some((line) => line.startsWith('start 1')));
  const store = await flow.store();
  // Renewed twice: the lease ends later than it did at the claim, and later again.
  const expiry = async () => (await store.getTask(`${id}/held`))?.lease?.expiresAt.getTime() ?? 0;
  for (let renewals = 0, last = await expiry(); renewals < 2; renewals += 1)
    last = await until('a renewal', async () => ((now) => now > last && now)(await expiry()));
  flow.allow('release');
  const run = await endOf(flow, id);
  expect(outcomes(run, 'held')?.map(([outcome]) => outcome)).toEqual(['succeeded']);
  expect(first.output()).not.toContain('lease lost');
}, 300_000);
