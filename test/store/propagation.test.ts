import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkClosedRun, failed, Graph, succeeded } from './graphs.js';
import { atEveryDeath, Bench } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

const diamond = { a: [], b: ['a'], c: ['a'], d: ['b', 'c'] };
const allow = { overlap: 'allow' } as const;

describe('propagate', () => {
  it('runs a diamond in order, and closes the run after its last task', async () => {
    const graph = await Graph.deploy(bench, diamond);
    const runId = await graph.start();
    expect((await graph.task(runId, 'd')).waitingFor).toEqual(['b', 'c']);
    const a = await graph.claimOne();
    await graph.finish(a);
    const first = await bench.store.propagate(a.taskId);
    expect(first).toEqual({ ready: [`${runId}/b`, `${runId}/c`], runClosed: false });
    // Told once more, nobody is told twice.
    expect(await bench.store.propagate(a.taskId)).toEqual({ ready: [], runClosed: false });
    expect(await graph.work()).toEqual(['b', 'c', 'd']);
    const run = await graph.view(runId);
    checkClosedRun(run);
    expect(run.state).toBe('succeeded');
    expect(run.tasks.map((task) => task.jobId)).toEqual(['a', 'b', 'c', 'd']);
    expect(run.endedAt).toEqual(run.tasks.at(-1)?.endedAt);
    expect((await bench.store.getDag(graph.id))?.activeRunIds).toEqual([]);
    const stored = await bench.collections.runs.findOne({ _id: runId });
    expect(stored!.expireAt!.getTime()).toBeGreaterThan(Date.now());
    const open = { runId, $or: [{ expireAt: null }, { propagated: false }] };
    expect(await bench.collections.tasks.countDocuments(open)).toBe(0);
  });

  it('starts a join once when both parents finish at the same time', async () => {
    const graph = await Graph.deploy(bench, { b: [], c: [], d: ['b', 'c'] }, allow);
    const stores = [bench.store, await bench.connect()] as const;
    for (let round = 0; round < 6; round++) {
      const runId = await graph.start();
      const parents = await graph.claim(2);
      const both = await Promise.all(
        parents.map(async (task, index) => {
          const store = stores[index]!;
          await graph.finish(task, succeeded, store);
          return store.propagate(task.taskId);
        }),
      );
      expect(both.map((one) => one.runClosed)).toEqual([false, false]);
      expect(both.flatMap((one) => one.ready)).toContain(`${runId}/d`);
      expect(await graph.work()).toEqual(['d']);
      const run = await graph.view(runId);
      checkClosedRun(run);
      expect(run.tasks.at(-1)?.attempts).toHaveLength(1);
    }
  });

  it('lets a shared pair of parents start both of their children', async () => {
    const graph = await Graph.deploy(bench, { a: [], b: [], c: ['a', 'b'], d: ['a', 'b'] });
    await graph.start();
    expect((await graph.work()).slice(2).sort()).toEqual(['c', 'd']);
  });

  it('fails everything below a failure in one pass, and the run', async () => {
    const graph = await Graph.deploy(bench, { a: [], b: ['a'], c: ['b'], d: ['c'], e: ['d', 'a'] });
    const runId = await graph.start();
    const a = await graph.claimOne();
    await graph.finish(a, failed);
    expect(await bench.store.propagate(a.taskId)).toEqual({ ready: [], runClosed: true });
    const below = 'upstream-failed';
    expect(await graph.states(runId)).toEqual({
      a: 'failed',
      b: below,
      c: below,
      d: below,
      e: below,
    });
    const run = await graph.view(runId);
    checkClosedRun(run);
    expect(run.state).toBe('failed');
  });

  it('decides alike in whatever order the parents report', async () => {
    const skipped = { kind: 'skipped', reason: 'not today' } as const;
    const edges = { x: [], y: [], join: ['x', 'y'], last: ['join'] };
    const graph = await Graph.deploy(bench, edges, allow);
    for (const [first, second, expected] of [
      [failed, skipped, 'upstream-failed'],
      [skipped, failed, 'upstream-failed'],
      [skipped, succeeded, 'skipped'],
      [succeeded, skipped, 'skipped'],
    ] as const) {
      const runId = await graph.start();
      const parents = await graph.claim(2);
      for (const [index, task] of parents.entries()) {
        await graph.finish(task, index === 0 ? first : second);
        await bench.store.propagate(task.taskId);
      }
      const { join, last } = await graph.states(runId);
      expect([join, last]).toEqual([expected, expected]);
      const run = await graph.view(runId);
      checkClosedRun(run);
      expect(run.state).toBe(expected === 'skipped' ? 'succeeded' : 'failed');
    }
  });

  it('keeps dependents waiting while a task waits for its next attempt', async () => {
    const graph = await Graph.deploy(bench, { a: [], b: ['a'] });
    const runId = await graph.start();
    const a = await graph.claimOne();
    const error = { name: 'E', message: 'm' };
    await graph.finish(a, { kind: 'retry', error, delayMs: 60_000 });
    expect(await bench.store.propagate(a.taskId)).toEqual({ ready: [], runClosed: false });
    expect(await graph.states(runId)).toEqual({ a: 'delayed', b: 'blocked' });
    expect((await graph.view(runId)).state).toBe('running');
  });

  it('lets a run succeed in spite of a failure that is allowed', async () => {
    const edges = { a: [], b: ['a'], c: [] };
    const graph = await Graph.deploy(bench, edges, {}, { a: { allowFailure: true } });
    const runId = await graph.start();
    await graph.work({ a: failed });
    expect(await graph.states(runId)).toEqual({
      a: 'failed',
      b: 'upstream-failed',
      c: 'succeeded',
    });
    expect((await graph.view(runId)).state).toBe('succeeded');
  });

  it('is made up for after a death at any step between finishing and closing', async () => {
    const graph = await Graph.deploy(bench, { b: [], c: [], d: ['b', 'c'] }, allow);
    const finishAll = async (store = bench.store) => {
      for (;;) {
        const [task] = await graph.claim(1, store);
        if (task === undefined) return;
        await graph.finish(task, succeeded, store);
        await store.propagate(task.taskId);
      }
    };
    const deaths = await atEveryDeath(bench, {
      scene: () => graph.start(),
      act: (store) => finishAll(store),
      async check(runId, where) {
        await bench.store.payPropagation(0);
        await bench.store.rescueRunner('worker');
        await bench.store.repairPlaces();
        await finishAll();
        const run = await graph.view(runId);
        expect([where, run.state]).toEqual([where, 'succeeded']);
        checkClosedRun(run);
        const marks = { runId, propagated: false };
        expect([where, await bench.collections.tasks.countDocuments(marks)]).toEqual([where, 0]);
      },
    });
    expect(deaths).toBeGreaterThan(20);
  });

  it('leaves a young mark to its finisher, and pays an old one by the database clock', async () => {
    const graph = await Graph.deploy(bench, { a: [], b: ['a'] });
    const runId = await graph.start();
    await graph.finish(await graph.claimOne());
    expect(await bench.store.payPropagation(3_600_000)).toBe(0);
    expect((await graph.task(runId, 'b')).state).toBe('blocked');
    expect(await bench.store.payPropagation(0)).toBe(1);
    expect((await graph.task(runId, 'b')).state).toBe('ready');
  });
});

