import { startServer } from '@flowline/devdb';
import type { Collection } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectStore } from '../../packages/core/src/store/connect.js';
import type { ClaimedTask } from '../../packages/core/src/store/verbs/task-verbs.js';
import { type FailPoint, openFailPoint } from '../support/fail-points.js';
import { gate } from '../support/until.js';
import { failed, Graph } from './graphs.js';
import { Bench } from './scheduling.js';

let bench: Bench;
let graph: Graph;
let ledger: Collection<{ _id: string; amount: number }>;
let failPoint: FailPoint;
beforeAll(async () => {
  bench = await Bench.open();
  graph = await Graph.deploy(bench, { only: [], next: ['only'] }, { overlap: 'allow' });
  ledger = bench.db.collection('ledger');
  await bench.db.createCollection('ledger');
  failPoint = await openFailPoint(bench.uri);
});
afterAll(async () => {
  await failPoint.close();
  await bench.close();
});
beforeEach(async () => {
  await bench.collections.tasks.deleteMany({});
  await ledger.deleteMany({});
});

async function claimed(): Promise<ClaimedTask> {
  await graph.start();
  return graph.claimOne();
}

/** Commits an entry of the ledger with the task's success; the entry is named by the task. */
function commit(task: ClaimedTask, amount = 1, store = bench.store) {
  return store.commitAttempt(attemptOf(task), async (session, client) => {
    const entries = client
      .db(bench.db.databaseName)
      .collection<{ _id: string; amount: number }>('ledger');
    await entries.insertOne({ _id: `${task.taskId}#${amount}`, amount }, { session });
    return { amount };
  });
}

const attemptOf = ({ taskId, token, attempt }: ClaimedTask) => ({
  taskId,
  token,
  attempt,
  runnerId: 'worker',
});

