/** Steps and commits of a process that is killed at the worst moment; a runner that cannot go on; processes that end. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { connectEmbedded } from '@flowline/devdb';
import { MongoClient } from 'mongodb';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FlowSandbox, openFlow } from '../support/flow.ts';
import { until } from '../support/until.ts';

const project = fileURLToPath(new URL('../fixtures/process', import.meta.url));
const broken = fileURLToPath(new URL('../fixtures/broken-runner', import.meta.url));
const runnerArgs = ['runner', 'exactly-once.job.ts', '--lease', '3s', '--concurrency', '4'];

let flow: FlowSandbox;
beforeEach(async () => {
  flow = await openFlow(project);
});
afterEach(() => flow.close());

async function started(args: readonly string[] = runnerArgs) {
  const runner = flow.spawn(args);
  return { ...runner, id: await runner.started };
}

/** A second way into the database of the sandbox. */
async function openDatabase() {
  const { FLOW_MONGODB_URI: uri, FLOW_DATABASE: name = 'flowline', FLOW_DATA_DIR } = flow.env;
  const embedded = uri === undefined ? await connectEmbedded(FLOW_DATA_DIR as string) : null;
  const client = await MongoClient.connect(uri ?? (embedded?.uri as string));
  return {
    uri: uri ?? (embedded?.uri as string),
    name,
    db: client.db(name),
    close: async () => {
      await client.close();
      await embedded?.close();
    },
  };
}

test('killed after a step: the next attempt gets its value and does not do it again; what is known of the loss is shown', async () => {
  await flow.json(['deploy', 'exactly-once.job.ts']);
  const first = await started();
  const { id: runId } = await flow.json(['run', 'steps']);
  await until('the step', () => flow.events().includes(`start 1 ${first.pid}`));
  const store = await flow.store();
  await until('its line', async () => (await store.readLogs({ runId })).lines.length > 0);
  first.child.kill('SIGKILL');
  const second = await started();
  flow.allow('release');
  await until('the end', async () => (await store.viewRun(runId))?.state === 'succeeded');
  expect(flow.events().filter((line) => line.startsWith('pay'))).toEqual([`pay 1 ${first.pid}`]);
  expect((await store.readInputs(runId, ['steps'])).results).toEqual([1]);
  const shown = await flow.json(['show', runId]);
  expect(shown.tasks[0]).toMatchObject({
    losses: 1,
    failures: 0,
    maxLost: 3,
    attempts: [
      {
        outcome: 'lost',
        runner: first.id,
        loss: {
          lastHeartbeatAt: expect.stringMatching(/Z$/),
          lastLines: [{ level: 'info', message: 'paid by attempt 1' }],
        },
      },
      { outcome: 'succeeded', runner: second.id },
    ],
  });
  const { stdout } = await flow.flow(['show', runId]);
  expect(stdout).toMatch(/steps: 1 of 3 losses/);
  expect(stdout).toMatch(/last lines of attempt 1:\n.* info paid by attempt 1/);
});

test('killed after a commit: its writes and its success stand, once, and the run goes on elsewhere', async () => {
  await flow.json(['deploy', 'exactly-once.job.ts']);
  const first = await started();
  const { id: runId } = await flow.json(['run', 'commits']);
  await until('the commit', () => flow.events().includes(`committed 1 ${first.pid}`));
  first.child.kill('SIGKILL');
  await started();
  const store = await flow.store();
  const run = await until('the end', async () => {
    const view = await store.viewRun(runId);
    return view?.endedAt != null && view;
  });
  expect(run.tasks.map(({ jobId, attempts }) => [jobId, attempts.map((a) => a.outcome)])).toEqual([
    ['commits', ['succeeded']],
    ['after-commits', ['succeeded']],
  ]);
  const database = await openDatabase();
  expect(
    await database.db
      .collection('ledger')
      .find({}, { projection: { _id: 0 } })
      .toArray(),
  ).toEqual([{ attempt: 1 }]);
  await database.close();
});

test('a runner that cannot keep its leases ends with 1, and says why', async () => {
  const end = await flow.flow(['runner', '--health-port', '0'], { cwd: broken });
  expect(end).toMatchObject({ code: 1, signal: null });
  expect(end.stderr).toContain('no thread today');
  expect(end.stderr).toContain('the runner cannot go on');
});

test('the health of a flow runner: ready while it works, gone when it is', async () => {
  const runner = await started([...runnerArgs, '--health-port', '0']);
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(runner.output())?.[0];
  await until('ready', async () => (await fetch(`${url}/readyz`)).status === 200);
  const health = await (await fetch(`${url}/readyz`)).json();
  expect(health).toMatchObject({
    runner: runner.id,
    state: 'running',
    isReady: true,
    heldTasks: 0,
  });
  runner.child.kill('SIGTERM');
  expect((await runner.ended).code).toBe(143);
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});

describe('a program around a Runner ends by itself', () => {
  const script = fileURLToPath(new URL('../fixtures/process/ends.mjs', import.meta.url));
  const nowhere = 'mongodb://127.0.0.1:1/x';

  function run(scenario: string, uri: string, database: string) {
    const child = spawn(process.execPath, [script, scenario, uri, database], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += chunk;
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    return { child, ended, said: () => said };
  }

  test.each([
    ['stopped', false, 'stopped'],
    ['stopped before its start', true, 'this one was stopped'],
    ['stopped while it waits', true, 'store-unreachable'],
    ['refused at its start', false, 'option'],
  ])('%s', async (scenario, isNowhere, word) => {
    const database = await openDatabase();
    const program = run(scenario, isNowhere ? nowhere : database.uri, database.name);
    expect(await program.ended).toBe(0);
    expect(program.said()).toContain(word);
    expect(program.said()).toContain('the end');
    await database.close();
  });

  test('and not before: waiting for a database holds it', async () => {
    const program = run('waiting', nowhere, 'x');
    await until('three tries', () => program.said().split('waiting for it').length > 3);
    expect(program.child.exitCode).toBeNull();
    program.child.kill('SIGKILL');
    expect(await program.ended).toBeNull();
    expect(program.said()).not.toContain('the end');
  });
});
