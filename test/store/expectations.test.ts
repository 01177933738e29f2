/** What runs are expected to do in time: judged by the database's instants, recorded once, whoever looks or dies. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DagDefinition, ExpectWithin } from '../../packages/core/src/model/definition.js';
import type { ScheduleInput } from '../../packages/core/src/time/schedule/schedule-input.js';
import { until } from '../support/until.ts';
import { atEveryDeath, Bench, betweenFires, minutesBefore } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

const hourMs = 3_600_000;

async function expecting(
  expectWithin: ExpectWithin,
  options: Partial<DagDefinition> = {},
  schedule?: ScheduleInput,
): Promise<string> {
  const id = bench.id('expecting');
  await bench.deploy(id, schedule, { expectWithin, ...options });
  return id;
}

async function trigger(dagId: string): Promise<string> {
  const { runId } = await bench.store.createRun({ dagId, cause: 'manual' });
  await bench.store.admitRuns(dagId);
  return runId;
}

async function runDocument(runId: string) {
  const run = await bench.collections.runs.findOne({ _id: runId });
  if (run === null) throw new Error(`no run ${runId}`);
  return run;
}

/** Takes the limits of a run to before now, and a little after `after` where that is given. */
async function passLimits(runId: string, after?: Date): Promise<void> {
  const now = await bench.store.readServerTime();
  const by = after === undefined ? minutesBefore(now, 1) : new Date(after.getTime() + 1);
  const run = await runDocument(runId);
  const expects = (run.expects ?? []).map((entry) => ({ ...entry, by }));
  await bench.collections.runs.updateOne({ _id: runId }, { $set: { expects } });
}

/** Looks until the limits, which have passed or are about to, are judged. */
async function judged(runId: string): Promise<readonly string[]> {
  return until(`a judgement on ${runId}`, async () => {
    await bench.store.noticeMissed(100);
    const run = await runDocument(runId);
    return run.expects?.length === 0 && (run.missed ?? []);
  });
}

const missedOf = (runId: string) => bench.store.listMissed({ runId });

describe('start', () => {
  it('is missed when no task has started, although the run has its place; once, whoever looks', async () => {
    const id = await expecting({ startMs: 1 });
    const runId = await trigger(id);
    expect(await judged(runId)).toEqual(['start']);
    const run = await runDocument(runId);
    expect(run.state).toBe('running');
    expect(await missedOf(runId)).toEqual([
      {
        id: `${runId}/start`,
        dagId: id,
        kind: 'start',
        runId,
        logicalDate: null,
        count: 1,
        expectedBy: new Date(run.createdAt.getTime() + 1),
        missedAt: expect.any(Date),
      },
    ]);
    const others = [bench.store, await bench.connect(), await bench.connect()];
    const again = await Promise.all(others.map((store) => store.noticeMissed(100)));
    expect(again.map(({ noticed }) => noticed)).toEqual([0, 0, 0]);
    expect(await bench.store.countMissed(id)).toEqual({ start: 1 });
    expect((await bench.store.getRun(runId))?.missed).toEqual(['start']);
  });

  it('is met by the first attempt, also when the look comes much later', async () => {
    const runId = await trigger(await expecting({ startMs: hourMs }));
    const [task] = await bench.store.claimTasks({
      runnerId: 'worker',
      serveKeys: [`${(await runDocument(runId)).dagId}/only/0`],
      leaseMs: 60_000,
      limit: 1,
    });
    const started = (await bench.store.getTask(task!.taskId))!.startedAt!;
    await passLimits(runId, started);
    expect(await judged(runId)).toEqual([]);
    expect(await missedOf(runId)).toEqual([]);
  });

  it('is nothing before its time', async () => {
    const runId = await trigger(await expecting({ startMs: hourMs, finishMs: 2 * hourMs }));
    await bench.store.noticeMissed(100);
    const { expects, createdAt } = await runDocument(runId);
    expect(expects).toEqual([
      { kind: 'start', ms: hourMs, by: new Date(createdAt.getTime() + hourMs) },
      { kind: 'finish', ms: 2 * hourMs, by: new Date(createdAt.getTime() + 2 * hourMs) },
    ]);
  });
});