describe('commitAttempt', () => {
  it('stores the user writes, the result and the success together, and owes propagation', async () => {
    const task = await claimed();
    expect(await commit(task)).toEqual({ value: { amount: 1 }, repeated: false });
    expect(await ledger.find().toArray()).toEqual([{ _id: `${task.taskId}#1`, amount: 1 }]);
    const stored = await bench.collections.tasks.findOne({ _id: task.taskId });
    expect(stored).toMatchObject({ state: 'succeeded', lease: null, propagated: false });
    expect(stored?.attempts).toMatchObject([{ n: 1, outcome: 'succeeded' }]);
    expect((await bench.store.readInputs(task.runId, ['only'])).results).toEqual([{ amount: 1 }]);
    expect((await bench.store.propagate(task.taskId)).ready).toEqual([`${task.runId}/next`]);
  });

  it('leaves nothing when the work throws, and passes its error on as it is', async () => {
    const task = await claimed();
    const before = await bench.collections.tasks.findOne({ _id: task.taskId });
    const wrong = new Error('no');
    const commitAndThrow = bench.store.commitAttempt(attemptOf(task), async (session, client) => {
      await client.db(bench.db.databaseName).collection('ledger').insertOne({ a: 1 }, { session });
      throw wrong;
    });
    await expect(commitAndThrow).rejects.toBe(wrong);
    expect(await ledger.countDocuments()).toBe(0);
    expect(await bench.collections.tasks.findOne({ _id: task.taskId })).toEqual(before);
    // The duplicate key of a user's own is theirs to see.
    await ledger.insertOne({ _id: `${task.taskId}#1`, amount: 9 });
    await expect(commit(task)).rejects.toMatchObject({ code: 11000 });
    expect((await graph.task(task.runId, 'only')).state).toBe('running');
  });

  it('refuses a deposed holder, whether it was deposed before or while its work ran', async () => {
    const task = await claimed();
    const written = gate();
    const goOn = gate();
    let runs = 0;
    const late = bench.store.commitAttempt(attemptOf(task), async (session, client) => {
      runs += 1;
      const entries = client.db(bench.db.databaseName).collection('ledger');
      await entries.insertOne({ amount: runs }, { session });
      written.open();
      await goOn.opened;
    });
    await written.opened;
    await bench.store.rescueRunner('worker');
    const second = await graph.claimOne();
    goOn.open();
    await expect(late).rejects.toMatchObject({ code: 'lease-lost', retryable: false });
    await expect(commit(task, 2)).rejects.toMatchObject({ code: 'lease-lost' });
    expect(await ledger.countDocuments()).toBe(0);
    await commit(second, 3);
    expect((await ledger.find().toArray()).map(({ amount }) => amount)).toEqual([3]);
    expect((await graph.task(task.runId, 'only')).attempts.map(({ outcome }) => outcome)).toEqual([
      'lost',
      'succeeded',
    ]);
  });

  it('lets a rescue that comes between the last write and the commit find it done, or undoes it', async () => {
    for (let round = 0; round < 20; round += 1) {
      const task = await claimed();
      const [committed, rescued] = await Promise.all([
        commit(task, round).then(
          () => true,
          () => false,
        ),
        bench.store.rescueRunner('worker'),
      ]);
      expect(committed).toBe(rescued.length === 0);
      expect(await ledger.countDocuments({ amount: round })).toBe(committed ? 1 : 0);
      if (!committed) await graph.finish(await graph.claimOne());
    }
  });

  it('recognises its own commit when only the answer was lost: the second run of the work leaves nothing', async () => {
    const task = await claimed();
    await commit(task, 1);
    expect(await commit(task, 2)).toEqual({ value: { amount: 1 }, repeated: true });
    expect((await ledger.find().toArray()).map(({ amount }) => amount)).toEqual([1]);
    await expect(graph.finish(task, failed)).rejects.toMatchObject({ code: 'lease-lost' });
  });

  it('runs the work again when the task was written to meanwhile', async () => {
    const task = await claimed();
    let runs = 0;
    const { value } = await bench.store.commitAttempt(attemptOf(task), async (session, client) => {
      runs += 1;
      const entries = client.db(bench.db.databaseName).collection('ledger');
      await entries.insertOne({ amount: runs }, { session });
      if (runs === 1) await bench.store.renewLeases('worker', [task], 90_000);
      return runs;
    });
    expect(value).toBe(2);
    expect((await ledger.find().toArray()).map(({ amount }) => amount)).toEqual([2]);
  });

  it('records a success under a cancel request, as a finish does', async () => {
    const task = await claimed();
    await bench.store.cancelRun(task.runId);
    await commit(task);
    await bench.store.propagate(task.taskId);
    expect(await graph.states(task.runId)).toEqual({ only: 'succeeded', next: 'cancelled' });
  });

  it('asks before each run of the work, and aborts with what that throws', async () => {
    const task = await claimed();
    const refused = bench.store.commitAttempt(
      {
        ...attemptOf(task),
        beforeEach: () => {
          throw new Error('too late');
        },
      },
      async () => 1,
    );
    await expect(refused).rejects.toThrow('too late');
    expect((await graph.task(task.runId, 'only')).state).toBe('running');
  });

  it('refuses a result that cannot be stored, with its path, and writes nothing', async () => {
    const task = await claimed();
    const bad = bench.store.commitAttempt(attemptOf(task), async (session, client) => {
      await client.db(bench.db.databaseName).collection('ledger').insertOne({ a: 1 }, { session });
      return { f: () => 1 };
    });
    await expect(bad).rejects.toMatchObject({ code: 'payload', path: 'result.f' });
    expect(await ledger.countDocuments()).toBe(0);
  });

  it('survives a commit that fails over: applied with its answer lost, or refused by a primary that steps down', async (test) => {
    test.skip(failPoint.refused !== null, failPoint.refused ?? '');
    const appName = `commits-${bench.db.databaseName}`;
    const store = await connectStore({ uri: bench.uri, database: bench.db.databaseName, appName });
    try {
      const mishaps = [
        {
          writeConcernError: {
            code: 91,
            errmsg: 'the answer is lost',
            codeName: 'ShutdownInProgress',
          },
        },
        { errorCode: 10107, errorLabels: ['RetryableWriteError'] },
        { closeConnection: true },
      ];
      for (const [amount, mishap] of mishaps.entries()) {
        const task = await claimed();
        await failPoint.set({
          mode: { times: 1 },
          data: { failCommands: ['commitTransaction'], appName, ...mishap },
        });
        expect((await commit(task, amount, store)).value).toEqual({ amount });
        expect(await ledger.countDocuments({ amount })).toBe(1);
        expect((await graph.task(task.runId, 'only')).state).toBe('succeeded');
      }
    } finally {
      await failPoint.off();
      await store.close();
    }
  });

  it('says clearly that a standalone server has no transactions', async () => {
    const server = await startServer({ replicaSet: null });
    try {
      const store = await connectStore({ uri: server.uri, database: 'alone' });
      const refused = store.commitAttempt(
        { taskId: 'r/t', token: 1, attempt: 1, runnerId: 'worker' },
        async () => 1,
      );
      await expect(refused).rejects.toMatchObject({
        code: 'no-transactions',
        retryable: false,
        message: expect.stringMatching(/expected a replica set.*found a standalone server/),
      });
      await store.close();
    } finally {
      await server.close();
    }
  });
});
