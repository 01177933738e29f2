import { fileURLToPath } from 'node:url';
import type { Run } from '@flowline/core/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FlowSandbox, openFlow } from '../support/flow.ts';
import { until } from '../support/until.ts';

const weather = fileURLToPath(new URL('../../examples/weather', import.meta.url));
const range = ['--from', '2012-01-01', '--to', '2012-03-01', '--max-active', '4'];
const days = 60;

let flow: FlowSandbox;
beforeAll(async () => {
  flow = await openFlow(weather);
  flow.env.WEATHER_OUT = `${flow.signals}/out`;
  expect((await flow.flow(['deploy'])).code).toBe(0);
});
afterAll(() => flow.close());

test('60 days with three runners, one killed, one that stands still past its lease, and a pause: each day once, never more than four at a time, and again makes no run', async () => {
  const runners = [1, 2, 3].map(() =>
    flow.spawn(['runner', '--concurrency', '4', '--lease', '3s']),
  );
  await Promise.all(runners.map(({ started }) => started));
  const watched = flow.flow(['run', 'weather', '--backfill', ...range, '--wait', '--json']);
  const store = await flow.store();
  const runsOf = () => store.listRuns({ dagId: 'weather', limit: 1_000 });
  const past = (count: number) =>
    until(
      `${count} days done`,
      async () => {
        const runs = await runsOf();
        const states = runs.map(({ state }) => state);
        expect(states.filter((state) => state === 'running').length).toBeLessThanOrEqual(4);
        return states.filter((state) => state === 'succeeded').length >= count;
      },
      120_000,
    );

  await past(5);
  runners[0]?.child.kill('SIGKILL');
  const [{ id }] = await flow.json(['backfill', 'ls', 'weather']);
  await past(15);
  // Without a process of its own, in whose start the rest could be done.
  expect(await store.pauseBackfill(id)).toMatchObject({ state: 'paused' });
  await until('an end of what ran', async () => (await store.getBackfill(id))?.running === 0);
  const paused = await store.getBackfill(id);
  expect(paused).toMatchObject({ state: 'paused', failed: 0, skipped: 0 });
  expect(await flow.json(['backfill', 'resume', id])).toMatchObject({ changed: true });
  await past((paused?.succeeded ?? days) + 1);
  // Whatever it holds is the others' once its lease is over; what it writes when it wakes is refused.
  runners[1]?.child.kill('SIGSTOP');
  await past(50);
  runners[1]?.child.kill('SIGCONT');

  const { code, stdout } = await watched;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ id, state: 'succeeded', total: days, succeeded: days, failed: 0, skipped: 0 },
  });
  const runs = await runsOf();
  expect(runs).toHaveLength(days);
  expect(new Set(runs.map(({ logicalDate }) => logicalDate?.toISOString())).size).toBe(days);
  expect(mostAtOnce(runs)).toBeLessThanOrEqual(4);
  expect((await store.audit()).violations).toEqual([]);

  const again = await flow.json(['run', 'weather', '--backfill', ...range]);
  expect(again).toMatchObject({ state: 'succeeded', total: days, skipped: days, succeeded: 0 });
  expect(await runsOf()).toHaveLength(days);
}, 300_000);

/** By the intervals that are stored; a run that starts in the millisecond in which another ends follows it. */
function mostAtOnce(runs: readonly Run[]): number {
  const changes = runs.flatMap(({ startedAt, endedAt }) => [
    { at: startedAt?.getTime() as number, by: 1 },
    { at: endedAt?.getTime() as number, by: -1 },
  ]);
  let active = 0;
  let most = 0;
  for (const { by } of changes.sort((a, b) => a.at - b.at || a.by - b.by)) {
    active += by;
    most = Math.max(most, active);
  }
  return most;
}
