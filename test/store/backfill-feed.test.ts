import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { dateSlot } from '../../packages/core/src/model/ids.js';
import type { BackfillRequest } from '../../packages/core/src/store/verbs/backfill-verbs.js';
import { atEveryDeath, Bench, pastDaily as daily, definitionOf, deployment } from './scheduling.js';

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench.close());

afterEach(async () => {
  // What one test leaves running is not fed in the next.
  await bench.collections.backfills.deleteMany({});
  await bench.collections.runs.deleteMany({});
});

function day(n: number): Date {
  return new Date(Date.UTC(2026, 0, n));
}

/** A daily DAG and a backfill over so many days of January. */
async function backfillOf(days: number, request: Partial<BackfillRequest> = {}) {
  const dagId = request.dagId ?? bench.id();
  if (request.dagId === undefined) await bench.deploy(dagId, daily);
  const backfill = await bench.store.createBackfill({
    from: day(1),
    to: day(1 + days),
    ...request,
    dagId,
  });
  return { dagId, id: backfill.id, backfill };
}

async function countsOf(id: string) {
  const backfill = (await bench.store.getBackfill(id))!;
  const { total, succeeded, failed, cancelled, skipped, running, queued, state } = backfill;
  expect(succeeded + failed + cancelled + skipped + running + queued).toBe(total);
  return { state, succeeded, failed, cancelled, skipped, running, queued };
}

/** Logical dates of a backfill's runs, as days of January, in the order in which the runs were made. */
async function daysRun(backfillId: string): Promise<number[]> {
  const runs = await bench.store.listRuns({ backfillId, limit: 200 });
  return runs.reverse().map((run) => run.logicalDate!.getUTCDate());
}

/** Feeds and works until the backfill has ended. */
async function finish(dagId: string, id: string): Promise<void> {
  for (let rounds = 0; rounds < 200; rounds += 1) {
    await bench.store.feedBackfills();
    await bench.work(dagId);
    if ((await bench.backfill(id)).endedAt !== null) return;
  }
  throw new Error('the backfill does not end');
}

describe('a backfill that is paused just when it is asked whether it has ended', () => {
  /** Answers as a server may that goes through an index of states in which it moves. */
  const passing = () =>
    bench.connect(({ collection, method, args }, run) => {
      const [filter] = args as [{ _id?: unknown; state?: unknown }?];
      const isAsked = collection === 'backfills' && method === 'find';
      const isMoving = isAsked && filter?._id !== undefined && filter.state !== undefined;
      return isMoving ? (Promise.resolve([]) as never) : run();
    });

  test('keeps its queued runs', async () => {
    const { dagId, id } = await backfillOf(2);
    const logicalDate = day(1);
    const { runId } = await bench.store.createRun({
      ...{ dagId, cause: 'backfill', backfillId: id },
      ...{ logicalDate, slot: dateSlot(logicalDate) },
    });
    await bench.store.pauseBackfill(id);
    await (await passing()).feedBackfills();
    expect((await bench.store.getRun(runId))?.state).toBe('queued');
    await bench.store.resumeBackfill(id);
    await finish(dagId, id);
    expect(await countsOf(id)).toMatchObject({ state: 'succeeded', succeeded: 2 });
  });

  test('keeps its plan', async () => {
    const { dagId, id } = await backfillOf(2);
    await bench.store.pauseBackfill(id);
    await bench.collections.backfillDates.updateMany(
      { backfillId: id },
      { $set: { createdAt: new Date(0) } },
    );
    await (await passing()).createBackfill({ dagId, from: day(10), to: day(11) });
    await bench.store.resumeBackfill(id);
    await finish(dagId, id);
    expect(await countsOf(id)).toMatchObject({ state: 'succeeded', succeeded: 2, skipped: 0 });
  });
});

