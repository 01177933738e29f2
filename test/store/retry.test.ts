import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkClosedRun, failed, Graph } from './graphs.js';
import { atEveryDeath, Bench, definitionOf, deployment, pastDaily } from './scheduling.js';

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench.close());

const kept = { retention: { runsMs: 30 * 86_400_000, logsMs: 86_400_000 } };
const skipped = { kind: 'skipped', reason: 'nothing to do' } as const;

/** extract -> (convert, check) -> report, and beside them a root of its own. */
const shape = {
  extract: [],
  beside: [],
  convert: ['extract'],
  check: ['extract'],
  report: ['convert', 'check'],
} as const;

function deploy(options = {}) {
  return Graph.deploy(bench, shape, { ...kept, ...options });
}

/** What must hold of a DAG, whatever happened. */
async function audit(dagId: string, where = 'audit') {
  const { violations } = await bench.store.audit({
    ...{ dagIds: [dagId], atRest: true, leaseMs: 0, pollMs: 0 },
  });
  expect(violations, where).toEqual([]);
}

/** A run that has ended with `convert` failed and `report` upstream-failed. */
async function failedRun(graph: Graph): Promise<string> {
  const runId = await graph.start();
  await graph.work({ convert: failed });
  expect((await graph.view(runId)).state).toBe('failed');
  return runId;
}

async function retry(graph: Graph, runId: string, selection = {}) {
  const result = await bench.store.retryRun(runId, selection);
  await bench.store.admitRuns(graph.id);
  return result;
}

