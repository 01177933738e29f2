/**
 * A backfill of four years of examples/weather by three runner processes, with accidents: one runner is killed, the backfill is
 * paused and resumed, one runner stands still past its lease and comes back. Ends with one run for each date, or throws.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectStore, estimateLeftMs } from '@flowline/core/internal';
import { MongoClient } from 'mongodb';
import { until } from '../support/system.mjs';

export const name = 'long backfill, examples/weather';

const weather = fileURLToPath(new URL('../../examples/weather', import.meta.url));
const binary = fileURLToPath(new URL('../../packages/cli/bin/flow.js', import.meta.url));
const leaseMs = 5_000;
const patienceMs = 3_600_000;

export async function measure(target, { small }) {
  const to = small ? '2012-03-01' : '2016-01-01';
  const days = small ? 60 : 1_461;
  const database = `bench_${randomUUID().slice(0, 8)}`;
  const out = await mkdtemp(join(tmpdir(), 'flowline-weather-'));
  const env = {
    ...process.env,
    ...{ FLOW_MONGODB_URI: target.uri, FLOW_DATABASE: database, WEATHER_OUT: out, CI: '1' },
  };
  const started = [];
  const flow = (...args) => {
    const child = spawn(process.execPath, [binary, ...args], { cwd: weather, env });
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    child.stderr.resume();
    const ended = new Promise((resolve) => {
      child.once('close', (code) => resolve({ code, text }));
    });
    started.push(child);
    return { child, ended };
  };
  const ask = async (...args) => {
    const { code, text } = await flow(...args, '--json').ended;
    if (code !== 0) throw new Error(`flow ${args.join(' ')} ended with ${code}`);
    return JSON.parse(text);
  };
  const store = await connectStore({ uri: target.uri, database });
  try {
    await store.prepare();
    await ask('deploy');
    const [killed, stopped] = [1, 2, 3].map(() => flow('runner', '--lease', `${leaseMs}ms`).child);
    await until(async () => (await store.listRunners()).length === 3, 60_000);

    const startedAt = performance.now();
    const { id } = await ask(
      ...['run', 'weather', '--backfill', '--from', '2012-01-01', '--to', to],
      ...['--max-active', '10', '--yes'],
    );
    const isPast = (share) => async () => (await store.getBackfill(id)).succeeded > days * share;
    await until(isPast(0.15), patienceMs, 100);
    killed.kill('SIGKILL');
    await until(isPast(0.3), patienceMs, 100);
    await ask('backfill', 'pause', id);
    await until(async () => (await store.getBackfill(id)).running === 0, 60_000);
    await ask('backfill', 'resume', id);
    await until(isPast(0.4), patienceMs, 100);
    const askedAt = performance.now();
    const promisedMs = estimateLeftMs(await store.getBackfill(id));
    await until(isPast(0.5), patienceMs, 100);
    stopped.kill('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 3 * leaseMs));
    stopped.kill('SIGCONT');
    await until(async () => (await store.getBackfill(id)).endedAt !== null, patienceMs, 100);
    const tookMs = performance.now() - askedAt;
    const seconds = (performance.now() - startedAt) / 1_000;

    await check(store, id, days);
    return [
      { figure: `${days} runs of 5 tasks, with accidents`, value: days / seconds, unit: 'runs/s' },
      { figure: 'the estimate at 40 %, by what it took', value: promisedMs / tookMs, unit: 'x' },
    ];
  } finally {
    for (const child of started) child.kill('SIGKILL');
    await store.close();
    const admin = await MongoClient.connect(target.uri);
    await admin.db(database).dropDatabase();
    await admin.close();
    await rm(out, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One run for each date, all of them well, and every invariant of the store. */
async function check(store, id, days) {
  const { state, succeeded } = await store.getBackfill(id);
  const runs = await store.listRuns({ dagId: 'weather', limit: 10_000 });
  const dates = new Set(runs.map(({ logicalDate }) => logicalDate.toISOString()));
  const { violations } = await store.audit();
  const found = { state, succeeded, runs: runs.length, dates: dates.size, violations };
  const wanted = { state: 'succeeded', succeeded: days, runs: days, dates: days, violations: [] };
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`expected ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`);
  }
}
