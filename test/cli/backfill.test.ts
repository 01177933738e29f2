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
