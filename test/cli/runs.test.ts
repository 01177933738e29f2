/** Runs and backfills with the built command, on one database and one runner. */
import { fileURLToPath } from 'node:url';
import type { Store } from '@flowline/core/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FlowSandbox, openFlow, type Running } from '../support/flow.ts';
import { flowHere } from '../support/flow-in-process.ts';
import { until } from '../support/until.ts';

const shop = fileURLToPath(new URL('../fixtures/cli/shop', import.meta.url));

let flow: FlowSandbox;
let store: Store;
let runner: Running | undefined;
beforeAll(async () => {
  flow = await openFlow(shop);
  store = await flow.store();
  expect((await flow.flow(['deploy'])).code).toBe(0);
});
afterAll(() => flow.close());

const here = (...args: string[]) => flowHere(args, { cwd: shop, env: flow.env });
const hereJson = async (...args: string[]) => {
  const { code, stdout, stderr } = await here(...args, '--json');
  if (code !== 0) throw new Error(`flow ${args.join(' ')}: ${code} ${stderr}`);
  return JSON.parse(stdout);
};
const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id);

const runKeys = ['id', 'dag', 'version', 'state', 'cause', 'logicalDate', 'dataInterval', 'params'];
const moreRunKeys = ['createdAt', 'startedAt', 'endedAt'];
const backfillKeys = ['id', 'dag', 'version', 'from', 'to', 'state', 'total', 'succeeded'];
const moreBackfillKeys = ['failed', 'cancelled', 'skipped', 'running', 'queued'];

test('--wait without a runner says so, Ctrl-C leaves with 130, and the run goes on', async () => {
  const waiting = flow.spawn(['run', 'echo', '--param', 'n=1', '--wait', '--json']);
  await until('the word about runners', () => /no runner is alive/.test(waiting.output()));
  waiting.child.kill('SIGINT');
  const end = await waiting.ended;
  expect(end.stderr).toMatch(/stopped watching; the run goes on: flow show \w{26}/);
  expect(end).toMatchObject({ code: 130, stdout: '' });
  const [run] = await hereJson('runs', 'echo');
  expect(run).toMatchObject({ state: 'running', params: { n: 1 }, cause: 'manual' });
  runner = flow.spawn(['runner']);
  await runner.started;
  await until('its end', async () => (await store.getRun(run.id))?.state === 'succeeded');
});

test('flow run --wait prints the run and ends as it does: 0 for a success, 1 for a failure', async () => {
  const [good, bad] = await Promise.all([
    flow.flow(['run', 'daily-sales', '--wait']),
    flow.flow(['run', 'broken-part', '--wait', '--json', '--reason', 'to see']),
  ]);
  expect(good.code).toBe(0);
  expect(good.stderr).toMatch(/total: succeeded/);
  expect(good.stdout).toMatch(/^daily-sales \w{26} {2}succeeded\n/);
  expect(good.stdout).toMatch(/extract-orders +succeeded +1/);
  expect(bad.code).toBe(1);
  const run = JSON.parse(bad.stdout);
  expect(Object.keys(run).slice(0, 11)).toEqual([...runKeys, ...moreRunKeys]);
  expect(run).toMatchObject({
    state: 'failed',
    reason: 'to see',
    tasks: [{ job: 'broken-part', state: 'failed', attempts: [{ n: 1, outcome: 'failed' }] }],
  });
  expect(Object.keys(run.tasks[0].attempts[0])).toEqual([
    'n',
    'outcome',
    'runner',
    'startedAt',
    'endedAt',
    'error',
  ]);
  expect(run.tasks[0].attempts[0].error.message).toBe('the supplier sent no file');
  const shown = await here('show', run.id);
  expect(shown.stdout).toContain('the supplier sent no file');
  expect(shown.stdout).toContain('reason: to see');
});

test('params, keys and start times', async () => {
  const first = await hereJson(
    'run',
    'echo',
    '--params',
    '{"a":1}',
    '--param',
    'b=x',
    '--key',
    'k',
  );
  expect(first).toMatchObject({ params: { a: 1, b: 'x' }, created: true });
  const same = await hereJson('run', 'echo', '--key', 'k');
  expect(same).toMatchObject({ id: first.id, created: false, params: { a: 1, b: 'x' } });
  const at = await hereJson('run', 'echo', '--at', '2099-01-01T00:00:00+01:00');
  expect(at).toMatchObject({ state: 'queued', notBefore: '2098-12-31T23:00:00.000Z' });
  const delayed = await hereJson('run', 'echo', '--delay', '1h30m');
  const waits = Date.parse(delayed.notBefore) - Date.parse(delayed.createdAt);
  expect(Math.abs(waits - 90 * 60_000)).toBeLessThan(60_000);
  const cancelled = await here('cancel', at.id, '--reason', 'not needed');
  expect(cancelled).toMatchObject({ code: 0, stdout: `run ${at.id} is cancelled\n` });
  expect(await hereJson('show', at.id)).toMatchObject({ state: 'cancelled', reason: 'not needed' });
  await hereJson('cancel', delayed.id);
});