describe('a join of more dependencies than a pending set holds', () => {
  const names = Array.from({ length: 130 }, (_, index) => `part-${index}`);
  const edges = {
    ...Object.fromEntries(names.map((name) => [name, []])),
    join: names,
    last: ['join'],
  };

  it('starts once, after the last, without a document that grows', async () => {
    const graph = await Graph.deploy(bench, edges);
    const runId = await graph.start();
    const parts = [...(await graph.claim(100)), ...(await graph.claim(100))];
    expect(parts).toHaveLength(130);
    for (const task of parts.slice(2)) await graph.finish(task);
    await Promise.all(parts.slice(2).map((task) => bench.store.propagate(task.taskId)));
    const waiting = await graph.task(runId, 'join');
    expect([waiting.state, waiting.waitingFor.length]).toEqual(['blocked', 2]);
    const stored = await bench.collections.tasks.findOne({ _id: `${runId}/join` });
    expect(stored?.pending).toBeNull();
    await Promise.all(
      parts.slice(0, 2).map(async (task) => {
        await graph.finish(task);
        await bench.store.propagate(task.taskId);
      }),
    );
    expect(await graph.work()).toEqual(['join', 'last']);
    checkClosedRun(await graph.view(runId));
  });

  it('waits for one that was passed over by the question, since it changed its state meanwhile', async () => {
    const graph = await Graph.deploy(bench, edges);
    const runId = await graph.start();
    const parts = [...(await graph.claim(100)), ...(await graph.claim(100))];
    const last = parts.pop()!;
    for (const task of parts) await graph.finish(task);
    // As a server may answer that goes through an index in which the task moves.
    const passing = await bench.connect((operation, run) => {
      const [filter] = operation.args as [{ feeds?: string }?];
      const isAsked = operation.method === 'findOne' && filter?.feeds !== undefined;
      return isAsked ? (Promise.resolve(null) as never) : run();
    });
    for (const task of parts) await passing.propagate(task.taskId);
    expect((await graph.task(runId, 'join')).state).toBe('blocked');
    await graph.finish(last);
    await passing.propagate(last.taskId);
    expect((await graph.task(runId, 'join')).state).toBe('ready');
  });

  it('fails at once with its first failure, whatever else still runs', async () => {
    const graph = await Graph.deploy(bench, edges);
    const runId = await graph.start();
    const [first, second] = await graph.claim(2);
    await graph.finish(first!, failed);
    await bench.store.propagate(first!.taskId);
    expect((await graph.task(runId, 'join')).state).toBe('upstream-failed');
    expect((await graph.task(runId, 'last')).state).toBe('upstream-failed');
    expect((await graph.view(runId)).state).toBe('running');
    await graph.finish(second!);
    expect((await bench.store.propagate(second!.taskId)).runClosed).toBe(false);
  });
});
