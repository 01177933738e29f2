/** What a person gets who types something wrong, or asks for help: no database is needed for any of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandTable } from '../../packages/cli/dist/command-line/table.js';
import { type Ended, type FlowSandbox, openFlow } from '../support/flow.ts';
import { flowHere } from '../support/flow-in-process.ts';
import { until } from '../support/until.ts';

const shop = fileURLToPath(new URL('../fixtures/cli/shop', import.meta.url));

let flow: FlowSandbox;
let folder: string;
beforeAll(async () => {
  flow = await openFlow(shop);
  folder = mkdtempSync(join(tmpdir(), 'flow-usage-'));
});
afterAll(async () => {
  await flow.close();
  rmSync(folder, { recursive: true, force: true });
});

const here = (args: readonly string[]) => flowHere(args, { cwd: shop, env: flow.env });

/** A sentence, and neither a stack trace nor the words for a fault of our own. */
function expectSentence(
  { code, stdout, stderr }: Pick<Ended, 'code' | 'stdout' | 'stderr'>,
  expectedCode: number,
  words: RegExp,
) {
  expect(stderr).toMatch(words);
  expect(stderr).not.toMatch(
    /^\s+at (?:\S+ \(|async |file:|node:|\/)|fault in Flowline|undefined|NaN|\[object/m,
  );
  expect(stdout).toBe('');
  expect(code).toBe(expectedCode);
}

const commands = commandTable.flatMap((entry) =>
  'commands' in entry ? entry.commands.map(({ name }) => `${entry.name} ${name}`) : [entry.name],
);

describe('each command', () => {
  test.each(commands)('flow %s: a misspelt flag, and help with an example', async (command) => {
    const words = command.split(' ');
    const [misspelt, help] = await Promise.all([
      here([...words, '--mongo-uri', 'x']),
      here([...words, '--help']),
    ]);
    expectSentence(
      misspelt,
      2,
      new RegExp(
        `^error: flow ${command} has no flag --mongo-uri\\nhint: Did you mean --mongodb-uri\\?\\n$`,
      ),
    );
    expect(help.stdout).toMatch(new RegExp(`Examples:\\n  flow ${command}`));
    expect(help).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('wrong input', () => {
  test.each([
    [['depoy'], /no command "depoy"\nhint: Did you mean "flow deploy"\?/],
    [['backfill', 'lss'], /no command "lss"\nhint: Did you mean "flow backfill ls"\?/],
    [['--verion'], /hint: Did you mean --version\?/],
    [['show'], /flow show needs <id>/],
    [['pause', 'a', 'b'], /does not know what to do with "b"/],
    [['compile', '--format', 'svg'], /--format: expected text, mermaid, found "svg"/],
    [['runs', '--state', 'fialed'], /Did you mean "failed"\?/],
    [['runs', '--limit', 'many'], /--limit: expected a number, found "many"/],
    [['fires', 'a', '--limit', '0'], /--limit: expected a whole number from 1/],
    [['runs', '--before', 'yesterday'], /--before: expected the id of a run/],
    [['dags', '--data-dir'], /--data-dir needs a value/],
    [['run', 'x', '--delay', '-5s'], /begins with a dash is written --delay=-5s/],
    [['run', 'x', '--delay=-5s'], /--delay: expected a duration/],
    [['dags', '--json=maybe'], /--json: expected no value, or true or false, found "maybe"/],
    [['dags', '--database', 'a', '--database', 'b'], /--database stands 2 times/],
    [['dags', '--log-level', 'loud'], /--log-level: expected debug, info, warn, error/],
    [['dags', '--mongodb-uri', 'mongo://me:secret@x'], /begins with mongodb:\/\//],
    [['dags', '--config', 'nowhere.ts'], /--config nowhere\.ts: expected a file, found none/],
    [['compile', 'nowhere'], /nowhere: expected a file, folder or glob, found no such path/],
    [['compile', '--out', '/dev/null/dags.json'], /cannot be written: a part of its path/],
    [['deploy', 'jobs', '--prune'], /--prune needs the whole project, found paths/],
    [['run', 'echo', '--from', '2026-01-01'], /--from belongs to a backfill/],
    [['run', 'echo', '--backfill'], /a backfill needs --from/],
    [['run', 'echo', '--backfill', '--from', '2026-01-01', '--key', 'x'], /--key is for a single/],
    [['run', 'echo', '--params', '{'], /--params: expected JSON/],
    [['run', 'echo', '--param', 'day'], /--param: expected name=value, found "day"/],
    [['next'], /needs a DAG or --cron/],
    [['next', 'x', '--tz', 'UTC'], /--tz goes with --cron/],
    [['next', '--cron', '0 2 * *'], /--cron: expected 5 fields.*found 4.*\nhint: For example/],
    [['next', '--cron', '0 2 30 2 *'], /--cron: never fires: no day 30 in FEB\nhint/],
    [['next', '--cron', '0 2 * * *', '--tz', 'Europe/Pariss'], /--tz: .*\nhint: .*Europe\/Paris/],
    [['runner', '--concurrency', '0'], /concurrency/],
    [['runner', '--no-lead', '--only-lead'], /no-lead/],
    [['completion', 'tcsh'], /Expected bash, zsh or fish/],
  ] as [string[], RegExp][])('%j', async (args, words) => {
    // A runner talks to its parent, which is vitest here.
    const end = await (args[0] === 'runner' ? flow.flow(args) : here(args));
    expectSentence(end, 2, words);
    expect(end.stderr).not.toContain('secret');
  });
});

describe('the surroundings', () => {
  test('a database that is not there: 3 within seconds, and no password in what is said', async () => {
    const env = {
      FLOW_DATA_DIR: '',
      FLOW_MONGODB_URI: 'mongodb://me:hidden@127.0.0.1:1/shop',
    };
    const ends = await Promise.all([
      flow.flow(['dags', '--json'], { env }),
      ...[
        ['deploy', '--json'],
        ['run', 'echo'],
        ['show', 'x'],
        ['logs', 'x'],
        ['next', 'x'],
      ].map((args) => flowHere(args, { cwd: shop, env })),
    ]);
    for (const end of ends) {
      // A deploy may have warned about schedules before.
      const stderr = end.stderr.slice(Math.max(0, end.stderr.search(/^error/m)));
      const words = /^error: The database does not answer: .*\nhint: .*FLOW_MONGODB_URI/;
      expectSentence({ ...end, stderr }, 3, words);
      expect(end.stderr).not.toContain('hidden');
    }
  });

  test('a runner that is to deploy first needs a database: 3', async () => {
    const env = { FLOW_DATA_DIR: '', FLOW_MONGODB_URI: 'mongodb://me:hidden@127.0.0.1:1/shop' };
    const end = await flow.flow(['runner', '--deploy'], { env });
    expect(end).toMatchObject({ code: 3, stdout: '' });
    // Warnings about the definitions may come before it.
    expect(end.stderr).toMatch(
      /^error: The database does not answer: .*\nhint: .*FLOW_MONGODB_URI/m,
    );
    expect(end.stderr).not.toContain('hidden');
  });

  test('a runner waits for a database that is away, says so without the password, and ends when asked', async () => {
    const runner = flow.spawn(['runner', '--health-port', '0'], {
      env: { FLOW_DATA_DIR: '', FLOW_MONGODB_URI: 'mongodb://me:hidden@127.0.0.1:1/shop' },
    });
    const port = await until(
      'health',
      () => /127\.0\.0\.1:(\d+)\/healthz/.exec(runner.output())?.[1],
    );
    await until('a word', () =>
      /waiting for it: The database does not answer/.test(runner.output()),
    );
    const [live, ready] = await Promise.all(
      ['healthz', 'readyz'].map((path) => fetch(`http://127.0.0.1:${port}/${path}`)),
    );
    expect([live?.status, ready?.status]).toEqual([200, 503]);
    expect(await ready?.json()).toMatchObject({ state: 'starting', isReady: false });
    runner.child.kill('SIGTERM');
    expect(await runner.ended).toMatchObject({ code: 143, stdout: '' });
    expect(runner.output()).not.toContain('hidden');
  });

  test('a data folder that cannot be: 2', async () => {
    const env = { FLOW_MONGODB_URI: '', FLOW_DATA_DIR: '/dev/null/data' };
    expectSentence(await flow.flow(['dags'], { env }), 2, /\/dev\/null\/data cannot be written/);
  });

  test('a broken config is named with its line, an unknown key with the one that is meant', async () => {
    writeFileSync(join(folder, 'broken.ts'), 'export default {\n  jobs: [\n};\n');
    writeFileSync(join(folder, 'unknown.json'), '{ "databse": "x" }');
    const broken = ['compile', '--config', join(folder, 'broken.ts')];
    const unknown = ['compile', '--config', join(folder, 'unknown.json')];
    const [first, second] = await Promise.all([flow.flow(broken), flow.flow(unknown)]);
    expectSentence(first, 2, /broken\.ts:3/);
    expectSentence(second, 2, /databse: unknown key \(did you mean database\?\)/);
  });

  test('a project without a config and without jobs says what to do', async () => {
    const end = await flow.flow(['compile'], { cwd: folder });
    expect(end.stderr).toMatch(/flow init|jobs/);
    expect(end.code).toBe(2);
  });

  test('a misspelt variable is told once, on stderr', async () => {
    const env = { FLOW_MONGODB_URL: 'mongodb://localhost/x' };
    const { stdout, stderr, code } = await flow.flow(['compile', '--json'], { env });
    const warning = 'FLOW_MONGODB_URL is not known: did you mean FLOW_MONGODB_URI?';
    expect(stderr.split(warning)).toHaveLength(2);
    expect(JSON.parse(stdout)).toHaveProperty('dags');
    expect(code).toBe(0);
  });

  test('colours only where they are wanted', async () => {
    const on = { NO_COLOR: '', CI: '', FORCE_COLOR: '1' };
    const [plain, coloured, refused] = await Promise.all([
      flow.flow(['compile'], { env: { NO_COLOR: '', CI: '' } }),
      flow.flow(['compile'], { env: on }),
      flow.flow(['compile'], { env: { ...on, NO_COLOR: '1' } }),
    ]);
    expect(plain.stdout).not.toContain('\u001b[');
    expect(coloured.stdout).toContain('\u001b[');
    expect(refused.stdout).not.toContain('\u001b[');
  });

  test('a reader that closes the pipe is no fault', async () => {
    const running = flow.spawn(['next', '--cron', '* * * * *', '--count', '5000']);
    running.child.stdout?.destroy();
    const { code, stderr } = await running.ended;
    expect(stderr).not.toMatch(/EPIPE|error/);
    expect(code).toBe(0);
  });
});

test('flow --help lists every command; without a command it is the same page, with exit status 2', async () => {
  const [asked, bare, group, words, version, wrong] = await Promise.all([
    flow.flow(['--help']),
    here([]),
    here(['backfill', '--help']),
    here(['help', 'deploy']),
    here(['--version']),
    flow.flow(['depoy']),
  ]);
  expectSentence(wrong, 2, /Did you mean "flow deploy"/);
  for (const command of commands) expect(asked.stdout).toContain(`\n  ${command.split(' ')[0]} `);
  expect([asked.code, bare.code, group.code]).toEqual([0, 2, 0]);
  expect(bare.stdout).toBe(asked.stdout);
  expect(group.stdout).toMatch(/ls .*\n.*show .*\n.*pause .*\n.*resume .*\n.*cancel /);
  expect(words.stdout).toContain('flow deploy --prune --yes');
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});
