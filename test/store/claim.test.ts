import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Graph } from './graphs.js';
import { Bench } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

const allow = { overlap: 'allow' } as const;

describe('claimTasks', () => {
  it('gives a task to one of many claimers, singly and in batches', async () => {
    const graph = await Graph.deploy(bench, { only: [] }, allow);
    await Promise.all(Array.from({ length: 20 }, () => graph.start()));
    const stores = await Promise.all([1, 2, 3, 4].map(() => bench.connect()));
    const taken: string[] = [];
    await Promise.all(
      stores.map(async (store, index) => {
        for (;;) {
          const claimed = await graph.claim(index % 2 === 0 ? 1 : 7, store);
          taken.push(...claimed.map((task) => task.taskId));
          const left = await bench.collections.tasks.findOne({ dagId: graph.id, state: 'ready' });
          if (left === null) return;
        }
      }),
    );
    expect(taken).toHaveLength(20);
    expect(new Set(taken).size).toBe(20);
    const tasks = await bench.collections.tasks.find({ dagId: graph.id }).toArray();
    expect(tasks.every((task) => task.token === 1 && task.attempts.length === 1)).toBe(true);
  });

  it('answers with everything that building a context takes', async () => {
    const graph = await Graph.deploy(bench, { only: [] });
    const logicalDate = new Date('2026-03-01T00:00:00Z');
    const { runId } = await bench.store.createRun({
      dagId: graph.id,
      cause: 'backfill',
      slot: 'd:2026-03-01T00:00:00.000Z/0',
      logicalDate,
      dataInterval: { from: new Date('2026-02-28T00:00:00Z'), to: logicalDate },
    });
    await bench.collections.tasks.updateOne({ runId }, { $set: { state: 'ready' } });
    const before = await bench.store.readServerTime();
    const task = await graph.claimOne(20_000);
    const { version, ...rest } = task;
    expect(rest).toEqual({
      taskId: `${runId}/only`,
      runId,
      dagId: graph.id,
      jobId: 'only',
      serveKey: `${graph.id}/only/0`,
      token: 1,
      attempt: 1,
      failures: 0,
      losses: 0,
      generation: 0,
      cause: 'backfill',
      logicalDate,
      dataInterval: { from: new Date('2026-02-28T00:00:00Z'), to: logicalDate },
    });
    expect(version).toMatch(/./);
    const stored = await bench.collections.tasks.findOne({ _id: task.taskId });
    const expiresAt = stored!.lease!.expiresAt.getTime();
    expect(expiresAt).toBeGreaterThanOrEqual(before.getTime() + 20_000);
    expect(expiresAt).toBeLessThanOrEqual((await bench.store.readServerTime()).getTime() + 20_000);
  });

  it('takes the higher priority first, then the older', async () => {
    const graph = await Graph.deploy(
      bench,
      { low: [], first: [], second: [], high: [] },
      {},
      { low: { priority: -5 }, high: { priority: 7 } },
    );
    await graph.start();
    const { tasks } = bench.collections;
    await tasks.updateOne({ dagId: graph.id, jobId: 'first' }, { $set: { readyAt: new Date(1) } });
    await tasks.updateOne({ dagId: graph.id, jobId: 'low' }, { $set: { readyAt: new Date(0) } });
    const order: string[] = [];
    for (let index = 0; index < 4; index++) order.push((await graph.claimOne()).jobId);
    expect(order).toEqual(['high', 'first', 'second', 'low']);
  });

  it('begins no attempt before its task was ready, also where the command is older than that', async () => {
    const graph = await Graph.deploy(bench, { only: [] }, allow);
    const runId = await graph.start();
    // As it is for a claim that waited since its instant was taken, and found what became ready meanwhile.
    const readyAt = new Date((await bench.store.readServerTime()).getTime() + 60_000);
    await bench.collections.tasks.updateOne({ runId }, { $set: { readyAt } });
    expect(await graph.claim(1)).toHaveLength(1);
    const task = await bench.collections.tasks.findOne({ runId });
    expect(task).toMatchObject({ startedAt: readyAt, attempts: [{ startedAt: readyAt }] });
  });

  it('leaves what it has no class for, without an attempt, and says that nobody serves it', async () => {
    const graph = await Graph.deploy(bench, { known: [], unknown: [] });
    const runId = await graph.start();
    const claimed = await bench.store.claimTasks({
      runnerId: 'old build',
      serveKeys: [`${graph.id}/known/0`, `${graph.id}/gone/0`, 'elsewhere/x/0'],
      leaseMs: 60_000,
      limit: 10,
    });
    expect(claimed.map((task) => task.jobId)).toEqual(['known']);
    const left = await graph.task(runId, 'unknown');
    expect([left.state, left.attempts]).toEqual(['ready', []]);
    expect(await bench.store.findUnserved(100)).toContainEqual({
      serveKey: `${graph.id}/unknown/0`,
      count: 1,
    });
    const runner = {
      id: 'new build',
      host: 'h',
      bootId: null,
      pidNamespace: null,
      pid: 1,
      processStart: null,
      serveKeys: [`${graph.id}/unknown/0`],
      concurrency: 1,
    };
    await bench.store.registerRunner(runner);
    expect(await bench.store.findUnserved(100)).not.toContainEqual({
      serveKey: `${graph.id}/unknown/0`,
      count: 1,
    });
  });

  it('shares its slots among the DAGs that have work', async () => {
    const one = await Graph.deploy(bench, { only: [] }, allow);
    const other = await Graph.deploy(bench, { only: [] }, allow);
    await Promise.all(Array.from({ length: 12 }, () => one.start()));
    await Promise.all(Array.from({ length: 3 }, () => other.start()));
    const claimed = await bench.store.claimTasks({
      runnerId: 'r',
      serveKeys: [...one.serveKeys, ...other.serveKeys],
      leaseMs: 60_000,
      limit: 8,
    });
    expect(claimed).toHaveLength(8);
    expect(claimed.filter((task) => task.dagId === other.id)).toHaveLength(3);
  });

  it('finds the few jobs with work among many, and no more than the limit', async () => {
    const names = Array.from({ length: 150 }, (_, index) => `job-${index}`);
    const graph = await Graph.deploy(bench, Object.fromEntries(names.map((name) => [name, []])));
    const runId = await graph.start();
    const taken = new Set<string>();
    while (taken.size < 150) {
      const claimed = await graph.claim(20);
      expect(claimed.length).toBeGreaterThan(0);
      expect(claimed.length).toBeLessThanOrEqual(20);
      for (const task of claimed) taken.add(task.jobId);
    }
    expect(await graph.claim(20)).toEqual([]);
    expect((await graph.view(runId)).tasks.every((task) => task.token === 1)).toBe(true);
  });

  it('claims only the tasks that are named when asked to, no more than the limit, and knows them', async () => {
    const graph = await Graph.deploy(bench, { only: [] }, allow);
    const runs = [await graph.start(), await graph.start(), await graph.start()];
    const [first, second, third] = await Promise.all(runs.map((id) => graph.fresh(id, 'only')));
    const claimed = await graph.claimFresh([second!, third!], 1);
    expect(claimed).toEqual([
      { ...second!, token: 1, attempt: 1, failures: 0, losses: 0, generation: 0 },
    ]);
    const stored = await bench.collections.tasks.findOne({ _id: second!.taskId });
    expect(stored).toMatchObject({ state: 'running', token: 1, lease: { runner: graph.runner } });
    expect(stored!.attempts).toMatchObject([{ n: 1, token: 1, outcome: null }]);
    // One of them is taken: what is left is read back.
    const rest = await graph.claimFresh([first!, second!, third!]);
    expect(rest.map((task) => [task.taskId, task.token, task.attempt])).toEqual([
      [first!.taskId, 1, 1],
      [third!.taskId, 1, 1],
    ]);
  });

  it('takes by name no task that was granted before', async () => {
    const graph = await Graph.deploy(bench, { only: [] }, allow);
    const runId = await graph.start();
    const fresh = await graph.fresh(runId, 'only');
    await graph.finish(await graph.claimOne(), { kind: 'returned', reason: 'drain' });
    expect(await graph.claimFresh([fresh])).toEqual([]);
    expect(await graph.claimOne()).toMatchObject({ taskId: fresh.taskId, token: 2, attempt: 2 });
  });
});
