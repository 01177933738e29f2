/** init, dev, db, completion and next: what a person uses on the first day. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FlowSandbox, openFlow } from '../support/flow.ts';
import { flowHere } from '../support/flow-in-process.ts';
import { until } from '../support/until.ts';

const shop = fileURLToPath(new URL('../fixtures/cli/shop', import.meta.url));

let flow: FlowSandbox;
let folder: string;
beforeAll(async () => {
  // Outside the repository: nothing is installed there, so @flowline/* is the copy of the command itself.
  folder = mkdtempSync(join(tmpdir(), 'flow-first-day-'));
  flow = await openFlow(folder);
});
afterAll(async () => {
  await flow.close();
  rmSync(folder, { recursive: true, force: true });
});

const here = (...args: string[]) => flowHere(args, { cwd: folder, env: flow.env });

test('flow init writes a project that runs; flow dev takes up what changes and keeps what ran while it is broken', async () => {
  const written = await flow.json(['init']);
  expect(written.written).toEqual(['flow.config.ts', 'jobs/hello.job.ts']);
  const twice = await here('init');
  expect(twice).toMatchObject({ code: 1, stdout: '' });
  expect(twice.stderr).toMatch(/are here already; nothing was written\nhint/);

  const dev = flow.spawn(['dev']);
  await until('the first runner', () => /serves 1 jobs/.test(dev.output()));
  const run = await flow.flow(['run', 'hello', '--wait', '--json']);
  expect(run.code).toBe(0);
  expect(JSON.parse(run.stdout)).toMatchObject({ dag: 'hello', state: 'succeeded' });

  const file = join(folder, 'jobs/hello.job.ts');
  const source = readFileSync(file, 'utf8');
  writeFileSync(file, source.replace('@Job({', '@Job({ timeout: "soon",'));
  await until('the complaint', () => /goes on until this is mended/.test(dev.output()));
  expect(dev.output()).toMatch(/\[duration\]\n {2}at jobs\/hello\.job\.ts:3/);
  // Nothing drained: the runner that was there serves on.
  expect(dev.output()).not.toMatch(/draining/);

  writeFileSync(file, source.replace('@Job({', '@Job({ timeout: "5m",'));
  await until('the second runner', () => dev.output().split('serves 1 jobs').length === 3);
  expect(dev.output()).toMatch(/changed hello/);
  dev.child.kill('SIGINT');
  expect((await dev.ended).code).toBe(130);
});

test.skipIf(process.env.FLOW_TEST_MONGODB_URI !== undefined)(
  'flow db start, status and stop',
  async () => {
    const started = await flow.json(['db', 'start']);
    expect(started).toMatchObject({ state: 'running', dataDir: flow.env.FLOW_DATA_DIR });
    const status = await here('db', 'status', '--json');
    expect(JSON.parse(status.stdout)).toMatchObject({ state: 'running', pid: started.pid });
    expect(status.code).toBe(0);
    expect((await here('db', 'stop')).stdout).toBe('the development database is stopped\n');
    expect((await here('db', 'stop')).stdout).toBe('the development database did not run\n');
    expect(await here('db', 'status')).toMatchObject({ code: 1 });
  },
);

test('flow db is about the embedded database only', async () => {
  const env = { ...flow.env, FLOW_MONGODB_URI: 'mongodb://127.0.0.1:1/x' };
  const end = await flowHere(['db', 'status'], { cwd: folder, env });
  expect(end).toMatchObject({ code: 2, stdout: '' });
  expect(end.stderr).toMatch(/a MongoDB URI is set\nhint: Unset FLOW_MONGODB_URI/);
});

test('completion: a script for each shell, and the words that may follow', async () => {
  for (const shell of ['bash', 'zsh', 'fish'])
    expect((await here('completion', shell)).stdout).toMatch(/flow completion words -- /);
  const words = async (...typed: string[]) => {
    const { stdout } = await flowHere(['completion', 'words', '--', ...typed], {
      cwd: shop,
      env: flow.env,
    });
    return stdout.trim().split('\n');
  };
  expect(await words('d')).toContain('deploy');
  expect(await words('backfill', '')).toEqual(['ls', 'show', 'pause', 'resume', 'cancel']);
  expect(await words('run', 'x', '--re')).toContain('--reprocess');
  expect(await words('run', 'x', '--order', '')).toEqual(['oldest', 'newest']);
  // Ids come from the database, and not at all while it is still starting.
  await until('the ids', async () => (await words('show', '')).includes('hello'));
});

test('flow next: local and UTC, over both changes of clocks', async () => {
  const from = ['--tz', 'America/New_York', '--json', '--from'];
  const [spring, autumn, text] = await Promise.all([
    flow.flow(['next', '--cron', '30 2 * * *', ...from, '2026-03-06T12:00:00Z', '--count', '3']),
    here('next', '--cron', '30 1 * * *', ...from, '2026-10-31', '--count', '3'),
    here('next', '--cron', '@hourly', '--from', '2026-01-01', '--count', '1'),
  ]);
  expect(JSON.parse(spring.stdout)).toEqual([
    {
      logicalDate: '2026-03-07T07:30:00.000Z',
      local: '2026-03-07T02:30:00-05:00',
      dataInterval: { from: '2026-03-06T07:30:00.000Z', to: '2026-03-07T07:30:00.000Z' },
      note: null,
    },
    expect.objectContaining({
      logicalDate: '2026-03-08T07:30:00.000Z',
      local: '2026-03-08T03:30:00-04:00',
      note: expect.stringContaining('does not exist'),
    }),
    expect.objectContaining({ logicalDate: '2026-03-09T06:30:00.000Z' }),
  ]);
  const dates = JSON.parse(autumn.stdout).map((fire: { local: string }) => fire.local);
  expect(dates).toEqual([
    '2026-10-31T01:30:00-04:00',
    '2026-11-01T01:30:00-04:00',
    '2026-11-02T01:30:00-05:00',
  ]);
  const either = await here('next', '--cron', '0 0 13 * 5', '--from', '2026-02-07', '--count', '1');
  expect(either).toMatchObject({ code: 0 });
  expect(either.stderr).toMatch(/^warning: .*EITHER/);
  expect(either.stdout).toMatch(/2026-02-13 00:00:00Z/);
  expect(text.stdout).toMatch(/2026-01-01 01:00:00Z +2026-01-01T01:00:00\+00:00/);
});
