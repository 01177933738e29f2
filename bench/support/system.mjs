/** A database, a store and runners for one case; everything is gone afterwards. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile } from '@flowline/core';
import { connectStore, executableJobs } from '@flowline/core/internal';
import { connectEmbedded, stopEmbedded } from '@flowline/devdb';
import { Runner } from '@flowline/runner';
import { MongoClient } from 'mongodb';

/** Where the cases run: the embedded server (durable, a process of its own), or the server of a URI. */
export async function openTarget(uri) {
  if (uri !== undefined) return { name: 'mongodb', uri, close: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'flowline-bench-'));
  const embedded = await connectEmbedded(folder);
  return {
    name: 'embedded',
    uri: embedded.uri,
    async close() {
      await embedded.close();
      await stopEmbedded(folder);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A fresh database with these classes deployed. */
export async function openSystem(target, classes) {
  const connection = { uri: target.uri, database: `bench_${randomUUID().slice(0, 8)}` };
  const store = await connectStore(connection);
  await store.prepare();
  const { dags, problems } = compile(classes);
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  for (const { definition, version } of dags)
    await store.deployDag({ definition, version, project: 'bench' });
  const runners = [];
  const admin = await MongoClient.connect(target.uri);
  return {
    store,
    connection,
    async startRunner(options = {}) {
      const runner = new Runner({ connection, jobs: executableJobs(classes), ...options });
      runners.push(runner);
      await runner.start();
      return runner;
    },
    /** Operations that the server has counted since its start. */
    async operations() {
      const { opcounters } = await admin.db('admin').command({ serverStatus: 1 });
      return Object.values(opcounters).reduce(
        (sum, count) => (typeof count === 'number' ? sum + count : sum),
        0,
      );
    },
    async close() {
      await Promise.all(runners.map((runner) => runner.stop()));
      await admin.db(connection.database).dropDatabase();
      await admin.close();
      await store.close();
    },
  };
}

/** Runs `work` for 0..count-1, `width` at a time. */
export async function parallel(count, width, work) {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      await work(index);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** Resolves when `isTrue` says so; rejects after `deadlineMs`. */
export async function until(isTrue, deadlineMs, everyMs = 20) {
  const end = performance.now() + deadlineMs;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
