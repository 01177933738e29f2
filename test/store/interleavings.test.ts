import { Interleaving, type SharedConnection, shareConnection } from '@flowline/core/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFlowError } from '../../packages/core/src/errors.js';
import { checkClosedRun, failed, Graph, graphOf, succeeded } from './graphs.js';
import { Bench, deployment } from './scheduling.js';

let bench: Bench;
let connection: SharedConnection;
beforeAll(async () => {
  bench = await Bench.open();
  connection = await shareConnection(bench.connection);
});
afterAll(async () => {
  await connection.close();
  await bench.close();
});

/** Set FLOW_TEST_SEEDS for a longer run; a failing seed is in the name of its error. */
const seeds = Number(process.env.FLOW_TEST_SEEDS ?? 10);
const edges = { a: [], b: [], c: ['a', 'b'], d: ['c', 'a'] };

describe('interleaved runners', () => {
  it('bring every run to its one end, whoever is between which two operations', async () => {
    const id = bench.id('interleaved');
    const definition = graphOf(
      id,
      edges,
      { maxActiveRuns: 2 },
      {
        a: { maxLost: 9 },
        b: { maxLost: 9, retry: retries(3) },
        c: { maxLost: 9 },
        d: { maxLost: 9 },
      },
    );
    await bench.store.deployDag(deployment(definition));
    for (let seed = 1; seed <= seeds; seed++) {
      const order = new Interleaving(seed);
      try {
        await scenario(order, new Graph(bench, definition));
      } catch (error) {
        const { message } = error as Error;
        throw new Error(`seed ${seed}: ${message}\n${order.trace.join('\n')}`, { cause: error });
      }
    }
  });
});

function retries(attempts: number) {
  const backoff = { type: 'fixed', delayMs: 0, maxMs: 0, factor: 1, jitter: 'none' } as const;
  return { attempts, backoff };
}

async function scenario(order: Interleaving, graph: Graph): Promise<void> {
  const { runId } = await bench.store.createRun({ dagId: graph.id, cause: 'manual' });
  const asksToCancel = order.pick(3) === 0;
  let isCancelled = false;
  const fails = order.pick(4) === 0;
  const storeOf = (name: string) => order.process(name, connection).store;
  const worker = (name: string) => async () => {
    const store = storeOf(name);
    const mine = new Graph(bench, graph.definition, name);
    await store.admitRuns(graph.id);
    for (let look = 0; look < 8; look++) {
      for (const task of await mine.claim(1 + order.pick(2), store)) {
        try {
          const isBad = fails && task.jobId === 'b';
          await mine.finish(task, isBad ? failed : succeeded, store);
          await store.propagate(task.taskId);
        } catch (error) {
          // Fenced off: the task is somebody else's.
          if (!isFlowError(error, 'lease-lost')) throw error;
        }
      }
    }
  };
  // Wrong about it: w1 lives.
  const rescuer = (name: string) => async () => void (await storeOf(name).rescueRunner('w1'));
  await order.run({
    w1: worker('w1'),
    w2: worker('w2'),
    rescuer: rescuer('rescuer'),
    'second rescuer': rescuer('second rescuer'),
    async leader() {
      const store = storeOf('leader');
      await store.admitRuns(graph.id);
      await store.payPropagation(0);
      await store.repairPlaces();
      await store.continueCancels();
    },
    async canceller() {
      if (asksToCancel) isCancelled = !(await storeOf('canceller').cancelRun(runId)).closed;
    },
  });
  await tidyUp(graph, runId);
  const run = await graph.view(runId);
  checkClosedRun(run);
  expect(run.state).toBe(isCancelled ? 'cancelled' : fails ? 'failed' : 'succeeded');
  const ended = new Map(run.tasks.map((task) => [task.jobId, task]));
  for (const task of run.tasks) {
    const before = edges[task.jobId as keyof typeof edges].map((job) => ended.get(job)!);
    for (const attempt of task.attempts) {
      for (const upstream of before) {
        expect(upstream.state).toBe('succeeded');
        expect(attempt.startedAt.getTime()).toBeGreaterThanOrEqual(upstream.endedAt!.getTime());
      }
    }
    const lost = task.attempts.filter((attempt) => attempt.outcome === 'lost').length;
    expect([task.jobId, task.losses]).toEqual([task.jobId, lost]);
    expect(task.token).toBe(task.attempts.length);
  }
  expect((await bench.store.getDag(graph.id))?.activeRunIds).toEqual([]);
  expect(await bench.collections.tasks.countDocuments({ runId, propagated: false })).toBe(0);
}

/** What the survivors do until nothing is open. */
async function tidyUp(graph: Graph, runId: string): Promise<void> {
  for (let round = 0; round < 10; round++) {
    const run = await graph.view(runId);
    if (run.endedAt !== null) break;
    await bench.store.admitRuns(graph.id);
    await bench.store.rescueRunner('w1');
    await bench.store.rescueRunner('w2');
    await bench.store.payPropagation(0);
    await bench.store.continueCancels();
    await graph.work();
  }
  await bench.store.payPropagation(0);
  await bench.store.repairPlaces();
}