describe('what runs again', () => {
  test('has a place that is told from one that nobody gave back', async () => {
    const graph = await deploy();
    const runId = await failedRun(graph);
    await retry(graph, runId);
    const stalePlaces = async () =>
      (await bench.store.examineOwed(0)).find(({ kind }) => kind === 'stale-places');
    expect((await bench.collections.dags.findOne({ _id: graph.id }))?.activeRunIds).toEqual([
      `${runId}#1`,
    ]);
    expect(await stalePlaces()).toBeUndefined();
    // As one that closed the first opening would leave it.
    const change = { $set: { activeRunIds: [runId] } };
    await bench.collections.dags.updateOne({ _id: graph.id }, change);
    expect(await stalePlaces()).toEqual({ kind: 'stale-places', count: 1, examples: [runId] });
    await bench.store.repairPlaces();
    await graph.work();
  });

  test('what failed and what could not run because of it; the rest keeps its results', async () => {
    const graph = await deploy();
    const runId = await failedRun(graph);
    const before = await graph.view(runId);
    expect(await retry(graph, runId)).toEqual({
      ...{ runId, dagId: graph.id, backfillId: null, jobs: ['convert', 'report'] },
    });
    expect(await graph.view(runId)).toMatchObject({
      ...{ state: 'running', openEpoch: 1, endedAt: null, slot: before.slot },
      ...{ version: before.version, createdAt: before.createdAt },
    });
    expect(await graph.states(runId)).toEqual({
      ...{ extract: 'succeeded', beside: 'succeeded', check: 'succeeded' },
      ...{ convert: 'ready', report: 'blocked' },
    });
    const claimed = await graph.claimOne();
    expect(claimed).toMatchObject({ jobId: 'convert', generation: 1, attempt: 2, failures: 0 });
    expect(claimed.token).toBeGreaterThan(before.tasks.find((t) => t.jobId === 'convert')!.token);
    await graph.finish(claimed);
    await bench.store.propagate(claimed.taskId);
    expect(await graph.work()).toEqual(['report']);
    const after = await graph.view(runId);
    expect(after.state).toBe('succeeded');
    checkClosedRun(after);
    const convert = after.tasks.find((task) => task.jobId === 'convert')!;
    expect(convert.attempts.map(({ outcome }) => outcome)).toEqual(['failed', 'succeeded']);
    expect((await bench.store.getDag(graph.id))?.activeRunIds).toEqual([]);
    const slot = await bench.collections.runs.findOne({ _id: runId });
    expect(slot!.expireAt!.getTime()).toBeGreaterThan(slot!.endedAt!.getTime() + 29 * 86_400_000);
  });

  test('a named job with what did not succeed after it; with downstream also what did', async () => {
    const graph = await deploy();
    const runId = await graph.start();
    await graph.work();
    await expect(bench.store.retryRun(runId)).rejects.toMatchObject({ code: 'conflict' });
    expect((await retry(graph, runId, { jobs: ['convert'] })).jobs).toEqual(['convert']);
    expect(await graph.work()).toEqual(['convert']);
    expect((await graph.view(runId)).state).toBe('succeeded');
    const all = await retry(graph, runId, { jobs: ['extract'], downstream: true });
    expect(all.jobs).toEqual(['extract', 'convert', 'check', 'report']);
    expect(await graph.states(runId)).toMatchObject({ extract: 'ready', report: 'blocked' });
    expect(await graph.work()).toEqual(['extract', 'convert', 'check', 'report']);
    expect(await graph.view(runId)).toMatchObject({ state: 'succeeded', openEpoch: 2 });
  });

  test('what was skipped after it is decided anew', async () => {
    const graph = await deploy();
    const runId = await graph.start();
    await graph.work({ extract: skipped });
    expect(await graph.states(runId)).toMatchObject({ extract: 'skipped', report: 'skipped' });
    const { jobs } = await retry(graph, runId, { jobs: ['extract'] });
    expect(jobs).toEqual(['extract', 'convert', 'check', 'report']);
    await graph.work();
    expect(await graph.states(runId)).toMatchObject({ extract: 'succeeded', report: 'succeeded' });
  });

  test('what stays skipped or failed is remembered: it still decides the join', async () => {
    const graph = await deploy();
    const runId = await graph.start();
    await graph.work({ convert: failed, check: skipped });
    await retry(graph, runId, { jobs: ['convert'] });
    await graph.work();
    expect(await graph.states(runId)).toMatchObject({ convert: 'succeeded', report: 'skipped' });
    const other = await graph.start();
    await graph.work({ convert: failed, check: failed });
    await retry(graph, other, { jobs: ['convert'] });
    await graph.work();
    expect(await graph.states(other)).toMatchObject({ convert: 'succeeded', check: 'failed' });
    expect(await graph.states(other)).toMatchObject({ report: 'upstream-failed' });
    expect((await graph.view(other)).state).toBe('failed');
  });

  test('a cancelled run goes on where it was; of a part the rest stays cancelled, and so does the run', async () => {
    const graph = await deploy();
    const runId = await graph.start();
    const [extract] = await graph.claim(1);
    await graph.finish(extract!);
    await bench.store.propagate(extract!.taskId);
    await bench.store.cancelRun(runId);
    await retry(graph, runId, { jobs: ['check'] });
    await graph.work();
    expect((await graph.view(runId)).state).toBe('cancelled');
    expect((await retry(graph, runId)).jobs).not.toContain('extract');
    await graph.work();
    const after = await graph.view(runId);
    expect(after).toMatchObject({ state: 'succeeded', cancelRequestedAt: null });
    checkClosedRun(after);
  });

  test('a join of more than a hundred waits for those that run again', async () => {
    const many = Array.from({ length: 101 }, (_, n) => `up-${n}`);
    const graph = await Graph.deploy(
      bench,
      { ...Object.fromEntries(many.map((job) => [job, []])), join: many },
      kept,
    );
    const runId = await graph.start();
    await graph.work({ 'up-7': failed, 'up-9': failed });
    expect((await retry(graph, runId)).jobs).toEqual(['up-7', 'up-9', 'join']);
    const claimed = await graph.claim(5);
    expect(claimed).toHaveLength(2);
    for (const task of claimed) {
      expect((await graph.states(runId)).join).toBe('blocked');
      await graph.finish(task);
      await bench.store.propagate(task.taskId);
    }
    expect(await graph.work()).toEqual(['join']);
    expect((await graph.view(runId)).state).toBe('succeeded');
  });

  test('the count of failures begins again, and so does that of losses', async () => {
    const graph = await Graph.deploy(bench, { only: [] }, kept, { only: { maxLost: 1 } });
    const runId = await graph.start();
    await graph.claim(1);
    await bench.store.rescueRunner('worker');
    expect(await graph.states(runId)).toEqual({ only: 'failed' });
    await retry(graph, runId);
    expect(await graph.task(runId, 'only')).toMatchObject({ state: 'ready', losses: 0 });
    await graph.work();
    expect((await graph.view(runId)).state).toBe('succeeded');
  });
});

