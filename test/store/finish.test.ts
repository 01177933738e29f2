import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FinishOutcome } from '../../packages/core/src/store/verbs/task-verbs.js';
import { failed, Graph, succeeded } from './graphs.js';
import { Bench, Killed } from './scheduling.js';

let bench: Bench;
let graph: Graph;
beforeAll(async () => {
  bench = await Bench.open();
  graph = await Graph.deploy(bench, { only: [] }, { overlap: 'allow' });
});
afterAll(() => bench.close());

const retry = (delayMs: number): FinishOutcome => ({
  kind: 'retry',
  error: { name: 'Error', message: 'not yet', stack: 'at x' },
  delayMs,
});

async function claimed() {
  const runId = await graph.start();
  const task = await graph.claimOne();
  expect(task.runId).toBe(runId);
  return { runId, task };
}

describe('finishAttempt', () => {
  it('stores the result, ends the attempt, gives up the lease and owes propagation, in one write', async () => {
    const { runId, task } = await claimed();
    const result = { 'a.b': 1, $set: 2n, at: new Date(5) };
    const done = await graph.finish(task, { kind: 'succeeded', result });
    expect(done).toEqual({ state: 'succeeded', outcome: 'succeeded', repeated: false });
    const stored = await bench.collections.tasks.findOne({ _id: task.taskId });
    expect(stored).toMatchObject({ state: 'succeeded', lease: null, propagated: false, token: 1 });
    expect(stored?.endedAt).toBeInstanceOf(Date);
    expect(stored?.attempts).toHaveLength(1);
    expect(stored?.attempts[0]).toMatchObject({
      n: 1,
      token: 1,
      outcome: 'succeeded',
      error: null,
    });
    expect((await bench.store.readInputs(runId, ['only'])).results).toEqual([result]);
  });

  it('refuses a holder whose token is stale, and changes nothing for it', async () => {
    const { runId, task } = await claimed();
    await bench.store.rescueRunner('worker');
    const second = await graph.claimOne();
    expect([second.taskId, second.token, second.attempt]).toEqual([task.taskId, 2, 2]);
    const before = await bench.collections.tasks.findOne({ _id: task.taskId });
    const late = graph.finish(task, { kind: 'succeeded', result: 'old' });
    await expect(late).rejects.toMatchObject({ code: 'lease-lost', retryable: false });
    await bench.store.reportProgress({ taskId: task.taskId, token: 1 }, 'worker', 0.5);
    expect(await bench.collections.tasks.findOne({ _id: task.taskId })).toEqual(before);
    await graph.finish(second, { kind: 'succeeded', result: 'new' });
    await expect(graph.finish(task)).rejects.toMatchObject({ code: 'lease-lost' });
    expect((await bench.store.readInputs(runId, ['only'])).results).toEqual(['new']);
  });

  it('refuses another runner with the right token', async () => {
    const { task } = await claimed();
    const stranger = bench.store.finishAttempt({
      taskId: task.taskId,
      runnerId: 'stranger',
      token: task.token,
      attempt: 1,
      outcome: succeeded,
    });
    await expect(stranger).rejects.toMatchObject({ code: 'lease-lost' });
    await graph.finish(task);
  });

  it('recognises its own write when only the answer was lost', async () => {
    const outcomes: FinishOutcome[] = [
      { kind: 'succeeded', result: 1 },
      failed,
      retry(60_000),
      { kind: 'skipped', reason: 'nothing to do' },
      { kind: 'returned', reason: 'drain' },
    ];
    // Whatever it sends is applied, and it never hears of it.
    const deaf = await bench.connect(async (_operation, run) => {
      await run();
      throw new Killed();
    });
    for (const outcome of outcomes) {
      const { task } = await claimed();
      await expect(graph.finish(task, outcome, deaf)).rejects.toBeInstanceOf(Killed);
      const again = await graph.finish(task, outcome);
      expect(again).toMatchObject({ repeated: true });
      const stored = await graph.task(task.runId, 'only');
      expect(stored.attempts).toHaveLength(1);
      expect(stored.state).toBe(again.state);
      // A different outcome is not the same write.
      const other = outcome.kind === 'succeeded' ? failed : succeeded;
      await expect(graph.finish(task, other)).rejects.toMatchObject({ code: 'lease-lost' });
      await bench.collections.tasks.deleteMany({ runId: task.runId });
    }
  });

  it('waits for the delay by the database clock between two attempts', async () => {
    const { task } = await claimed();
    expect(await graph.finish(task, retry(3_600_000))).toMatchObject({
      state: 'delayed',
      outcome: 'failed',
    });
    expect(await bench.store.promoteDelayed()).toBe(0);
    const now = await bench.store.readServerTime();
    const due = await bench.store.earliestDelayed(graph.serveKeys);
    expect(due!.getTime() - now.getTime()).toBeGreaterThan(3_590_000);
    expect(await bench.store.earliestDelayed(['elsewhere/x/0'])).toBeNull();
    const past = new Date(now.getTime() - 1);
    await bench.collections.tasks.updateOne({ _id: task.taskId }, { $set: { delayedUntil: past } });
    expect(await bench.store.promoteDelayed()).toBe(1);
    const second = await graph.claimOne();
    expect(second).toMatchObject({ taskId: task.taskId, attempt: 2, failures: 1, losses: 0 });
    await graph.finish(second);
    const { attempts, error, failures } = await graph.task(task.runId, 'only');
    expect(attempts.map((one) => one.outcome)).toEqual(['failed', 'succeeded']);
    expect(attempts[0]?.error).toEqual({ name: 'Error', message: 'not yet', stack: 'at x' });
    expect([error, failures]).toEqual([null, 1]);
  });

  it('is ready at once without a delay, and never an instant that is no date', async () => {
    const { task } = await claimed();
    expect((await graph.finish(task, retry(0))).state).toBe('ready');
    const second = await graph.claimOne();
    await graph.finish(second, retry(Number.MAX_SAFE_INTEGER));
    const { delayedUntil } = await graph.task(task.runId, 'only');
    expect(delayedUntil!.getUTCFullYear()).toBeGreaterThan(2900);
    await bench.collections.tasks.deleteOne({ _id: task.taskId });
  });

  it('counts a hand-back as no attempt of the budget', async () => {
    const { task } = await claimed();
    await graph.finish(task, { kind: 'returned', reason: 'drain' });
    const second = await graph.claimOne();
    expect(second).toMatchObject({ taskId: task.taskId, attempt: 2, failures: 0, losses: 0 });
    await graph.finish(second);
  });

  it('refuses a result that cannot be stored, and leaves the attempt running', async () => {
    const { task } = await claimed();
    const bad = graph.finish(task, { kind: 'succeeded', result: { items: [() => 1] } });
    await expect(bad).rejects.toMatchObject({ code: 'payload', path: 'result.items[0]' });
    const large = graph.finish(task, { kind: 'succeeded', result: 'x'.repeat(1_048_576) });
    await expect(large).rejects.toThrow(/too large: 1048589 bytes/);
    expect((await graph.task(task.runId, 'only')).state).toBe('running');
    await graph.finish(task);
  });

  it('keeps a task small that is tried for ever', async () => {
    const { task } = await claimed();
    const error = { name: 'E', message: 'm'.repeat(2_000), code: 'c', stack: 's'.repeat(4_096) };
    const attempts = Array.from({ length: 1_000 }, (_, index) => ({
      n: index + 1,
      token: index + 1,
      runner: 'r',
      startedAt: new Date(),
      endedAt: new Date(),
      outcome: 'failed' as const,
      error: index < 979 ? { name: 'E', message: 'm'.repeat(200) } : error,
    }));
    await bench.collections.tasks.updateOne(
      { _id: task.taskId },
      { $set: { attempts, token: 1_000, state: 'ready', lease: null } },
    );
    const next = await graph.claimOne();
    expect(next).toMatchObject({ attempt: 1_001, token: 1_001 });
    const stored = await graph.task(task.runId, 'only');
    expect(stored.attempts).toHaveLength(1_001);
    expect(stored.attempts.map((one) => one.n)).toEqual(
      Array.from({ length: 1_001 }, (_, i) => i + 1),
    );
    expect(stored.attempts[979]?.error).toEqual({ name: 'E', message: 'm'.repeat(200) });
    expect(stored.attempts[980]?.error).toEqual(error);
    await graph.finish(next);
  });

  it('reads names and reasons from outside as text, not as fields or operators', async () => {
    const runId = await graph.start();
    const [task] = await bench.store.claimTasks({
      runnerId: '$token',
      serveKeys: graph.serveKeys,
      leaseMs: 60_000,
      limit: 1,
    });
    const error = { name: '$state', message: '$$ROOT', code: '$x' };
    await bench.store.finishAttempt({
      taskId: task!.taskId,
      runnerId: '$token',
      token: 1,
      attempt: 1,
      outcome: { kind: 'failed', error },
    });
    const { attempts } = await graph.task(runId, 'only');
    expect(attempts[0]).toMatchObject({ runner: '$token', error });
  });
});