describe('finish', () => {
  it('is met by success only, and nothing is expected of a cancelled run', async () => {
    const ends: Record<string, readonly string[]> = {};
    for (const end of ['succeeded', 'failed', 'cancelled', 'open'] as const) {
      const id = await expecting({ finishMs: hourMs });
      const runId = await trigger(id);
      if (end === 'cancelled') await bench.store.cancelRun(runId);
      else if (end !== 'open') await bench.work(id, { outcome: end });
      await passLimits(runId, (await runDocument(runId)).endedAt ?? undefined);
      ends[end] = await judged(runId);
    }
    expect(ends).toEqual({ succeeded: [], failed: ['finish'], cancelled: [], open: ['finish'] });
  });
});

describe('duration', () => {
  it('counts from the start of the run, whenever that was', async () => {
    const id = await expecting({ durationMs: hourMs });
    const [first, second] = [await trigger(id), await trigger(id)];
    await passLimits(first);
    await passLimits(second);
    await bench.store.noticeMissed(100);
    const running = await runDocument(first);
    expect(running.expects).toEqual([
      { kind: 'duration', ms: hourMs, by: new Date(running.startedAt!.getTime() + hourMs) },
    ]);
    // The second waits for its place: its time has not begun.
    const queued = await runDocument(second);
    expect(queued.state).toBe('queued');
    expect(queued.expects![0]!.by.getTime()).toBeGreaterThan(Date.now() + hourMs / 2);
    const { startedAt } = running;
    await bench.collections.runs.updateOne(
      { _id: first },
      { $set: { startedAt: minutesBefore(startedAt!, 90) } },
    );
    await passLimits(first);
    expect(await judged(first)).toEqual(['duration']);
  });
});

describe('fires', () => {
  const hourly: ScheduleInput = betweenFires(1);
  /** The last date of an hourly DAG. */
  const lastDate = async (id: string) => minutesBefore((await bench.dag(id)).nextFireAt!, 60);

  it('that a catch-up run stands for are late from the oldest on', async () => {
    const id = await expecting({ startMs: 2 * hourMs }, {}, hourly);
    const oldest = minutesBefore(await lastDate(id), 180);
    await bench.rewind(id, oldest);
    await bench.settle(id);
    const run = (await bench.collections.runs.findOne({ dagId: id }))!;
    expect(run.coalesced).toBe(4);
    expect(run.expects).toEqual([
      { kind: 'start', ms: 2 * hourMs, by: new Date(oldest.getTime() + 2 * hourMs) },
    ]);
    expect(await judged(run._id)).toEqual(['start']);
  });

  it('that never became a run are late, too: one record for an outage', async () => {
    const misfire = { policy: 'skip', maxCatchUp: 100 } as const;
    const id = await expecting({ startMs: 600_000, finishMs: hourMs }, { misfire }, hourly);
    const oldest = minutesBefore(await lastDate(id), 180);
    await bench.rewind(id, oldest);
    await bench.settle(id);
    const missed = (await bench.store.listMissed({ dagId: id })).filter(
      (one) => one.runId === null,
    );
    const skipped = (await bench.store.countFires(id)).skipped!;
    expect(skipped).toBe(4);
    expect(missed.sort((a, b) => (a.kind < b.kind ? 1 : -1))).toEqual(
      [
        { kind: 'start', ms: 600_000 },
        { kind: 'finish', ms: hourMs },
      ].map(({ kind, ms }) => ({
        id: `${id}/${kind}/${oldest.toISOString()}`,
        dagId: id,
        kind,
        runId: null,
        logicalDate: oldest,
        count: skipped,
        expectedBy: new Date(oldest.getTime() + ms),
        missedAt: expect.any(Date),
      })),
    );
  });

  it('inside a pause are expected from its end on, and queued ones are not late while it lasts', async () => {
    const id = await expecting({ startMs: hourMs }, { onResume: 'latest' }, hourly);
    await bench.store.pauseDag(id);
    const last = await lastDate(id);
    const from = minutesBefore(last, 200);
    await bench.rewind(id, minutesBefore(last, 180));
    await bench.collections.dags.updateOne(
      { _id: id },
      { $set: { pausedAt: from, 'pausedSpans.0.from': from } },
    );
    await bench.store.resumeDag(id);
    const { pausedSpans } = await bench.dag(id);
    await bench.settle(id);
    const run = (await bench.collections.runs.findOne({ dagId: id }))!;
    expect(run.expects![0]!.by).toEqual(new Date(pausedSpans[0]!.to!.getTime() + hourMs));
    await bench.store.pauseDag(id);
    await passLimits(run._id);
    await bench.store.noticeMissed(100);
    const held = await runDocument(run._id);
    expect(held.missed).toBeUndefined();
    expect(held.expects![0]!.by.getTime()).toBeGreaterThan(Date.now() + hourMs / 2);
  });

  it('of a backfill were due long ago: only its duration is looked at', async () => {
    const id = await expecting({ startMs: 1, finishMs: 1, durationMs: hourMs }, {}, hourly);
    const logicalDate = minutesBefore(await lastDate(id), 6_000);
    const { runId } = await bench.store.createRun({
      dagId: id,
      cause: 'backfill',
      backfillId: 'none',
      logicalDate,
    });
    expect((await runDocument(runId)).expects?.map(({ kind }) => kind)).toEqual(['duration']);
  });
});