describe('refusals', () => {
  test('an open run, an unknown one, an unknown job, a job whose upstream stays failed', async () => {
    const graph = await deploy();
    const open = await graph.start();
    const { retryRun } = bench.store;
    await expect(retryRun(open)).rejects.toThrow(/is running: only a run that has ended/);
    await graph.work({ convert: failed });
    await expect(retryRun('none')).rejects.toMatchObject({ code: 'not-found' });
    await expect(retryRun(open, { jobs: ['convrt'] })).rejects.toMatchObject({
      code: 'not-found',
      hint: 'Did you mean "convert"?',
    });
    await expect(retryRun(open, { jobs: ['report'] })).rejects.toThrow(
      /report cannot run again: it waits for convert, which failed/,
    );
    expect((await graph.view(open)).openEpoch).toBe(0);
  });

  test('a run that is removed in less than a day', async () => {
    const graph = await Graph.deploy(bench, { only: [] });
    const runId = await graph.start();
    await graph.work({ only: failed });
    await expect(bench.store.retryRun(runId)).rejects.toThrow(/in less than a day/);
    const run = await bench.collections.runs.findOne({ _id: runId });
    expect(run).toMatchObject({ state: 'failed', expireAt: expect.any(Date) });
    expect(run).not.toHaveProperty('retrying');
  });
});

describe('its place', () => {
  test('it waits for one like any other run', async () => {
    const graph = await deploy();
    const runId = await failedRun(graph);
    const other = await graph.start();
    await retry(graph, runId);
    expect((await graph.view(runId)).state).toBe('queued');
    expect(await graph.claim(10)).toSatisfy((tasks: { runId: string }[]) =>
      tasks.every((task) => task.runId === other),
    );
    await bench.store.cancelRun(other);
    await bench.store.rescueRunner('worker');
    await bench.store.continueCancels();
    await bench.store.admitRuns(graph.id);
    expect(await graph.work()).toEqual(['convert', 'report']);
    expect((await graph.view(runId)).state).toBe('succeeded');
  });

  test('no overlap rule refuses it, and a pause of the DAG does not hold it up', async () => {
    for (const overlap of ['skip', 'queue', 'allow', 'cancel-previous'] as const) {
      const id = bench.id();
      const definition = definitionOf(id, pastDaily, { ...kept, overlap });
      await bench.store.deployDag(deployment({ ...definition, maxQueuedRuns: 1 }));
      const runIds: string[] = [];
      for (const n of [1, 2, 3]) {
        const { runId } = await bench.store.createRun({
          ...{ dagId: id, cause: 'schedule', logicalDate: new Date(Date.UTC(2026, 0, n)) },
        });
        await bench.store.admitRuns(id);
        await bench.work(id, { outcome: 'failed' });
        runIds.push(runId);
      }
      await bench.store.pauseDag(id);
      for (const runId of runIds) await bench.store.retryRun(runId);
      for (let rounds = 0; rounds < 4; rounds++) {
        await bench.store.admitRuns(id);
        await bench.work(id);
      }
      const runs = await bench.store.listRuns({ dagId: id });
      expect([overlap, ...runs.map((run) => run.state)]).toEqual([
        ...[overlap, 'succeeded', 'succeeded', 'succeeded'],
      ]);
    }
  });

  test('whoever stood still while closing it before cannot give back its new place', async () => {
    const graph = await deploy();
    let stalled: (() => void) | undefined;
    const waiting = new Promise<void>((resolve) => {
      stalled = resolve;
    });
    let reached: (() => void) | undefined;
    const closed = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const slow = await bench.connect(async (operation, run) => {
      // The write that gives the place back, after the run is closed.
      if (operation.collection === 'dags' && operation.method === 'updateOne') {
        reached!();
        await waiting;
      }
      return run();
    });
    const runId = await graph.start();
    for (const job of ['beside', 'extract', 'check']) {
      const task = (await graph.claim(10)).find((one) => one.jobId === job);
      if (task !== undefined) await graph.finish(task);
      await bench.store.rescueRunner('worker');
      if (task !== undefined) await bench.store.propagate(task.taskId);
    }
    const convert = (await graph.claim(10)).find((one) => one.jobId === 'convert')!;
    await graph.finish(convert, failed);
    const propagating = slow.propagate(convert.taskId);
    await closed;
    await bench.store.repairPlaces();
    await retry(graph, runId);
    stalled!();
    await propagating;
    await bench.store.payPropagation(0);
    expect((await bench.store.getDag(graph.id))?.activeRunIds).toEqual([runId]);
    expect((await graph.view(runId)).state).toBe('running');
    expect(await graph.work()).toEqual(['convert', 'report']);
    expect((await graph.view(runId)).state).toBe('succeeded');
  });
});

