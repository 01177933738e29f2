/** Backfills and retries with the built command: what they say and what they refuse. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FlowSandbox, openFlow } from '../support/flow.ts';
import { flowHere } from '../support/flow-in-process.ts';

const depot = fileURLToPath(new URL('../fixtures/cli/depot', import.meta.url));

let flow: FlowSandbox;
beforeAll(async () => {
  flow = await openFlow(depot);
  expect((await flow.flow(['deploy'])).code).toBe(0);
  await flow.spawn(['runner']).started;
});
afterAll(() => flow.close());

const here = (...args: string[]) => flowHere(args, { cwd: depot, env: flow.env });
const hereJson = async (...args: string[]) => {
  const { code, stdout, stderr } = await here(...args, '--json');
  if (code !== 0) throw new Error(`flow ${args.join(' ')}: ${code} ${stderr}`);
  return JSON.parse(stdout);
};
const mend = () => rmSync(join(flow.signals, 'broken'), { force: true });

describe('flow retry', () => {
  test('runs what failed again, in the same run; a backfill counts it anew', async () => {
    flow.allow('broken');
    const failed = await here(
      ...['run', 'stock', '--backfill', '--from', '2026-01-01', '--to', '2026-01-03'],
      ...['--wait', '--json'],
    );
    expect(failed.code).toBe(1);
    const backfill = JSON.parse(failed.stdout);
    expect(backfill).toMatchObject({ state: 'failed', failed: 2, succeeded: 0 });
    mend();
    const runs = await hereJson('runs', '--backfill', backfill.id);
    const first = await here('retry', runs[0].id, '--wait');
    expect(first.stderr).toMatch(/^again: price, label\n/);
    expect(first.stdout).toMatch(/label +succeeded +1/);
    expect(first.stdout).toMatch(/price +2 +succeeded/);
    expect(first.code).toBe(0);
    const second = await hereJson('retry', runs[1].id);
    expect(second).toMatchObject({ id: runs[1].id, jobs: ['price', 'label'] });
    expect(Object.keys(second)).toEqual(['id', 'state', 'jobs']);
    const watched = await here('backfill', 'show', backfill.id, '--wait', '--json');
    expect(JSON.parse(watched.stdout)).toMatchObject({
      state: 'succeeded',
      succeeded: 2,
      failed: 0,
    });
    expect(watched.code).toBe(0);
  });

  test('refuses what it cannot do, and says what can be done', async () => {
    const [run] = await hereJson('runs', 'stock', '--state', 'succeeded', '--limit', '1');
    const nothing = await here('retry', run.id);
    expect(nothing).toMatchObject({ code: 1, stdout: '' });
    expect(nothing.stderr).toMatch(/nothing to retry.*\nhint: Name a job with --job/);
    const typo = await here('retry', run.id, '--job', 'pricee');
    expect(typo.stderr).toMatch(/no job "pricee" here\.\nhint: Did you mean "price"/);
    expect((await here('retry', 'nowhere')).stderr).toMatch(/no run "?nowhere"?.*\nhint/);
    const alone = await here('retry', run.id, '--downstream');
    expect(alone).toMatchObject({ code: 2, stdout: '' });
    expect(alone.stderr).toMatch(/--downstream needs --job/);
    const part = await here('retry', run.id, '--job', 'price', '--downstream', '--wait', '--json');
    expect(part.code).toBe(0);
    const again = JSON.parse(part.stdout);
    expect(again.tasks.map((task: { attempts: unknown[] }) => task.attempts.length)).toEqual([
      ...[1, 3, 2],
    ]);
  });
});

describe('flow run --backfill --job', () => {
  const dates = ['run', 'stock', '--backfill', '--from', '2026-02-01', '--to', '2026-02-04'];

  test('plans what has its inputs, runs the part, and says where they come from', async () => {
    const without = await hereJson(...dates, '--job', 'label', '--dry-run');
    expect(without.dates[0]).toMatchObject({
      ...{ action: 'skip', because: 'no run of this date has a result of price', source: null },
    });
    const whole = await here(...dates.slice(0, 5), '--to', '2026-02-03', '--wait', '--json');
    expect(JSON.parse(whole.stdout)).toMatchObject({ succeeded: 2, jobs: null });
    const args = [...dates, '--job', 'price', '--downstream', '--reprocess', 'all'];
    const plan = await here(...args, '--dry-run');
    expect(plan.stdout).toMatch(/2 to run again, 1 left alone\nonly the jobs price, label\n/);
    expect(plan.stdout).toMatch(
      /rerun +price, label succeeded in run \w{26}; inputs from run \w{26}/,
    );
    const done = await here(
      ...args,
      '--max-active',
      '3',
      '--wait',
      '--json',
      '--param',
      'factor=3',
    );
    expect(done.code).toBe(0);
    const backfill = JSON.parse(done.stdout);
    expect(backfill).toMatchObject({
      ...{ total: 3, succeeded: 2, skipped: 1, jobs: ['price', 'label'], params: { factor: 3 } },
      ...{ eta: null, passedOver: [] },
    });
    const [run] = await hereJson('runs', '--backfill', backfill.id);
    expect(run).toMatchObject({ jobs: ['price', 'label'], generation: 1 });
    const shown = await here('show', run.id);
    expect(shown.stdout).toMatch(/, only price, label\n/);
    expect(shown.stdout).toMatch(/count +skipped +0 .*its result is that of run \w{26}/);
    expect((await here('logs', run.id, 'label')).stdout).toMatch(/2026-02-0[12]: 2100\n$/);
    const text = await here('backfill', 'show', backfill.id);
    expect(text.stdout).toMatch(/only the jobs price, label\n/);
    expect(text.stdout).toMatch(/params: \{ "factor": 3 \}\n/);
  });

  test.each([
    [[...dates, '--job', 'pricee'], 1, /no job "pricee".*\nhint: Did you mean "price"/],
    [[...dates, '--downstream'], 2, /--downstream needs --job/],
    [['run', 'stock', '--job', 'price'], 2, /--job belongs to a backfill/],
    [[...dates, '--reprocess', 'al'], 2, /expected none, failed, all/],
    [[...dates, '--max-active', '0'], 2, /--max-active.*whole number from 1/],
    [[...dates, '--max', 'many'], 2, /--max/],
    [[...dates, '--key', 'k'], 2, /--key is for a single run/],
    [['run', 'stock', '--backfill'], 2, /needs --from/],
    [['run', 'stock', '--backfill', '--from', '2026-02-30'], 2, /--from/],
    [['run', 'stock', '--from', '2026-02-01'], 2, /--from belongs to a backfill/],
  ] as [string[], number, RegExp][])('refuses %j', async (args, code, words) => {
    const end = await here(...args);
    expect(end.stderr).toMatch(words);
    expect(end).toMatchObject({ code, stdout: '' });
  });
});