test('logs: all lines, those of a job, the last ones, and as they come', async () => {
  const { id } = await hereJson('run', 'patient');
  const following = flow.spawn(['logs', id, '--follow', '--json']);
  await until('the first line', () => /"waiting"/.test(following.output()));
  flow.allow('release');
  const { stdout, code } = await following.ended;
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(code).toBe(0);
  expect(lines.map(({ message }) => message)).toEqual(['waiting', 'released']);
  expect(lines[0]).toMatchObject({ run: id, job: 'patient', attempt: 1, level: 'info' });
  const last = await here('logs', id, 'patient', '--tail', '1');
  expect(last.stdout).toMatch(/^\S+ info {2}patient#1 released\n$/);
  const other = await here('logs', id, 'total');
  expect(other.stderr).toMatch(/has no job "total"\nhint: It has: patient/);
  expect(other).toMatchObject({ code: 1, stdout: '' });
  const over = await here('cancel', id);
  expect(over).toMatchObject({ code: 1, stdout: `run ${id} was over already: succeeded\n` });
});

test('flow runs: filters and paging', async () => {
  const all = await hereJson('runs');
  expect(ids(all)).toEqual([...ids(all)].sort().reverse());
  const page = await hereJson('runs', '--limit', '2', '--before', all[0].id);
  expect(ids(page)).toEqual(ids(all).slice(1, 3));
  const failed = await hereJson('runs', '--state', 'failed', '--cause', 'manual');
  expect(failed.map(({ dag }: { dag: string }) => dag)).toEqual(['broken-part']);
  const text = await here('runs', 'echo', '--state', 'cancelled');
  expect(text.stdout).toMatch(/^RUN +DAG +STATE +CAUSE +LOGICAL DATE +STARTED +TIME\n/);
  expect(text.stdout.trim().split('\n')).toHaveLength(3);
});

test('pause and resume, twice each', async () => {
  expect(await hereJson('pause', 'minutely')).toMatchObject({ paused: true, changed: true });
  expect((await here('pause', 'minutely')).stdout).toBe('minutely was paused already\n');
  expect((await here('show', 'minutely')).stdout).toMatch(/paused since/);
  expect((await here('resume', 'minutely', '--on-resume', 'skip')).stdout).toBe(
    'minutely is resumed\n',
  );
  expect(await hereJson('resume', 'minutely')).toMatchObject({ paused: false, changed: false });
  expect(await hereJson('fires', 'daily-sales')).toEqual([]);
});

test.each([
  [['run', 'ecko'], /no DAG "ecko" is deployed\nhint: Did you mean "echo"/],
  [['pause', 'ecko'], /Did you mean "echo"/],
  [['resume', 'ecko'], /Did you mean "echo"/],
  [['fires', 'ecko'], /Did you mean "echo"/],
  [['next', 'ecko'], /Did you mean "echo"/],
  [['runs', 'ecko'], /Did you mean "echo"/],
  [['backfill', 'ls', 'ecko'], /Did you mean "echo"/],
  [['runs', '--backfill', 'nowhere'], /no backfill "?nowhere/],
  [['show', 'nowhere'], /no DAG and no run "nowhere"\nhint/],
  [['logs', 'nowhere'], /no run "nowhere"\nhint/],
  [['cancel', 'nowhere'], /no run "?nowhere"?.*\nhint/],
  [['backfill', 'show', 'nowhere'], /no backfill "?nowhere"?.*\nhint/],
  [['backfill', 'show', 'nowhere', '--wait'], /no backfill "?nowhere"?.*\nhint/],
  [['backfill', 'pause', 'nowhere'], /no backfill "?nowhere"?.*\nhint/],
  [['backfill', 'resume', 'nowhere'], /no backfill "?nowhere"?.*\nhint/],
  [['backfill', 'cancel', 'nowhere'], /no backfill "?nowhere"?.*\nhint/],
] as [string[], RegExp][])('what is not there: %j', async (args, words) => {
  const [text, json] = await Promise.all([here(...args), here(...args, '--json')]);
  expect(text.stderr).toMatch(words);
  expect(text).toMatchObject({ code: 1, stdout: '' });
  expect(json).toEqual(text);
});

const range = ['run', 'daily-sales', '--backfill', '--from', '2026-03-27', '--to', '2026-04-01'];

test('a backfill: planned, run to its end, and nothing is left for a second one', async () => {
  const plan = await hereJson(...range, '--dry-run');
  expect(plan).toMatchObject({ dag: 'daily-sales', total: 5, note: null });
  expect(plan.dates[2]).toMatchObject({
    logicalDate: '2026-03-29T01:00:00.000Z',
    action: 'create',
  });
  expect(await hereJson('backfill', 'ls')).toEqual([]);
  const done = await flow.flow([...range, '--max-active', '3', '--wait', '--json']);
  expect(done.code).toBe(0);
  const backfill = JSON.parse(done.stdout);
  expect(Object.keys(backfill).slice(0, 13)).toEqual([...backfillKeys, ...moreBackfillKeys]);
  expect(backfill).toMatchObject({ state: 'succeeded', total: 5, succeeded: 5, skipped: 0 });
  const runs = await hereJson('runs', '--backfill', backfill.id);
  expect(new Set(runs.map((run: { logicalDate: string }) => run.logicalDate)).size).toBe(5);
  const again = await hereJson(...range);
  expect(again).toMatchObject({ state: 'succeeded', total: 5, skipped: 5, succeeded: 0 });
  expect(await hereJson('runs', '--cause', 'backfill')).toHaveLength(5);
  expect((await here('backfill', 'show', backfill.id)).stdout).toMatch(
    /5 of 5 done \(5 succeeded\)/,
  );
});

test('backfills at their limits: nothing, too much, beyond the cursor, no schedule, a wrong order', async () => {
  const dates = (dag: string, from: string, to: string) =>
    ['run', dag, '--backfill', '--from', from, '--to', to] as const;
  const none = await here(...dates('daily-sales', '2026-03-01', '2026-03-01'));
  expect(none).toMatchObject({ code: 0 });
  expect(none.stderr).toMatch(/^0 intervals/);
  const flood = await here(...dates('minutely', '2026-03-01', '2026-03-02'));
  expect(flood).toMatchObject({ code: 2, stdout: '' });
  expect(flood.stderr).toMatch(/would make 1440 runs, more than 1000\nhint: .*--dry-run/);
  const { nextFireAt } = (await store.getDag('daily-sales'))!;
  const beyond = await hereJson(...dates('daily-sales', '2026-03-01', '2099-01-01'), '--dry-run');
  expect(beyond.to).toBe(nextFireAt?.toISOString());
  expect(beyond.note).toMatch(/belong to the scheduler/);
  const demand = await here(...dates('echo', '2026-03-01', '2026-03-02'));
  expect(demand).toMatchObject({ code: 2, stdout: '' });
  expect(demand.stderr).toMatch(/echo has no schedule.*\nhint/);
  const order = await here(...range, '--order', 'newst');
  expect(order).toMatchObject({ code: 2 });
  expect(order.stderr).toMatch(/--order: expected oldest, newest.*\nhint: Did you mean "newest"/);
  const backwards = await here(...dates('daily-sales', '2026-03-02', '2026-03-01'));
  expect(backwards).toMatchObject({ code: 2, stdout: '' });
});

test('a backfill can be paused, resumed and cancelled', async () => {
  runner?.child.kill('SIGTERM');
  const drained = await runner?.ended;
  expect(drained).toMatchObject({ code: 143, stdout: '' });
  const { id } = await hereJson(
    ...['run', 'daily-sales', '--backfill', '--from', '2026-02-01', '--to', '2026-02-05'],
  );
  expect(await hereJson('backfill', 'pause', id)).toMatchObject({ state: 'paused' });
  expect(await hereJson('backfill', 'resume', id)).toMatchObject({ state: 'running' });
  const listed = await hereJson('backfill', 'ls', 'daily-sales', '--state', 'running');
  expect(ids(listed)).toEqual([id]);
  const cancelled = await hereJson('backfill', 'cancel', id, '--running');
  expect(cancelled).toMatchObject({ id, total: 4, succeeded: 0 });
  const watched = await here('backfill', 'show', id, '--wait');
  expect(watched.code).toBe(1);
  expect(watched.stdout).toMatch(/: cancelled, /);
});