describe('dying anywhere', () => {
  test('leaves nothing, or a retry that the leader completes; each task runs once', async () => {
    const graph = await deploy();
    const deaths = await atEveryDeath(bench, {
      scene: () => failedRun(graph),
      act: (store, runId) => store.retryRun(runId),
      async check(runId, where) {
        await bench.store.finishRetries();
        if ((await graph.view(runId)).openEpoch === 0) await bench.store.retryRun(runId);
        await bench.store.admitRuns(graph.id);
        expect(await graph.work(), where).toEqual(['convert', 'report']);
        const after = await graph.view(runId);
        expect(after, where).toMatchObject({ state: 'succeeded', openEpoch: 1 });
        checkClosedRun(after);
        expect(
          await bench.collections.runs.countDocuments({ 'retrying.at': { $gt: new Date(0) } }),
        ).toBe(0);
        const tasks = await bench.collections.tasks.find({ runId }).toArray();
        expect(
          tasks.every((task) => task.expireAt !== null && task.propagated),
          where,
        ).toBe(true);
        await audit(graph.id, where);
      },
    });
    expect(deaths).toBeGreaterThan(6);
  });

  test('a caller that stood still at any step changes nothing after the run has ended again', async () => {
    const graph = await deploy();
    for (let step = 0; ; step++) {
      let left = step;
      const slow = await bench.connect(async (_operation, run) => {
        if (left-- === 0) {
          // Everything else happens meanwhile: another caller completes the retry, and the run ends.
          if (
            (await bench.store.finishRetries()) === 0 &&
            (await graph.view(runId)).openEpoch === 0
          )
            await bench.store.retryRun(runId);
          await bench.store.admitRuns(graph.id);
          await graph.work();
        }
        return run();
      });
      const runId = await failedRun(graph);
      await slow.retryRun(runId).catch((error: { code: string }) => {
        expect(error.code).toBe('conflict');
      });
      const isOver = left >= 0;
      if (isOver) await bench.store.admitRuns(graph.id);
      if (isOver) await graph.work();
      const after = await graph.view(runId);
      expect(after, `step ${step}`).toMatchObject({ state: 'succeeded', openEpoch: 1 });
      checkClosedRun(after);
      expect(
        after.tasks.map((task) => task.generation),
        `step ${step}`,
      ).toEqual([0, 0, 1, 0, 1]);
      const tasks = await bench.collections.tasks.find({ runId }).toArray();
      expect(
        tasks.every((task) => task.expireAt !== null),
        `step ${step}`,
      ).toBe(true);
      await audit(graph.id, `step ${step}`);
      if (isOver) break;
    }
  });
});

