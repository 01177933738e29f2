import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dateSlot } from '../../packages/core/src/model/ids.js';
import { checkClosedRun, failed, Graph, succeeded } from './graphs.js';
import { atEveryDeath, Bench } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

describe('cancelRun', () => {
  it('ends a run that waits for its place, and says so', async () => {
    const graph = await Graph.deploy(bench, { a: [], b: ['a'] });
    await graph.start();
    const waiting = await graph.start();
    expect(await bench.store.cancelRun(waiting, 'not needed')).toEqual({
      state: 'cancelled',
      closed: false,
    });
    const run = await graph.view(waiting);
    checkClosedRun(run);
    expect([run.reason, run.startedAt]).toEqual(['not needed', null]);
    expect(await bench.store.cancelRun(waiting)).toEqual({ state: 'cancelled', closed: true });
  });

  it('ends tasks in every state, also of a dead runner', async () => {
    const edges = { delayed: [], ready: [], running: [], blocked: ['running'] };
    const graph = await Graph.deploy(bench, edges);
    const runId = await graph.start();
    const tasks = await graph.claim(3);
    const of = (job: string) => tasks.find((task) => task.jobId === job)!;
    const error = { name: 'E', message: 'm' };
    await graph.finish(of('delayed'), { kind: 'retry', error, delayMs: 60_000 });
    await graph.finish(of('ready'), { kind: 'returned', reason: 'drain' });
    expect(await bench.store.cancelRun(runId)).toEqual({ state: 'running', closed: false });
    expect(await graph.states(runId)).toEqual({
      delayed: 'cancelled',
      ready: 'cancelled',
      running: 'running',
      blocked: 'cancelled',
    });
    expect(await graph.claim(5)).toEqual([]);
    const flagged = await bench.store.renewLeases('worker', [of('running')], 60_000);
    expect(flagged).toEqual({ lost: [], cancelRequested: [of('running').taskId] });
    // Its runner is dead: the rescue under the flag is no new attempt.
    await bench.store.rescueRunner('worker');
    const run = await graph.view(runId);
    checkClosedRun(run);
    expect(run.state).toBe('cancelled');
    expect((await bench.store.getDag(graph.id))?.activeRunIds).toEqual([]);
  });

  it.each([
    ['a failure', failed],
    ['a retry', { kind: 'retry', error: { name: 'E', message: 'm' }, delayMs: 1_000 } as const],
    ['a hand-back', { kind: 'returned', reason: 'drain' } as const],
    ['its abort', { kind: 'cancelled', error: { name: 'E', message: 'aborted' } } as const],
  ])('%s under the flag ends cancelled, without a further attempt', async (_what, outcome) => {
    const graph = await Graph.deploy(bench, { a: [], b: ['a'] }, {}, { a: { maxLost: 9 } });
    const runId = await graph.start();
    const task = await graph.claimOne();
    await bench.store.cancelRun(runId);
    expect(await graph.finish(task, outcome)).toMatchObject({ state: 'cancelled' });
    expect((await bench.store.propagate(task.taskId)).runClosed).toBe(true);
    const run = await graph.view(runId);
    checkClosedRun(run);
    expect([run.state, run.tasks[0]?.failures]).toEqual(['cancelled', 0]);
    expect(run.tasks[0]?.attempts).toHaveLength(1);
  });

  it('stays in the slot, although one who counted before the request writes after it', async () => {
    const graph = await Graph.deploy(bench, { only: [] });
    const logicalDate = new Date('2020-03-01T00:00:00Z');
    const request = { dagId: graph.id, cause: 'schedule', logicalDate } as const;
    const { runId } = await bench.store.createRun({ ...request, slot: dateSlot(logicalDate) });
    await bench.store.admitRuns(graph.id);
    const task = await graph.claimOne();
    await graph.finish(task, succeeded);
    let writes = 0;
    const late = await bench.connect(async ({ collection }, run) => {
      if (collection === 'slots') {
        writes += 1;
        expect(await bench.store.cancelRun(runId)).toEqual({ state: 'cancelled', closed: false });
      }
      return run();
    });
    expect((await late.propagate(task.taskId)).runClosed).toBe(true);
    expect(writes).toBe(1);
    expect((await graph.view(runId)).state).toBe('cancelled');
    const slot = await bench.collections.slots.findOne({ runId });
    expect(slot?.outcome).toBe('cancelled');
  });

  it('records a success under a valid lease, and the run is still cancelled', async () => {
    const graph = await Graph.deploy(bench, { only: [] });
    const runId = await graph.start();
    const task = await graph.claimOne();
    await bench.store.cancelRun(runId);
    expect((await graph.finish(task, { kind: 'succeeded', result: 7 })).state).toBe('succeeded');
    await bench.store.propagate(task.taskId);
    expect((await graph.view(runId)).state).toBe('cancelled');
    expect((await bench.store.readInputs(runId, ['only'])).results).toEqual([7]);
  });

  it('is repeated until nothing is open: a task that came back in between is cancelled too', async () => {
    const graph = await Graph.deploy(bench, { a: [], b: ['a'] });
    const runId = await graph.start();
    await bench.store.cancelRun(runId);
    // As if it had been handed back between the two writes of the request.
    await bench.collections.runs.updateOne(
      { _id: runId },
      { $set: { state: 'running', cancelling: true } },
    );
    await bench.collections.tasks.updateOne(
      { _id: `${runId}/a` },
      { $set: { state: 'ready', endedAt: null } },
    );
    expect(await bench.store.continueCancels()).toBe(1);
    checkClosedRun(await graph.view(runId));
    expect(await bench.store.continueCancels()).toBe(0);
  });

  it('materialises a half-made run before it cancels it', async () => {
    const graph = await Graph.deploy(bench, { a: [], b: ['a'] });
    const deaths = await atEveryDeath(bench, {
      scene: async () => null,
      act: (store) => store.createRun({ dagId: graph.id, cause: 'manual' }),
      async check() {
        const [half] = await bench.store.listRuns({ dagId: graph.id, state: ['queued'] });
        if (half === undefined) return;
        await bench.store.cancelRun(half.id);
        const run = await graph.view(half.id);
        checkClosedRun(run);
        expect([run.state, run.tasks.length]).toEqual(['cancelled', 2]);
      },
    });
    expect(deaths).toBeGreaterThan(3);
  });

  it('is completed after a death at any of its steps', async () => {
    const graph = await Graph.deploy(bench, { a: [], b: ['a'], c: [] }, { overlap: 'allow' });
    await atEveryDeath(bench, {
      async scene() {
        const runId = await graph.start();
        const [task] = await graph.claimFresh([await graph.fresh(runId, 'a')]);
        return { runId, task: task! };
      },
      async act(store, { runId, task }) {
        await store.cancelRun(runId);
        await graph.finish(task, failed, store);
        await store.propagate(task.taskId);
      },
      async check({ runId, task }, where) {
        await bench.store.cancelRun(runId);
        await bench.store.continueCancels();
        await graph.finish(task, failed).catch(() => {});
        await bench.store.payPropagation(0);
        await bench.store.continueCancels();
        const run = await graph.view(runId);
        expect([where, run.state]).toEqual([where, 'cancelled']);
        checkClosedRun(run);
      },
    });
  });

  it('knows no run that is not there', async () => {
    await expect(bench.store.cancelRun('gone')).rejects.toMatchObject({ code: 'not-found' });
  });

  it('leaves a closed run as it is', async () => {
    const graph = await Graph.deploy(bench, { only: [] });
    const runId = await graph.start();
    await graph.work({ only: succeeded });
    const before = await bench.collections.runs.findOne({ _id: runId });
    expect(await bench.store.cancelRun(runId)).toEqual({ state: 'succeeded', closed: true });
    expect(await bench.collections.runs.findOne({ _id: runId })).toEqual(before);
  });
});
