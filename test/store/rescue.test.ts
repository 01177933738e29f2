import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedTask } from '../../packages/core/src/store/verbs/task-verbs.js';
import { checkClosedRun, failed, Graph } from './graphs.js';
import { Bench } from './scheduling.js';

let bench: Bench;
const leaseMs = 20_000;

beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());
beforeEach(async () => {
  await bench.collections.runners.deleteMany({});
  await bench.collections.tasks.deleteMany({});
  await hear('leader');
});

async function hear(id: string): Promise<void> {
  await bench.store.registerRunner({
    id,
    host: 'h',
    bootId: null,
    pidNamespace: null,
    pid: 1,
    processStart: null,
    serveKeys: [],
    concurrency: 1,
  });
}

/** The lease has run out, as far as the database can tell. */
async function expire(task: ClaimedTask): Promise<void> {
  await bench.collections.tasks.updateOne(
    { _id: task.taskId },
    { $set: { 'lease.expiresAt': new Date(Date.now() - 60_000) } },
  );
}

describe('rescueExpired', () => {
  it('counts one loss, whoever and however many look', async () => {
    const graph = await Graph.deploy(bench, { only: [] }, { overlap: 'allow' });
    const stores = [bench.store, await bench.connect(), await bench.connect()];
    for (let round = 0; round < 3; round++) {
      const runIds = await Promise.all(Array.from({ length: 15 }, () => graph.start()));
      const tasks = await graph.claim(15);
      expect(tasks).toHaveLength(15);
      await Promise.all(tasks.map(expire));
      await hear('leader');
      const rescued = await Promise.all(stores.map((store) => store.rescueExpired(leaseMs)));
      expect(rescued.flat()).toHaveLength(15);
      const again = await graph.claim(15);
      expect(again.map((task) => [task.attempt, task.losses, task.failures])).toEqual(
        Array.from({ length: 15 }, () => [2, 1, 0]),
      );
      for (const task of again) await graph.finish(task);
      await bench.store.payPropagation(0);
      for (const runId of runIds) {
        const run = await graph.view(runId);
        checkClosedRun(run);
        expect(run.tasks[0]?.attempts.map((one) => one.outcome)).toEqual(['lost', 'succeeded']);
      }
    }
  });

  it('leaves a lease that was renewed, and one that has time left by the database clock', async () => {
    const graph = await Graph.deploy(bench, { only: [] });
    await graph.start();
    const task = await graph.claimOne();
    const early = await bench.connect();
    expect(await early.rescueExpired(leaseMs)).toEqual([]);
    await expire(task);
    // The holder is late, but before the rescuer: the lease is good again.
    expect((await bench.store.renewLeases('worker', [task], leaseMs)).lost).toEqual([]);
    expect(await bench.store.rescueExpired(leaseMs)).toEqual([]);
    await graph.finish(task);
  });

  it('fails the task with the loss that is too many, as a failure of the run', async () => {
    const graph = await Graph.deploy(bench, { a: [], b: ['a'] }, {}, { a: { maxLost: 3 } });
    const runId = await graph.start();
    for (let loss = 1; loss <= 3; loss++) {
      const task = await graph.claimOne();
      await expire(task);
      const [rescued] = await bench.store.rescueExpired(leaseMs);
      expect(rescued).toMatchObject({
        taskId: task.taskId,
        runnerId: 'worker',
        state: loss < 3 ? 'ready' : 'failed',
      });
    }
    const run = await graph.view(runId);
    checkClosedRun(run);
    expect(run.state).toBe('failed');
    expect(await graph.states(runId)).toEqual({ a: 'failed', b: 'upstream-failed' });
    expect(run.tasks[0]).toMatchObject({ losses: 3, failures: 0, error: { code: 'task-lost' } });
  });

  it('keeps what is known of the loss: the last heartbeat or the end of the runner, and its last words', async () => {
    const graph = await Graph.deploy(bench, { only: [] });
    const runId = await graph.start();
    await hear('worker');
    const heartbeatAt = (await bench.store.listRunners()).find(
      ({ id }) => id === 'worker',
    )?.heartbeatAt;
    const say = (attempt: number, seq: number) => ({
      runId,
      jobId: 'only',
      attempt,
      seq,
      at: new Date(),
      level: 'info' as const,
      message: `attempt ${attempt}, line ${seq}${'.'.repeat(500)}`,
    });
    const first = await graph.claimOne();
    await bench.store.appendLogs(
      Array.from({ length: 8 }, (_, seq) => say(1, seq)),
      60_000,
    );
    await expire(first);
    await bench.store.rescueExpired(leaseMs);
    const [lost] = (await graph.task(runId, 'only')).attempts;
    expect(lost).toMatchObject({
      outcome: 'lost',
      loss: { reason: 'lease-expired', lastHeartbeatAt: heartbeatAt, exit: null },
    });
    expect(lost?.loss?.lastLines.map(({ message }) => message.slice(0, 17))).toEqual(
      [3, 4, 5, 6, 7].map((seq) => `attempt 1, line ${seq}`),
    );
    expect(lost?.loss?.lastLines.every(({ message }) => message.length === 300)).toBe(true);
    // The second attempt said nothing; its runner could still say how it ended.
    await graph.claimOne();
    await bench.store.retireRunner('worker', 'SIGTERM');
    await bench.store.rescueRunner('worker');
    const again = (await graph.task(runId, 'only')).attempts[1];
    expect(again?.loss).toMatchObject({ reason: 'runner-dead', exit: 'SIGTERM', lastLines: [] });
    expect(again?.error?.message).toContain('(SIGTERM)');
    await graph.finish(await graph.claimOne());
    expect((await graph.task(runId, 'only')).attempts[2]?.loss).toBeNull();
  });

  it('never starts a task again that must not start twice', async () => {
    const graph = await Graph.deploy(bench, { only: [] }, {}, { only: { onLost: 'fail' } });
    const runId = await graph.start();
    await expire(await graph.claimOne());
    await bench.store.rescueExpired(leaseMs);
    expect((await graph.view(runId)).state).toBe('failed');
    expect(await graph.claim(1)).toEqual([]);
  });

  it('holds back while nobody was heard within a lease: then the database was away', async () => {
    const { runners } = bench.collections;
    const graph = await Graph.deploy(bench, { only: [] });
    await graph.start();
    await expire(await graph.claimOne());
    const old = new Date(Date.now() - 45_000);
    await runners.updateMany({}, { $set: { heartbeatAt: old, startedAt: new Date(0) } });
    expect(await bench.store.rescueExpired(leaseMs)).toEqual([]);
    // The database is back, and so is the leader: the others get a lease of time to be heard.
    await bench.store.heartbeatRunner('leader', 'running');
    expect((await runners.findOne({ _id: 'leader' }))?.gapMs).toBeGreaterThan(44_000);
    // The heartbeats that follow do not make it forget.
    await bench.store.heartbeatRunner('leader', 'running');
    expect(await bench.store.rescueExpired(leaseMs)).toEqual([]);
    const aLeaseAgo = new Date(Date.now() - leaseMs - 1_000);
    await runners.updateOne({ _id: 'leader' }, { $set: { resumedAt: aLeaseAgo } });
    expect(await bench.store.rescueExpired(leaseMs)).toHaveLength(1);
  });

  it('does not hold back for one runner that was suspended while another was heard', async () => {
    const graph = await Graph.deploy(bench, { only: [] });
    await graph.start();
    await expire(await graph.claimOne());
    await hear('suspended');
    const { runners } = bench.collections;
    await runners.updateOne(
      { _id: 'suspended' },
      { $set: { heartbeatAt: new Date(Date.now() - 45_000), startedAt: new Date(0) } },
    );
    await runners.updateOne({ _id: 'leader' }, { $set: { startedAt: new Date(0) } });
    await bench.store.heartbeatRunner('suspended', 'running');
    expect(await bench.store.rescueExpired(leaseMs)).toHaveLength(1);
  });
});