describe('a run of a backfill', () => {
  const day = (n: number) => new Date(Date.UTC(2026, 0, n));

  async function countsOf(id: string) {
    const backfill = (await bench.store.getBackfill(id))!;
    const { total, succeeded, failed, cancelled, skipped, running, queued, state } = backfill;
    expect(succeeded + failed + cancelled + skipped + running + queued).toBe(total);
    return { state, succeeded, failed, cancelled, running, queued };
  }

  let first = -1;
  /** A backfill over two dates that has ended with its first run failed. */
  async function ended(dagId: string) {
    first += 2;
    const { id } = await bench.store.createBackfill({
      ...{ dagId, from: day(first), to: day(first + 2), maxActive: 2 },
    });
    await bench.store.feedBackfills();
    await bench.work(dagId, { limit: 1, outcome: 'failed' });
    await bench.work(dagId);
    const [run] = await bench.store.listRuns({ backfillId: id, state: ['failed'] });
    return { id, runId: run!.id };
  }

  async function deployDaily() {
    const dagId = bench.id();
    await bench.deploy(dagId, pastDaily, kept);
    return dagId;
  }

  test('is counted as open again, and then as what it became; the backfill ends once more', async () => {
    const dagId = await deployDaily();
    const { id, runId } = await ended(dagId);
    expect(await countsOf(id)).toMatchObject({ state: 'failed', succeeded: 1, failed: 1 });
    expect(await bench.store.retryRun(runId)).toMatchObject({ backfillId: id, jobs: ['only'] });
    expect(await countsOf(id)).toMatchObject({
      state: 'running',
      succeeded: 1,
      failed: 0,
      queued: 1,
    });
    expect((await bench.store.getBackfill(id))!.endedAt).toBeNull();
    expect(await bench.store.feedBackfills()).toBe(1);
    expect(await countsOf(id)).toMatchObject({ running: 1, queued: 0 });
    expect(await bench.work(dagId)).toEqual([runId]);
    expect(await countsOf(id)).toMatchObject({ state: 'succeeded', succeeded: 2, failed: 0 });
    await bench.store.retryRun(runId, { jobs: ['only'] });
    await bench.store.feedBackfills();
    await bench.work(dagId, { outcome: 'failed' });
    expect(await countsOf(id)).toMatchObject({ state: 'failed', succeeded: 1, failed: 1 });
    await audit(dagId);
  });

  test('of one that was cancelled it is refused, and says how to redo the date', async () => {
    const dagId = await deployDaily();
    const { id } = await bench.store.createBackfill({ dagId, from: day(1), to: day(3) });
    await bench.store.feedBackfills();
    const [run] = await bench.store.listRuns({ backfillId: id });
    await bench.store.cancelBackfill(id, { running: true });
    await expect(bench.store.retryRun(run!.id)).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('--reprocess all'),
    });
  });

  test('of one that is paused waits for its resume, and goes when it is cancelled', async () => {
    const dagId = await deployDaily();
    const { id } = await bench.store.createBackfill({ dagId, from: day(1), to: day(3) });
    await bench.store.feedBackfills();
    await bench.work(dagId, { outcome: 'failed' });
    await bench.store.pauseBackfill(id);
    const [run] = await bench.store.listRuns({ backfillId: id });
    await bench.store.retryRun(run!.id);
    expect(await bench.store.feedBackfills()).toBe(0);
    expect(await countsOf(id)).toMatchObject({ state: 'paused', failed: 0, queued: 2 });
    await bench.store.resumeBackfill(id);
    expect(await bench.store.feedBackfills()).toBe(1);
    await bench.store.cancelBackfill(id, { running: true });
    expect(await countsOf(id)).toMatchObject({ state: 'cancelled', cancelled: 2, queued: 0 });
  });

  test('dying anywhere counts it once', async () => {
    const dagId = await deployDaily();
    const deaths = await atEveryDeath(bench, {
      scene: () => ended(dagId),
      act: (store, { runId }) => store.retryRun(runId),
      async check({ id, runId }, where) {
        await bench.store.finishRetries();
        if ((await bench.store.getRun(runId))!.openEpoch === 0) await bench.store.retryRun(runId);
        // What a second caller, or a slow one, may still do.
        await bench.store.finishRetries();
        await bench.store.feedBackfills();
        expect(await bench.work(dagId), where).toEqual([runId]);
        expect(await countsOf(id), where).toMatchObject({ state: 'succeeded', succeeded: 2 });
        await audit(dagId, where);
      },
    });
    expect(deaths).toBeGreaterThan(9);
  });

  test('the backfill cancelled in the middle: the retry is taken back', async () => {
    const dagId = await deployDaily();
    const { id, runId } = await ended(dagId);
    const slow = await bench.connect(async (operation, run) => {
      if (operation.collection === 'runs' && operation.method === 'findOneAndUpdate') {
        const marked = await run();
        await bench.collections.backfills.updateOne({ _id: id }, { $set: { state: 'cancelled' } });
        return marked;
      }
      return run();
    });
    await expect(slow.retryRun(runId)).rejects.toMatchObject({ code: 'conflict' });
    const run = await bench.collections.runs.findOne({ _id: runId });
    expect(run).toMatchObject({ state: 'failed', openEpoch: 0, expireAt: expect.any(Date) });
    expect(run).not.toHaveProperty('retrying');
  });
});
