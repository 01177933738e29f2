import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TaskDocument } from '../../packages/core/src/store/collections.js';
import { Graph } from './graphs.js';
import { Bench } from './scheduling.js';

/**
 * What each hot query has to look at, by `explain`, in a collection where nearly all tasks are none of its business: closed
 * ones, ready ones of other DAGs, and ready ones of jobs of this DAG that the runner has no class for.
 */
let bench: Bench;
let graph: Graph;
let runId: string;
const FINISHED = 100_000;
const READY = 1_000;
const BLOCKED = 1_000;
const jobs = Array.from({ length: 1_000 }, (_, index) => `job-${index}`);

beforeAll(async () => {
  bench = await Bench.open();
  graph = await Graph.deploy(bench, { mine: [], other: [] });
  runId = await graph.start();
  const { tasks } = bench.collections;
  const [model, second] = await tasks.find({ runId }).sort({ order: 1 }).toArray();
  await tasks.deleteOne({ _id: second!._id });
  const load = (index: number): TaskDocument => {
    const isFinished = index < FINISHED;
    const isReady = !isFinished && index < FINISHED + READY;
    // Every second ready task is of this DAG, but of a job that is newer than the runner's classes.
    const isNewer = isReady && index % 2 === 0;
    const dagId = isReady && !isNewer ? `foreign-${index % 50}` : graph.id;
    return {
      ...model!,
      _id: `load/${index}`,
      runId: `load-${index}`,
      dagId,
      pool: `default/${dagId}`,
      serveKey: isNewer ? `${graph.id}/new-job/1` : `${dagId}/job-${index % 1_000}/0`,
      state: isFinished ? 'succeeded' : isReady ? 'ready' : 'blocked',
      priority: 50,
      endedAt: isFinished ? new Date() : null,
    };
  };
  const total = FINISHED + READY + BLOCKED;
  for (let from = 0; from < total; from += 2_000) {
    await tasks.insertMany(
      Array.from({ length: Math.min(2_000, total - from) }, (_, offset) => load(from + offset)),
      { ordered: false },
    );
  }
}, 300_000);
afterAll(() => bench.close());

interface Stats {
  readonly totalKeysExamined: number;
  readonly totalDocsExamined: number;
  readonly nReturned: number;
}

async function explain(command: object): Promise<Stats & { plan: string }> {
  const answer = await bench.db.command({ explain: command, verbosity: 'executionStats' });
  return { ...answer.executionStats, plan: JSON.stringify(answer.queryPlanner.winningPlan) };
}

describe('hot queries', () => {
  it('the claim looks at what it takes, with a backlog that it cannot serve in its own pool', async () => {
    const filter = {
      state: 'ready',
      dagId: graph.id,
      pool: `default/${graph.id}`,
      serveKey: { $in: [`${graph.id}/mine/0`] },
    };
    const sort = { priority: -1, readyAt: 1 };
    const one = await explain({ find: 'tasks', filter, sort, limit: 1 });
    expect(one.plan).toMatch(/"indexName":"claim"/);
    expect(one.plan).not.toMatch(/"SORT"|COLLSCAN/);
    expect(one).toMatchObject({ nReturned: 1, totalDocsExamined: 1 });
    expect(one.totalKeysExamined).toBeLessThanOrEqual(2);
  });

  it('the claim of several jobs merges their keys, and sorts nothing', async () => {
    const filter = {
      state: 'ready',
      dagId: graph.id,
      pool: `default/${graph.id}`,
      serveKey: { $in: ['mine', 'x', 'y', 'z'].map((job) => `${graph.id}/${job}/0`) },
    };
    const sort = { priority: -1, readyAt: 1 };
    const one = await explain({ find: 'tasks', filter, sort, limit: 1 });
    expect(one.plan).not.toMatch(/"SORT"|COLLSCAN/);
    expect(one.totalDocsExamined).toBe(1);
    expect(one.totalKeysExamined).toBeLessThanOrEqual(8);
  });

  it('a runner with a thousand jobs finds its task, and nothing when there is none, at no cost', async () => {
    const serveKeys = [
      ...jobs.map((job) => `${graph.id}/${job}x/0`),
      ...jobs.map((job) => `elsewhere/${job}/0`),
      `${graph.id}/mine/0`,
    ];
    const params = { runnerId: 'worker', serveKeys, leaseMs: 60_000, limit: 10 };
    const claimed = await bench.store.claimTasks(params);
    expect(claimed.map((task) => task.runId)).toEqual([runId]);
    expect(await bench.store.claimTasks(params)).toEqual([]);
    await bench.store.rescueRunner('worker');
  });

  it.each([
    [
      'is anything open',
      { runId: 'load-101005', state: { $in: ['blocked', 'ready', 'running', 'delayed'] } },
      'run',
    ],
    ['expired leases', { state: 'running', 'lease.expiresAt': { $lte: new Date() } }, 'expiry'],
    ['tasks of a runner', { state: 'running', 'lease.runner': 'nobody' }, 'holder'],
    ['delayed and due', { state: 'delayed', delayedUntil: { $lte: new Date() } }, 'delayed'],
    [
      'any open upstream of a wide join',
      { runId: 'load-101005', feeds: 'join', state: { $in: ['blocked', 'ready'] } },
      '(?:feeds|run)',
    ],
    ['owed propagation', { propagated: false, endedAt: { $lte: new Date(0) } }, 'unpropagated'],
  ])('%s', async (_what, filter, index) => {
    const stats = await explain({ find: 'tasks', filter, limit: 10 });
    expect(stats.plan).toMatch(new RegExp(`"indexName":"${index}"`));
    expect(stats.totalKeysExamined).toBeLessThanOrEqual(stats.nReturned + 2);
    expect(stats.totalDocsExamined).toBeLessThanOrEqual(stats.nReturned + 1);
  });

  it('pools that hold work cost a key for each, by the DAGs of the runner', async () => {
    const stats = await explain({
      distinct: 'tasks',
      key: 'pool',
      query: { state: 'ready', dagId: { $in: [graph.id, 'elsewhere'] } },
    });
    expect(stats.plan).toMatch(/"indexName":"claim"/);
    expect(stats.totalDocsExamined).toBeLessThanOrEqual(5);
    expect(stats.totalKeysExamined).toBeLessThanOrEqual(5);
  });

  it('the queued runs of a DAG come in the order of their admission', async () => {
    const stats = await explain({
      find: 'runs',
      filter: { dagId: graph.id, state: 'queued', dueAt: { $lte: new Date() } },
      sort: { dueAt: 1, _id: 1 },
      limit: 1,
    });
    expect(stats.plan).toMatch(/"indexName":"admission"/);
    expect(stats.plan).not.toMatch(/"SORT"/);
  });
});
