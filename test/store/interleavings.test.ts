import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFlowError } from '../../packages/core/src/errors.js';
import type { OperationInterceptor } from '../../packages/core/src/store/intercept.js';
import type { Store } from '../../packages/core/src/store/store.js';
import { checkClosedRun, failed, Graph, graphOf, succeeded } from './graphs.js';
import { Interleaving } from './interleaving.js';
import { Bench, deployment } from './scheduling.js';

const names = ['w1', 'w2', 'rescuer', 'second rescuer', 'leader', 'canceller'] as const;
type Name = (typeof names)[number];

let bench: Bench;
let stores: Record<Name, Store>;
let current: Interleaving | undefined;

beforeAll(async () => {
  bench = await Bench.open();
  const opened = names.map(async (name) => {
    const gated: OperationInterceptor = (operation, run) =>
      current === undefined ? run() : current.gate(name)(operation, run);
    return [name, await bench.connect(gated)] as const;
  });
  stores = Object.fromEntries(await Promise.all(opened)) as Record<Name, Store>;
});
afterAll(() => bench.close());

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
  const worker = (name: 'w1' | 'w2') => async () => {
    const mine = new Graph(bench, graph.definition, name);
    await stores[name].admitRuns(graph.id);
    for (let look = 0; look < 8; look++) {
      for (const task of await mine.claim(1 + order.pick(2), stores[name])) {
        try {
          const isBad = fails && task.jobId === 'b';
          await mine.finish(task, isBad ? failed : succeeded, stores[name]);
          await stores[name].propagate(task.taskId);
        } catch (error) {
          // Fenced off: the task is somebody else's.
          if (!isFlowError(error, 'lease-lost')) throw error;
        }
      }
    }
  };
  current = order;
  try {
    await order.run([
      worker('w1'),
      worker('w2'),
      // Both are wrong about it: w1 lives.
      async () => void (await stores.rescuer.rescueRunner('w1')),
      async () => void (await stores['second rescuer'].rescueRunner('w1')),
      async () => {
        await stores.leader.admitRuns(graph.id);
        await stores.leader.payPropagation(0);
        await stores.leader.repairPlaces();
        await stores.leader.continueCancels();
      },
      async () => {
        if (asksToCancel) isCancelled = !(await stores.canceller.cancelRun(runId)).closed;
      },
    ]);
  } finally {
    current = undefined;
  }
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
