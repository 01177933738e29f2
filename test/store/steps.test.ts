import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectStore } from '../../packages/core/src/store/connect.js';
import type { ClaimedTask } from '../../packages/core/src/store/verbs/task-verbs.js';
import { Graph } from './graphs.js';
import { Bench, Killed } from './scheduling.js';

let bench: Bench;
let graph: Graph;
beforeAll(async () => {
  bench = await Bench.open();
  graph = await Graph.deploy(bench, { only: [] }, { overlap: 'allow' });
});
afterAll(() => bench.close());
beforeEach(async () => {
  await bench.collections.tasks.deleteMany({});
});

async function claimed(): Promise<ClaimedTask> {
  await graph.start();
  return graph.claimOne();
}
const save = (task: ClaimedTask, name: string, value: unknown, store = bench.store) =>
  store.saveStep(task, 'worker', { name, value });

describe('steps', () => {
  it('are found by the next attempt, equal to what was stored, whatever their names', async () => {
    const task = await claimed();
    expect(await bench.store.readSteps(task, 'worker')).toEqual([]);
    const steps = [
      { name: '$where.a', value: { 'a.b': 2n ** 70n, $set: new Date(5) } },
      { name: 'nothing', value: undefined },
      { name: '', value: [1, null] },
    ];
    for (const { name, value } of steps) await save(task, name, value);
    await bench.store.rescueRunner('worker');
    const second = await graph.claimOne();
    expect(second.attempt).toBe(2);
    expect(await bench.store.readSteps(second, 'worker')).toEqual(steps);
    await save(second, 'later', 1);
    await graph.finish(second);
    // What people look at does not carry them.
    expect(await graph.task(task.runId, 'only')).not.toHaveProperty('steps');
  });

  it('are neither read nor written by a stale holder or a stranger', async () => {
    const task = await claimed();
    await save(task, 'first', 1);
    await bench.store.rescueRunner('worker');
    const second = await graph.claimOne();
    const lost = { code: 'lease-lost', retryable: false };
    await expect(save(task, 'late', 2)).rejects.toMatchObject(lost);
    await expect(bench.store.readSteps(task, 'worker')).rejects.toMatchObject(lost);
    await expect(
      bench.store.saveStep(second, 'stranger', { name: 'x', value: 1 }),
    ).rejects.toMatchObject(lost);
    expect(await bench.store.readSteps(second, 'worker')).toEqual([{ name: 'first', value: 1 }]);
    await graph.finish(second);
    await expect(save(second, 'after', 3)).rejects.toMatchObject(lost);
  });

  it('are one write when it is repeated, and never replaced', async () => {
    const task = await claimed();
    const deaf = await bench.connect(async (_operation, run) => {
      await run();
      throw new Killed();
    });
    await expect(save(task, 'pay', 1, deaf)).rejects.toBeInstanceOf(Killed);
    await save(task, 'pay', 1);
    expect(await bench.store.readSteps(task, 'worker')).toEqual([{ name: 'pay', value: 1 }]);
    await bench.store.rescueRunner('worker');
    const second = await graph.claimOne();
    await expect(save(second, 'pay', 2)).rejects.toMatchObject({ code: 'conflict' });
    expect(await bench.store.readSteps(second, 'worker')).toEqual([{ name: 'pay', value: 1 }]);
  });

  it('are all kept when many are written at once', async () => {
    const task = await claimed();
    const names = Array.from({ length: 30 }, (_, index) => `step ${index}`);
    await Promise.all(names.map((name) => save(task, name, name)));
    const steps = await bench.store.readSteps(task, 'worker');
    expect(new Set(steps.map(({ name }) => name))).toEqual(new Set(names));
    expect(steps.every(({ name, value }) => name === value)).toBe(true);
  });

  it('are refused with the path when they cannot be stored, and when together they are too large', async () => {
    const store = await connectStore({
      uri: bench.uri,
      database: bench.db.databaseName,
      payloadLimitBytes: 1_000,
    });
    const task = await claimed();
    await expect(save(task, 'f', { f: [() => 1] }, store)).rejects.toMatchObject({
      code: 'payload',
      path: 'once("f").f[0]',
    });
    await expect(save(task, 'large', 'x'.repeat(2_000), store)).rejects.toMatchObject({
      code: 'payload',
    });
    await save(task, 'one', 'x'.repeat(600), store);
    await expect(save(task, 'two', 'x'.repeat(600), store)).rejects.toThrow(
      /once\("two"\) too large: 613 bytes beside 613 of earlier steps, the limit for a task is 1000/,
    );
    await save(task, 'three', 'x'.repeat(100), store);
    expect((await store.readSteps(task, 'worker')).map(({ name }) => name)).toEqual([
      'one',
      'three',
    ]);
    await store.close();
  });

  it('are at most a thousand', async () => {
    const task = await claimed();
    const steps = Array.from({ length: 1_000 }, (_, index) => ({
      name: `${index}`,
      generation: 0,
      token: 1,
      bytes: 0,
      value: null,
    }));
    await bench.collections.tasks.updateOne({ _id: task.taskId }, { $set: { steps } });
    await expect(save(task, 'more', 1)).rejects.toThrow(/1000 steps already, the limit is 1000/);
  });

  it('of an older generation do not count, and go with the next write', async () => {
    const task = await claimed();
    await save(task, 'pay', 1);
    await bench.collections.tasks.updateOne({ _id: task.taskId }, { $set: { generation: 1 } });
    expect(await bench.store.readSteps(task, 'worker')).toEqual([]);
    await save(task, 'pay', 2);
    expect(await bench.store.readSteps(task, 'worker')).toEqual([{ name: 'pay', value: 2 }]);
    const stored = await bench.collections.tasks.findOne({ _id: task.taskId });
    expect(stored?.steps).toHaveLength(1);
  });
});
