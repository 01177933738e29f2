/**
 * `npm run demo`: the weather example from deploy to chart, with a runner killed in the middle of a backfill.
 *
 * Uses the built `flow` command as a person would, each call a process of its own. On the embedded database unless
 * FLOW_MONGODB_URI is set. Exit status 0 only if every claim that it prints was checked.
 */
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectStore } from '@flowline/core/internal';
import { connectEmbedded } from '@flowline/devdb';

const weather = fileURLToPath(new URL('../examples/weather', import.meta.url));
const flow = fileURLToPath(new URL('../packages/cli/bin/flow.js', import.meta.url));
const dataDir = fileURLToPath(new URL('../examples/weather/.flow/demo', import.meta.url));
const out = fileURLToPath(new URL('../examples/weather/out', import.meta.url));
const isEmbedded = !process.env.FLOW_MONGODB_URI;
const env = {
  ...process.env,
  WEATHER_OUT: out,
  ...(isEmbedded ? { FLOW_DATA_DIR: dataDir } : { FLOW_DATABASE: `flowline_demo_${process.pid}` }),
};
const children = new Set();
const startedAt = performance.now();
const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1);
const say = (line) => process.stdout.write(`\n[${seconds()} s] ${line}\n`);

/** Runs `flow` with these arguments; resolves with its stdout. */
function run(args, { show = false, expect = 0 } = {}) {
  if (show) process.stdout.write(`$ flow ${args.join(' ')}\n`);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [flow, ...args], {
      cwd: weather,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
      if (show) process.stdout.write(chunk);
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('exit', (code) => {
      if (code === expect) resolve(stdout);
      else reject(new Error(`flow ${args.join(' ')} ended with ${code}\n${stderr}${stdout}`));
    });
  });
}

/** Starts a runner; resolves when it is at work. */
function startRunner(name) {
  const child = spawn(process.execPath, [flow, 'runner', '--concurrency', '8'], {
    cwd: weather,
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  children.add(child);
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('message', (message) => {
      if (message.type !== 'started') return;
      say(`runner ${name} is at work: ${message.runner}`);
      resolve({ child, id: message.runner });
    });
    child.on('exit', (code, signal) => {
      children.delete(child);
      if (code !== null && code !== 143)
        reject(new Error(`runner ${name} ended with ${code}\n${stderr}`));
      else if (signal !== null) reject(new Error(`runner ${name} was ended by ${signal}`));
    });
  });
}

/** The demo's own eyes on the database, so that looking costs no process. */
async function openStore() {
  const embedded = isEmbedded ? await connectEmbedded(dataDir) : undefined;
  const store = await connectStore({
    uri: embedded?.uri ?? env.FLOW_MONGODB_URI,
    database: env.FLOW_DATABASE ?? 'flowline',
  });
  return {
    store,
    async close() {
      await store.close();
      await embedded?.close();
    },
  };
}

/** Whether this runner is in the middle of a task of the backfill. */
async function holdsTask(store, backfillId, runnerId) {
  const running = await store.listRuns({ backfillId, state: ['running'] });
  const views = await Promise.all(running.map((run) => store.viewRun(run.id)));
  return views.some((run) => run?.tasks.some((task) => task.lease?.runner === runnerId));
}

function check(claim, isTrue) {
  if (!isTrue) throw new Error(`not true: ${claim}`);
  process.stdout.write(`  ok  ${claim}\n`);
}

async function demo() {
  if (isEmbedded) {
    await run(['db', 'stop']);
    rmSync(dataDir, { recursive: true, force: true });
  }
  rmSync(out, { recursive: true, force: true });

  say('deploy the weather example');
  await run(['deploy'], { show: true });

  const { store, close } = await openStore();
  const first = await startRunner('one');
  say('run one day; its job "convert" fails the first time on purpose');
  await run(['run', 'weather', '--param', 'day=2012-07-04', '--wait'], { show: true });

  const second = await startRunner('two');
  say('backfill January 2012, four days at a time');
  const asked = [
    'run',
    'weather',
    '--backfill',
    '--from',
    '2012-01-01',
    '--to',
    '2012-02-01',
    '--max-active',
    '4',
  ];
  process.stdout.write(`$ flow ${asked.join(' ')}\n`);
  const { id } = JSON.parse(await run([...asked, '--json']));
  const progress = () => store.getBackfill(id);
  while ((await progress()).succeeded < 8 || !(await holdsTask(store, id, first.id)))
    await pause(5);
  first.child.kill('SIGKILL');
  const killed = await progress();
  say(
    `runner one was killed with SIGKILL: ${killed.succeeded} days done, ${killed.running} running, ${killed.queued} to go`,
  );
  check('the backfill was in the middle', killed.endedAt === null && killed.succeeded < 31);

  process.stdout.write(await run(['backfill', 'show', id, '--wait']));
  const runs = await store.listRuns({ backfillId: id, limit: 100 });
  const views = await Promise.all(runs.map((each) => store.viewRun(each.id)));
  const attempts = views.flatMap(({ tasks }) => tasks.flatMap((task) => task.attempts));
  const by = (runner) => attempts.filter((attempt) => attempt.runner === runner).length;
  const lost = attempts.filter(({ outcome }) => outcome === 'lost').length;
  say(
    `attempts: ${by(first.id)} by runner one (${lost} of them lost), ${by(second.id)} by runner two`,
  );
  check(
    '31 runs, all succeeded',
    runs.length === 31 && runs.every(({ state }) => state === 'succeeded'),
  );
  check(
    '31 logical dates, each once',
    new Set(runs.map(({ logicalDate }) => logicalDate.toISOString())).size === 31,
  );
  check(
    'every task succeeded exactly once',
    views.every(({ tasks }) =>
      tasks.every((task) => task.attempts.filter((a) => a.outcome === 'succeeded').length === 1),
    ),
  );
  check(
    'runner two took over',
    by(second.id) > 0 && attempts.every(({ outcome }) => outcome !== null),
  );

  await close();
  second.child.kill('SIGTERM');
  await new Promise((resolve) => second.child.once('exit', resolve));
  if (isEmbedded) await run(['db', 'stop']);
  say(
    `the chart: ${fileURLToPath(new URL('../examples/weather/out/2012-01.svg', import.meta.url))}`,
  );
}

try {
  await demo();
} catch (error) {
  process.stderr.write(`\nthe demo failed: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  for (const child of children) child.kill('SIGKILL');
  if (isEmbedded) await run(['db', 'stop']).catch(() => {});
}
