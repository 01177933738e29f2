// Inserts and indexed claims per second on the development server: node bench/devdb/main.mjs [--quick]
// The driver runs in this process, the server in another one. Documents have about 407 bytes.
import { fork } from 'node:child_process';
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { open } from 'lmdb';
import { BSON, MongoClient } from 'mongodb';

const quick = process.argv.includes('--quick');
const SIZES = quick ? [10_000] : [10_000, 100_000];
const CLIENTS = [1, 8, 32];
const SECONDS = quick ? 2 : 4;

const serverPath = fileURLToPath(new URL('./server.mjs', import.meta.url));

async function startServer(directory) {
  const child = fork(serverPath, directory ? [directory] : []);
  const ready = await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  return {
    ...ready,
    residentMegabytes: () =>
      new Promise((resolve) => {
        child.once('message', ({ residentBytes }) => resolve(Math.round(residentBytes / 2 ** 20)));
        child.send('memory');
      }),
    stop: (signal) =>
      new Promise((resolve) => {
        child.removeAllListeners('exit');
        child.once('exit', resolve);
        child.kill(signal);
      }),
  };
}

function task(number, state) {
  return {
    _id: `task-${String(number).padStart(10, '0')}`,
    state,
    pool: `pool-${number % 4}`,
    priority: number % 10,
    readyAt: new Date(1_700_000_000_000 + number),
    attempt: 0,
    token: 0,
    runId: `run-${number >> 3}`,
    job: 'extract-orders',
    payload: 'x'.repeat(233),
  };
}

async function fill(collection, count) {
  for (let from = 0; from < count; from += 1000) {
    const size = Math.min(1000, count - from);
    await collection.insertMany(
      Array.from({ length: size }, (_, offset) => task(from + offset, 'ready')),
    );
  }
}

/** The first seconds belong to compilers and caches. */
const WARM_SECONDS = 1;

/** Runs `step` on so many clients at once for some seconds, after a second that does not count. */
async function measure(clients, step) {
  await run(clients, step, WARM_SECONDS);
  const started = performance.now();
  const times = await run(clients, step, SECONDS);
  times.sort((left, right) => left - right);
  const seconds = (performance.now() - started) / 1000;
  return {
    perSecond: Math.round(times.length / seconds),
    p50: times[Math.floor(times.length / 2)],
    p99: times[Math.floor(times.length * 0.99)],
  };
}

async function run(clients, step, seconds) {
  const times = [];
  const end = performance.now() + seconds * 1000;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end) {
        const before = performance.now();
        await step();
        times.push(performance.now() - before);
      }
    }),
  );
  return times;
}

function print(what, mode, size, clients, { perSecond, p50, p99 }) {
  console.log(
    [
      what.padEnd(8),
      mode.padEnd(9),
      String(size).padStart(7),
      String(clients).padStart(3),
      `${perSecond}/s`.padStart(9),
      `p50 ${p50.toFixed(2)} ms`.padStart(14),
      `p99 ${p99.toFixed(2)} ms`.padStart(14),
    ].join('  '),
  );
}

const median = (times) => times.sort((left, right) => left - right)[times.length >> 1];

/** What no server on this machine can go below: the disk by itself, and the storage engine by itself. */
async function floors() {
  const directory = mkdtempSync(join(tmpdir(), 'devdb-floor-'));
  const block = Buffer.alloc(4096, 1);
  const file = openSync(join(directory, 'file'), 'w');
  const syncs = [];
  for (let at = 0; at < 200; at++) {
    const before = performance.now();
    writeSync(file, block);
    fdatasyncSync(file);
    syncs.push(performance.now() - before);
  }
  closeSync(file);
  const engine = open({
    path: join(directory, 'engine'),
    encoding: 'binary',
    overlappingSync: false,
  });
  const commits = [];
  for (let at = 0; at < 200; at++) {
    const before = performance.now();
    await engine.put(at % 50, block.subarray(0, 400));
    commits.push(performance.now() - before);
  }
  await engine.close();
  rmSync(directory, { recursive: true, force: true });
  console.log(`fdatasync of 4 KiB: median ${median(syncs).toFixed(2)} ms`);
  console.log(`lmdb, one durable put by itself: median ${median(commits).toFixed(2)} ms`);
}

/**
 * A step that claims a task by the index, as a runner does. When none is left in a state the claims go back to the other
 * one, so that each finds a document and writes it, however long they go on.
 */
function claimer(tasks) {
  const states = ['ready', 'running'];
  let token = 0;
  return async () => {
    for (;;) {
      const [from, to] = states;
      const claimed = await tasks.findOneAndUpdate(
        { state: from, pool: `pool-${token % 4}` },
        { $set: { state: to, runner: 'r1', token: token++ }, $inc: { attempt: 1 } },
        { sort: { priority: -1, readyAt: 1 }, returnDocument: 'after' },
      );
      if (claimed !== null) return;
      if (states[0] === from) states.reverse();
    }
  };
}

async function bench(mode, size) {
  const directory = mode === 'durable' ? mkdtempSync(join(tmpdir(), 'devdb-bench-')) : undefined;
  let server = await startServer(directory);
  const client = await new MongoClient(server.uri, { maxPoolSize: 40, minPoolSize: 32 }).connect();
  const tasks = client.db('bench').collection('tasks');
  await tasks.createIndex({ state: 1, pool: 1, priority: -1, readyAt: 1 });
  await tasks.createIndex({ runId: 1 });
  await fill(tasks, size);
  let number = size;
  for (const clients of CLIENTS) {
    // A command that does nothing: driver, sockets and protocol by themselves.
    const ping = () => client.db('bench').command({ ping: 1 });
    print('ping', mode, size, clients, await measure(clients, ping));
    print(
      'insert',
      mode,
      size,
      clients,
      await measure(clients, () => tasks.insertOne(task(number++, 'new'))),
    );
    print('claim', mode, size, clients, await measure(clients, claimer(tasks)));
  }
  const documents = await tasks.estimatedDocumentCount();
  console.log(
    `memory   ${mode}  ${documents} documents  ${await server.residentMegabytes()} MB resident`,
  );
  await client.close();
  await server.stop('SIGKILL');
  if (directory) {
    server = await startServer(directory);
    console.log(
      `start-up after SIGKILL  ${mode}  ${documents} documents  ${Math.round(server.startMs)} ms  ${await server.residentMegabytes()} MB resident`,
    );
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}`);
console.log(`documents of ${BSON.calculateObjectSize(task(1, 'ready'))} bytes`);
await floors();
for (const size of SIZES) for (const mode of ['durable', 'in memory']) await bench(mode, size);
