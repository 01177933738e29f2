import { fileURLToPath } from 'node:url';
import type { Run } from '@flowline/core/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FlowSandbox, openFlow } from '../support/flow.ts';

const weather = fileURLToPath(new URL('../../examples/weather', import.meta.url));
const range = ['--from', '2012-01-01', '--to', '2012-02-01', '--max-active', '4'];

let flow: FlowSandbox;
beforeAll(async () => {
  flow = await openFlow(weather);
  flow.env.WEATHER_OUT = `${flow.signals}/out`;
  expect((await flow.flow(['deploy'])).code).toBe(0);
});
afterAll(() => flow.close());

test('31 days with three runners, one of them killed: each day once, never more than four at a time, and again makes no run', async () => {
  const runners = [1, 2, 3].map(() => flow.spawn(['runner', '--concurrency', '4']));
  const [victim] = await Promise.all(
    runners.map(async (runner) => ({ ...runner, id: await runner.started })),
  );
  const watched = flow.flow(['run', 'weather', '--backfill', ...range, '--wait', '--json']);
  const store = await flow.store();
  const runsOf = () => store.listRuns({ dagId: 'weather', limit: 1_000 });
  while ((await runsOf()).filter(({ state }) => state === 'succeeded').length < 5) {
    expect((await runsOf()).filter(({ state }) => state === 'running').length).toBeLessThanOrEqual(
      4,
    );
  }
  victim?.child.kill('SIGKILL');
  const { code, stdout } = await watched;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    state: 'succeeded',
    total: 31,
    succeeded: 31,
    failed: 0,
    skipped: 0,
  });

  const runs = await runsOf();
  expect(runs).toHaveLength(31);
  expect(new Set(runs.map(({ logicalDate }) => logicalDate?.toISOString())).size).toBe(31);
  expect(mostAtOnce(runs)).toBeLessThanOrEqual(4);

  const again = await flow.json(['run', 'weather', '--backfill', ...range]);
  expect(again).toMatchObject({ state: 'succeeded', total: 31, skipped: 31, succeeded: 0 });
  expect(await runsOf()).toHaveLength(31);
}, 180_000);

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