describe('dying anywhere', () => {
  it('in a look leaves one record and a run that names it', async () => {
    const deaths = await atEveryDeath(bench, {
      async scene() {
        const runId = await trigger(await expecting({ startMs: 1 }));
        await passLimits(runId);
        return runId;
      },
      act: (store) => store.noticeMissed(100),
      async check(runId, where) {
        expect(await judged(runId), where).toEqual(['start']);
        expect(await missedOf(runId), where).toHaveLength(1);
      },
    });
    expect(deaths).toBeGreaterThan(3);
  });

  it('in a settlement leaves the fires that never ran recorded once', async () => {
    const misfire = { policy: 'skip', maxCatchUp: 100 } as const;
    const deaths = await atEveryDeath(bench, {
      async scene() {
        const id = await expecting({ startMs: 1_000 }, { misfire }, betweenFires(1));
        await bench.rewind(id, minutesBefore((await bench.dag(id)).nextFireAt!, 240));
        return id;
      },
      act: (store, id) => bench.settle(id, store),
      async check(id, where) {
        await bench.settle(id);
        const missed = await bench.store.listMissed({ dagId: id });
        expect(
          missed.filter((one) => one.runId === null),
          where,
        ).toHaveLength(1);
      },
    });
    expect(deaths).toBeGreaterThan(4);
  });
});

describe('records', () => {
  it('are told at least once: unannounced until somebody says so', async () => {
    const id = await expecting({ startMs: 1 });
    const runId = await trigger(id);
    await judged(runId);
    const waiting = await bench.store.listUnannounced(1_000);
    expect(waiting.map((one) => one.id)).toContain(`${runId}/start`);
    expect(await bench.store.markAnnounced(`${runId}/start`)).toBe(true);
    expect(await bench.store.markAnnounced(`${runId}/start`)).toBe(false);
    const left = await bench.store.listUnannounced(1_000);
    expect(left.map((one) => one.id)).not.toContain(`${runId}/start`);
  });

  it('are found through an index, and runs that expect nothing are not in it', async () => {
    const id = bench.id('plain');
    await bench.deploy(id);
    expect((await runDocument(await trigger(id))).expects).toBeUndefined();
    const plan = await bench.collections.runs
      .find({ 'expects.by': { $gt: new Date(0), $lte: new Date() } })
      .sort({ 'expects.by': 1 })
      .explain('executionStats');
    expect(JSON.stringify(plan)).toContain('"expected"');
    expect(JSON.stringify(plan)).not.toContain('COLLSCAN');
  });
});