describe('feeding', () => {
  test('keeps a window of maxActive runs, below live work, under the version of the plan', async () => {
    const { dagId, id, backfill } = await backfillOf(7, {
      maxActive: 3,
      params: { from: 'backfill' },
      reason: 'a test',
    });
    expect(backfill).toMatchObject({ state: 'running', total: 7, queued: 7, maxActive: 3 });
    await bench.store.deployDag(deployment(definitionOf(dagId, daily, { description: 'later' })));
    expect(await bench.store.feedBackfills()).toBe(3);
    expect(await countsOf(id)).toMatchObject({ running: 3, queued: 4 });
    expect(await bench.store.feedBackfills()).toBe(0);
    const [run] = await bench.store.listRuns({ backfillId: id });
    expect(run).toMatchObject({
      dagId,
      cause: 'backfill',
      version: backfill.version,
      state: 'running',
      logicalDate: day(3),
      dataInterval: { from: day(2), to: day(3) },
      params: { from: 'backfill' },
      reason: 'a test',
    });
    expect(run!.priority).toBeLessThan(-100);
    expect(await daysRun(id)).toEqual([1, 2, 3]);
    await bench.work(dagId, { limit: 2 });
    expect(await countsOf(id)).toMatchObject({ running: 1, queued: 4, succeeded: 2 });
    expect(await bench.store.feedBackfills()).toBe(2);
    expect(await countsOf(id)).toMatchObject({ running: 3, queued: 2, succeeded: 2 });
    await finish(dagId, id);
    expect(await countsOf(id)).toEqual({
      ...{ state: 'succeeded', succeeded: 7, failed: 0, cancelled: 0 },
      ...{ skipped: 0, running: 0, queued: 0 },
    });
    expect(await daysRun(id)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(await bench.collections.backfillDates.countDocuments({ backfillId: id })).toBe(0);
    // The same again makes no run.
    const again = await bench.store.createBackfill({ dagId, from: day(1), to: day(8) });
    expect(again).toMatchObject({ state: 'succeeded', total: 7, skipped: 7 });
  });

  test('may begin with the newest', async () => {
    const { dagId, id } = await backfillOf(4, { order: 'newest' });
    await finish(dagId, id);
    expect(await daysRun(id)).toEqual([4, 3, 2, 1]);
  });

  test('takes no place of the DAG, and is not held up by its places or its pause', async () => {
    const { dagId, id } = await backfillOf(2, { maxActive: 2 });
    await bench.store.createRun({ dagId, cause: 'manual' });
    expect(await bench.store.admitRuns(dagId)).toHaveLength(1);
    await bench.store.pauseDag(dagId);
    expect(await bench.store.feedBackfills()).toBe(2);
    expect((await bench.dag(dagId)).activeRunIds).toHaveLength(1);
    expect((await bench.backfill(id)).activeRunIds).toHaveLength(2);
  });

  test('ends failed when a run failed, and redoes it when asked', async () => {
    const { dagId, id } = await backfillOf(2);
    await bench.store.feedBackfills();
    await bench.work(dagId, { outcome: 'failed' });
    await finish(dagId, id);
    expect(await countsOf(id)).toMatchObject({ state: 'failed', succeeded: 1, failed: 1 });
    const redo = await bench.store.createBackfill({
      ...{ dagId, from: day(1), to: day(3), reprocess: 'failed' },
    });
    expect(redo).toMatchObject({ total: 2, skipped: 1, queued: 1 });
    await finish(dagId, redo.id);
    expect((await bench.store.listRuns({ backfillId: redo.id }))[0]).toMatchObject({
      generation: 1,
      state: 'succeeded',
      logicalDate: day(1),
    });
  });

  test('counts a run that closed while nobody counted, or whose document is gone', async () => {
    const { dagId, id } = await backfillOf(3, { maxActive: 3 });
    await bench.store.feedBackfills();
    const [first, second, third] = await bench.work(dagId, { limit: 3 });
    // As if whoever closed them had died before counting.
    await bench.collections.backfills.updateOne(
      { _id: id },
      {
        $set: { state: 'running', succeeded: 0, endedAt: null },
        $push: { openRunIds: { $each: [first!, second!, third!] } },
      },
    );
    await bench.collections.runs.deleteOne({ _id: second! });
    await bench.store.feedBackfills();
    expect(await countsOf(id)).toMatchObject({ state: 'succeeded', succeeded: 3 });
  });

  test('goes on with the others when one that was paused cannot be counted', async () => {
    const paused = await backfillOf(1);
    await bench.store.pauseBackfill(paused.id);
    await bench.collections.backfills.updateOne(
      { _id: paused.id },
      { $set: { openRunIds: [5 as unknown as string] } },
    );
    const sound = await backfillOf(1);
    await expect(bench.store.feedBackfills()).rejects.toThrow();
    expect(await countsOf(sound.id)).toMatchObject({ running: 1 });
    await bench.collections.backfills.deleteOne({ _id: paused.id });
    await bench.store.cancelBackfill(sound.id);
  });

  test('goes on with the others when one backfill cannot be fed', async () => {
    const broken = await backfillOf(1);
    await bench.collections.backfills.updateOne(
      { _id: broken.id },
      { $set: { version: 'gone', createdAt: day(1) } },
    );
    const sound = await backfillOf(1);
    await expect(bench.store.feedBackfills()).rejects.toMatchObject({ code: 'not-found' });
    expect(await countsOf(sound.id)).toMatchObject({ running: 1 });
    // Nor does its own caller hear of others.
    const another = await backfillOf(1);
    const unfed = await backfillOf(1);
    expect(await bench.store.feedBackfills({ only: another.id })).toBe(1);
    expect(await countsOf(another.id)).toMatchObject({ running: 1 });
    expect(await countsOf(unfed.id)).toMatchObject({ running: 0 });
    await expect(bench.store.feedBackfills({ only: broken.id })).rejects.toMatchObject({
      code: 'not-found',
    });
    for (const { id } of [another, unfed]) await bench.store.cancelBackfill(id);
    await bench.store.cancelBackfill(broken.id);
  });
});

describe('several feeders', () => {
  test('never exceed the window, and make every date once', async () => {
    const { dagId, id } = await backfillOf(8, { maxActive: 2 });
    const stores = await Promise.all(Array.from({ length: 3 }, () => bench.connect()));
    let most = 0;
    for (let rounds = 0; (await bench.backfill(id)).endedAt === null; rounds += 1) {
      expect(rounds).toBeLessThan(50);
      await Promise.all(stores.map((store) => store.feedBackfills()));
      const active = await bench.store.listRuns({ backfillId: id, state: ['running', 'queued'] });
      most = Math.max(most, active.length);
      await Promise.all(stores.map((store) => bench.work(dagId, { limit: 1, store })));
    }
    expect(most).toBe(2);
    expect(await daysRun(id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await countsOf(id)).toMatchObject({ state: 'succeeded', succeeded: 8 });
  });

  test('of two backfills over the same dates make each date once; the other one skips it', async () => {
    const one = await backfillOf(4, { maxActive: 2 });
    const other = await backfillOf(4, { dagId: one.dagId, maxActive: 2, order: 'newest' });
    expect(other.backfill.skipped).toBe(0);
    await finish(one.dagId, one.id);
    await finish(one.dagId, other.id);
    const both = [await countsOf(one.id), await countsOf(other.id)];
    expect(both.map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
    expect(both[0]!.succeeded + both[1]!.succeeded).toBe(4);
    expect(both[0]!.skipped + both[1]!.skipped).toBe(4);
    expect(await bench.store.listRuns({ dagId: one.dagId })).toHaveLength(4);
  });

  test('two that redo the same dates do not redo them twice', async () => {
    const first = await backfillOf(2, { maxActive: 2 });
    await finish(first.dagId, first.id);
    const redo = { dagId: first.dagId, maxActive: 2, reprocess: 'all' } as const;
    const [one, other] = [await backfillOf(2, redo), await backfillOf(2, redo)];
    await finish(first.dagId, one.id);
    await finish(first.dagId, other.id);
    const runs = await bench.store.listRuns({ dagId: first.dagId });
    expect(runs.map((run) => run.generation).sort()).toEqual([0, 0, 1, 1]);
  });
});

describe('pausing, resuming, cancelling', () => {
  test('a paused backfill starts nothing; what runs goes on and is counted', async () => {
    const { dagId, id } = await backfillOf(3);
    await bench.store.feedBackfills();
    expect(await bench.store.pauseBackfill(id)).toMatchObject({ state: 'paused', running: 1 });
    expect(await bench.store.pauseBackfill(id)).toMatchObject({ state: 'paused' });
    await bench.work(dagId);
    await bench.store.feedBackfills();
    await bench.store.admitRuns(dagId);
    expect(await countsOf(id)).toMatchObject({ succeeded: 1, running: 0, queued: 2 });
    expect(await bench.store.resumeBackfill(id)).toMatchObject({ state: 'running' });
    await finish(dagId, id);
    expect(await countsOf(id)).toMatchObject({ state: 'succeeded', succeeded: 3 });
    for (const verb of ['pauseBackfill', 'resumeBackfill', 'cancelBackfill'] as const) {
      await expect(bench.store[verb](id)).rejects.toMatchObject({ code: 'conflict' });
      await expect(bench.store[verb]('none')).rejects.toMatchObject({ code: 'not-found' });
    }
  });

  test('a cancelled one lets open runs finish', async () => {
    const { dagId, id } = await backfillOf(5, { maxActive: 2 });
    await bench.store.feedBackfills();
    expect(await bench.store.cancelBackfill(id)).toMatchObject({
      ...{ state: 'cancelled', cancelled: 3, running: 2, queued: 0 },
    });
    expect(await bench.store.feedBackfills()).toBe(0);
    expect(await bench.work(dagId)).toHaveLength(2);
    expect(await countsOf(id)).toMatchObject({ state: 'cancelled', cancelled: 3, succeeded: 2 });
    expect(await bench.store.cancelBackfill(id)).toMatchObject({ state: 'cancelled' });
    // The dates without a run are free for another one.
    const next = await bench.store.createBackfill({ dagId, from: day(1), to: day(6) });
    expect(next).toMatchObject({ skipped: 2, queued: 3 });
  });

  test('or cancels them, too, when asked, also afterwards', async () => {
    const { id } = await backfillOf(5, { maxActive: 2 });
    await bench.store.feedBackfills();
    await bench.store.cancelBackfill(id);
    expect(await bench.store.cancelBackfill(id, { running: true })).toMatchObject({
      ...{ state: 'cancelled', cancelled: 5, running: 0, queued: 0 },
    });
    const runs = await bench.store.listRuns({ backfillId: id });
    expect(runs.map((run) => run.state)).toEqual(['cancelled', 'cancelled']);
  });

  test('a run made for a backfill that was cancelled meanwhile is cancelled, not forgotten', async () => {
    const { dagId, id } = await backfillOf(2);
    const feeder = await bench.connect(async (operation, run) => {
      // The feeder stands still right after it made the run.
      const result = await run();
      if (operation.collection === 'tasks' && operation.method === 'insertMany') {
        await bench.store.cancelBackfill(id);
      }
      return result;
    });
    await feeder.feedBackfills();
    await bench.store.feedBackfills();
    const runs = await bench.store.listRuns({ dagId });
    expect(runs.map((run) => run.state)).toEqual(['cancelled']);
    expect(await countsOf(id)).toMatchObject({ state: 'cancelled', cancelled: 2, running: 0 });
  });

  test('a run that was cancelled by hand before its place counts as cancelled', async () => {
    const { dagId, id } = await backfillOf(2);
    await bench.store.feedBackfills();
    const [run] = await bench.store.listRuns({ backfillId: id });
    await bench.store.cancelRun(run!.id);
    await finish(dagId, id);
    expect(await countsOf(id)).toMatchObject({ state: 'failed', cancelled: 1, succeeded: 1 });
  });
});

describe('dying anywhere', () => {
  /** Backfills of one DAG, each over three days that no other has. */
  async function scenes(maxActive = 1) {
    const dagId = bench.id();
    await bench.deploy(dagId, daily);
    let first = -2;
    return () => {
      first += 3;
      return backfillOf(2, { dagId, from: day(first), to: day(first + 2), maxActive });
    };
  }

  test.each([1, 2])(
    'in feeding %i at a time leaves every date to be run once',
    async (maxActive) => {
      const deaths = await atEveryDeath(bench, {
        scene: await scenes(maxActive),
        act: (store) => store.feedBackfills(),
        async check({ dagId, id }, where) {
          await bench.store.finishHalfMadeRuns(0);
          await bench.store.repairPlaces();
          await finish(dagId, id);
          expect(await countsOf(id), where).toMatchObject({ state: 'succeeded', succeeded: 2 });
          expect(await bench.store.listRuns({ backfillId: id }), where).toHaveLength(2);
        },
      });
      expect(deaths).toBeGreaterThan(7);
    },
    180_000,
  );

  test('in creating leaves the backfill or nothing that anybody sees', async () => {
    const deaths = await atEveryDeath(bench, {
      async scene() {
        const dagId = bench.id();
        await bench.deploy(dagId, daily);
        return { dagId };
      },
      act: (store, { dagId }) => store.createBackfill({ dagId, from: day(1), to: day(4) }),
      async check({ dagId }, where) {
        expect(await bench.store.listBackfills({ dagId }), where).toEqual([]);
        expect(await bench.store.feedBackfills(), where).toBe(0);
      },
    });
    expect(deaths).toBeGreaterThan(4);
    // Dates without a backfill are removed once their writer cannot be alive any more.
    const { backfillDates } = bench.collections;
    const orphans = async () => {
      const ids = await backfillDates.distinct('backfillId');
      const known = await bench.collections.backfills.distinct('_id');
      return ids.filter((id) => !known.includes(id)).length;
    };
    expect(await orphans()).toBeGreaterThan(0);
    await backfillDates.updateMany({}, { $set: { createdAt: day(1) } });
    await backfillOf(1);
    expect(await orphans()).toBe(0);
  }, 180_000);

  test('in cancelling leaves it to be cancelled', async () => {
    const nextScene = await scenes();
    const deaths = await atEveryDeath(bench, {
      async scene() {
        const scene = await nextScene();
        await bench.store.feedBackfills();
        return scene;
      },
      act: (store, { id }) => store.cancelBackfill(id, { running: true }),
      async check({ id }, where) {
        await bench.store.cancelBackfill(id, { running: true });
        await bench.store.continueCancels();
        await bench.store.feedBackfills();
        expect(await countsOf(id), where).toMatchObject({ state: 'cancelled', cancelled: 2 });
        const open = await bench.store.listRuns({ backfillId: id, state: ['queued', 'running'] });
        expect(open, where).toEqual([]);
      },
    });
    expect(deaths).toBeGreaterThan(10);
  }, 180_000);
});

describe('a long plan', () => {
  test('is stored in the order of work, whichever that is', async () => {
    const dagId = bench.id();
    await bench.deploy(dagId, { cron: '* * * * *' });
    const to = new Date(day(1).getTime() + 10_500 * 60_000);
    for (const order of ['oldest', 'newest'] as const) {
      const { id } = await bench.store.createBackfill({ dagId, from: day(1), to, order });
      const stretches = await bench.collections.backfillDates
        .find({ backfillId: id })
        .sort({ start: 1 })
        .toArray();
      expect(stretches.map(({ start }) => start)).toEqual(stretches.map((_, index) => index * 200));
      const stored = stretches.flatMap(({ dates }) => dates.map((date) => date.at.getTime()));
      const oldestFirst = Array.from({ length: 10_500 }, (_, n) => day(1).getTime() + n * 60_000);
      expect(stored).toEqual(order === 'oldest' ? oldestFirst : oldestFirst.reverse());
    }
  });

  test('of a hundred thousand dates is stored in stretches and fed from its cursor', async () => {
    const dagId = bench.id();
    await bench.deploy(dagId, { cron: '* * * * *' });
    const from = day(1);
    const to = new Date(from.getTime() + 100_000 * 60_000);
    const backfill = await bench.store.createBackfill({ dagId, from, to, maxActive: 2 });
    expect(backfill).toMatchObject({ total: 100_000, queued: 100_000 });
    const { backfillDates } = bench.collections;
    const [largest] = await backfillDates.find({ backfillId: backfill.id }).limit(1).toArray();
    expect(largest!.dates.length * 500).toBe(100_000);
    await bench.collections.backfills.updateOne({ _id: backfill.id }, { $set: { cursor: 99_999 } });
    await bench.store.feedBackfills();
    const runs = await bench.store.listRuns({ backfillId: backfill.id });
    expect(runs.map((run) => run.logicalDate)).toEqual([new Date(to.getTime() - 60_000)]);
    expect(await bench.store.listBackfills({ dagId, state: ['running'] })).toHaveLength(1);
  });
});