describe('renewLeases', () => {
  it('extends exactly what is held, and says what is lost or to be cancelled', async () => {
    const one = (await claimed()).task;
    const other = (await claimed()).task;
    const third = (await claimed()).task;
    await graph.finish(other);
    await bench.store.cancelRun(third.runId);
    const held = [one, other, third].map(({ taskId, token }) => ({ taskId, token }));
    const before = (await graph.task(one.runId, 'only')).lease!.expiresAt;
    const result = await bench.store.renewLeases(
      'worker',
      [...held, { taskId: one.taskId, token: 99 }, { taskId: 'no/task', token: 1 }],
      600_000,
    );
    expect(new Set(result.lost)).toEqual(new Set([other.taskId, 'no/task']));
    expect(result.cancelRequested).toEqual([third.taskId]);
    const after = (await graph.task(one.runId, 'only')).lease!.expiresAt;
    expect(after.getTime() - before.getTime()).toBeGreaterThan(500_000);
    // A shorter renewal never takes back what was given.
    await bench.store.renewLeases('worker', held.slice(0, 1), 1_000);
    expect((await graph.task(one.runId, 'only')).lease!.expiresAt).toEqual(after);
    expect(await bench.store.renewLeases('stranger', held.slice(0, 1), 60_000)).toEqual({
      lost: [one.taskId],
      cancelRequested: [],
    });
    await graph.finish(one);
    await graph.finish(third, failed);
    expect((await graph.task(third.runId, 'only')).state).toBe('cancelled');
  });
});

describe('reportProgress', () => {
  it('keeps the fraction within bounds', async () => {
    const { task } = await claimed();
    await bench.store.reportProgress(task, 'worker', 1.5, 'nearly');
    expect((await graph.task(task.runId, 'only')).progress).toEqual({
      fraction: 1,
      note: 'nearly',
    });
    await bench.store.reportProgress(task, 'worker', Number.NaN);
    expect((await graph.task(task.runId, 'only')).progress).toEqual({ fraction: 0, note: null });
    await graph.finish(task);
  });
});
