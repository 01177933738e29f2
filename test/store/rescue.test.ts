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
  await bench.heardThroughout();
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
});

/** Seconds before the database's now. */
async function ago(seconds: number): Promise<Date> {
  return new Date((await bench.store.readServerTime()).getTime() - seconds * 1_000);
}

describe('rescueExpired, when the database may have been away', () => {
  /** A task whose lease ran out so many seconds ago, and no runner yet. */
  async function expiredFor(seconds: number): Promise<void> {
    const graph = await Graph.deploy(bench, { only: [] });
    await graph.start();
    const { taskId } = await graph.claimOne();
    await bench.collections.tasks.updateOne(
      { _id: taskId },
      { $set: { 'lease.expiresAt': await ago(seconds) } },
    );
    await bench.collections.runners.deleteMany({});
  }

  /** Since when a runner is there, and when it was heard last. */
  async function runner(id: string, startedFor: number, heardBefore: number): Promise<void> {
    await hear(id);
    await bench.collections.runners.updateOne(
      { _id: id },
      { $set: { startedAt: await ago(startedFor), heartbeatAt: await ago(heardBefore) } },
    );
  }

  /** Silences as pairs of seconds before now, and when somebody was heard last. */
  async function silent(pairs: readonly (readonly [number, number])[], heardBefore: number) {
    const silences = await Promise.all(
      pairs.map(async ([from, to]) => ({ from: await ago(from), to: await ago(to) })),
    );
    await bench.heardThroughout();
    await bench.collections.presence.insertOne({
      _id: 'fleet',
      heardAt: await ago(heardBefore),
      silences,
    });
  }

  const rescued = async () => (await bench.store.rescueExpired(leaseMs)).length;

  it('rescues at once what expired while somebody was heard, whoever else was cut off or new', async () => {
    await expiredFor(1);
    await runner('heard', 100, 2);
    await runner('was cut off', 100, 1);
    await runner('new', 3, 1);
    await silent([[200, 100]], 2);
    expect(await rescued()).toBe(1);
  });

  it('holds back while nobody is heard, and after it for what the lease had left', async () => {
    await expiredFor(15);
    await runner('living', 100, 30);
    await silent([], 30);
    expect(await rescued()).toBe(0);
    // It is heard again, and however often after that: the 30 s are remembered, less a pause as usual.
    await bench.store.heartbeatRunner('living', 'running', 5_000);
    await bench.store.heartbeatRunner('living', 'running', 5_000);
    const presence = await bench.collections.presence.findOne({});
    expect(presence?.silences).toHaveLength(1);
    expect(await rescued()).toBe(0);
  });

  it('holds a dead holder back for the length of the outage, and no longer', async () => {
    // Renewed 36 s ago; silent for 14 s, of which 9 s are more than a pause as usual: over since 7 s ago.
    await expiredFor(16);
    await runner('living', 100, 1);
    await silent([[20, 6]], 1);
    expect(await rescued()).toBe(1);
    // Renewed 26 s ago: it has another 3 s.
    await expiredFor(6);
    await runner('living', 100, 1);
    expect(await rescued()).toBe(0);
  });

  it('leaves out what was before the lease was renewed for the last time', async () => {
    // Renewed 22 s ago, in the last two seconds of an outage of a minute.
    await expiredFor(2);
    await runner('living', 100, 1);
    await silent([[80, 20]], 1);
    expect(await rescued()).toBe(1);
  });

  it('is held back for no more than a lease after the last outage, however many there were', async () => {
    await expiredFor(1);
    await runner('living', 200, 1);
    const many = [5, 4, 3, 2, 1].map((n) => [20 + 20 * n, 3 + 20 * n] as const);
    await silent(many, 1);
    expect(await rescued()).toBe(1);
  });

  it('does not take a fleet that died for an outage, when those who could have lived had time to come back', async () => {
    await expiredFor(40);
    await runner('dead', 300, 61);
    await runner('new', 1, 1);
    await silent([[60, 1]], 1);
    expect(await rescued()).toBe(0);
    await silent([[60, 7]], 1);
    expect(await rescued()).toBe(1);
    // One of the old ones is back: it was an outage after all.
    await expiredFor(40);
    await runner('living', 300, 1);
    expect(await rescued()).toBe(0);
  });

  it('passes over nobody who is heard while it asks who was', async () => {
    await expiredFor(40);
    await runner('living', 300, 1);
    await silent([[60, 7]], 1);
    // As a server may answer that goes through the index in which a heartbeat moves its runner.
    const passing = await bench.connect(({ collection, method, args }, run) => {
      const [filter, options] = args as [{ heartbeatAt?: unknown }?, { hint?: unknown }?];
      const isByHeartbeat = collection === 'runners' && filter?.heartbeatAt !== undefined;
      const isMoving = isByHeartbeat && method === 'find' && options?.hint === undefined;
      return isMoving ? (Promise.resolve([]) as never) : run();
    });
    expect(await passing.rescueExpired(leaseMs)).toEqual([]);
  });

  it('remembers the silence that a newcomer ends', async () => {
    await silent([], 30);
    await hear('new');
    const presence = await bench.collections.presence.findOne({});
    expect(presence?.silences).toHaveLength(1);
    const [silence] = presence?.silences ?? [];
    expect(Number(silence?.to) - Number(silence?.from)).toBeGreaterThanOrEqual(30_000);
    expect(presence?.heardAt).toEqual(silence?.to);
  });

  it('keeps a hundred silences, the latest', async () => {
    await silent(
      Array.from({ length: 100 }, (_, index) => [1_000 - index, 999 - index] as const),
      30,
    );
    await bench.store.heartbeatRunner('living', 'running', 5_000);
    const presence = await bench.collections.presence.findOne({});
    expect(presence?.silences).toHaveLength(100);
    expect(presence?.silences.at(-1)?.to).toEqual(presence?.heardAt);
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