describe('rescueRunner', () => {
  it('frees all tasks of a dead runner at once, and of no other', async () => {
    const graph = await Graph.deploy(bench, { only: [] }, { overlap: 'allow' });
    await Promise.all([graph.start(), graph.start(), graph.start()]);
    await graph.claim(2);
    const other = new Graph(bench, graph.definition, 'other');
    const kept = await other.claimOne();
    const rescued = await bench.store.rescueRunner('worker');
    expect(rescued).toHaveLength(2);
    expect(rescued.every((task) => task.state === 'ready' && task.runnerId === 'worker')).toBe(
      true,
    );
    expect((await bench.store.getTask(kept.taskId))?.state).toBe('running');
    expect(await bench.store.rescueRunner('worker')).toEqual([]);
  });

  it('cancels what was asked to be cancelled, and the run ends', async () => {
    const graph = await Graph.deploy(bench, { a: [], b: ['a'] });
    const runId = await graph.start();
    const task = await graph.claimOne();
    await bench.store.cancelRun(runId);
    await bench.store.rescueRunner('worker');
    const run = await graph.view(runId);
    checkClosedRun(run);
    expect(run.state).toBe('cancelled');
    expect(run.tasks.map((one) => one.state)).toEqual(['cancelled', 'cancelled']);
    await expect(graph.finish(task, failed)).rejects.toMatchObject({ code: 'lease-lost' });
  });
});
