import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BackfillPlan } from '../../packages/core/src/store/verbs/backfill-verbs.js';
import { Bench } from './scheduling.js';

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench.close());

const hourly = { cron: '0 * * * *' };

function at(hour: number, minute = 0): Date {
  return new Date(Date.UTC(2026, 0, 5, hour, minute));
}

/** Each date of a plan as `02:00 create 0`. */
function short(plan: BackfillPlan): string[] {
  return plan.dates.map(
    ({ logicalDate, action, generation }) =>
      `${logicalDate.toISOString().slice(11, 16)} ${action} ${generation}`,
  );
}

/** A run of a date, ended as asked, or left open. */
async function run(
  dagId: string,
  hour: number,
  end: 'succeeded' | 'failed' | 'cancelled' | 'open',
  generation = 0,
): Promise<string> {
  const { dateSlot } = await import('../../packages/core/src/model/ids.js');
  const { runId } = await bench.store.createRun({
    dagId,
    cause: 'schedule',
    slot: dateSlot(at(hour), generation),
    logicalDate: at(hour),
    dataInterval: { from: at(hour - 1), to: at(hour) },
    generation,
  });
  if (end === 'cancelled') await bench.store.cancelRun(runId);
  else await bench.store.admitRuns(dagId);
  if (end === 'succeeded' || end === 'failed') {
    expect(await bench.work(dagId, { outcome: end })).toEqual([runId]);
  }
  return runId;
}

/** One coalesced run at 06:00 that stands for 03:00 to 06:00. */
async function coalesced(dagId: string, end: 'succeeded' | 'failed' | 'open'): Promise<string> {
  const { dateSlot } = await import('../../packages/core/src/model/ids.js');
  const { runId } = await bench.store.createRun({
    dagId,
    cause: 'catch-up',
    slot: dateSlot(at(6)),
    logicalDate: at(6),
    dataInterval: { from: at(2), to: at(6) },
    coalesced: 4,
  });
  await bench.store.admitRuns(dagId);
  if (end !== 'open') await bench.work(dagId, { outcome: end });
  return runId;
}

describe('the range', () => {
  test('includes from and excludes to; dates carry their data intervals', async () => {
    const id = bench.id();
    await bench.deploy(id, { cron: '* * * * *' });
    const plan = await bench.store.planBackfill({ dagId: id, from: at(1), to: at(1, 5) });
    expect(short(plan)).toEqual([0, 1, 2, 3, 4].map((minute) => `01:0${minute} create 0`));
    expect(plan.dates[0]!.dataInterval).toEqual({ from: at(0, 59), to: at(1) });
    expect(plan.dates[4]!.dataInterval).toEqual({ from: at(1, 3), to: at(1, 4) });
    expect(plan.note).toBeNull();
    const between = await bench.store.planBackfill({
      dagId: id,
      from: new Date(at(1).getTime() + 1),
      to: new Date(at(1, 2).getTime() + 1),
    });
    expect(short(between)).toEqual(['01:01 create 0', '01:02 create 0']);
  });

  test('may be empty', async () => {
    const id = bench.id();
    await bench.deploy(id, hourly);
    expect((await bench.store.planBackfill({ dagId: id, from: at(1), to: at(1) })).dates).toEqual(
      [],
    );
    const backfill = await bench.store.createBackfill({ dagId: id, from: at(1), to: at(1) });
    expect(backfill).toMatchObject({ state: 'succeeded', total: 0 });
    expect(backfill.endedAt).toEqual(backfill.createdAt);
  });

  test('names no more dates than asked for, and counts them all', async () => {
    const id = bench.id();
    await bench.deploy(id, hourly);
    const first = at(2);
    const last = new Date(first.getTime() + 2_999 * 3_600_000);
    const request = { dagId: id, from: first, to: new Date(last.getTime() + 1) };
    const plan = await bench.store.planBackfill(request, { datesAtMost: 3 });
    expect(plan).toMatchObject({ counts: { create: 3_000, rerun: 0, skip: 0 }, first, last });
    expect(short(plan)).toEqual(['02:00 create 0', '03:00 create 0', '04:00 create 0']);
    const empty = await bench.store.planBackfill({ dagId: id, from: at(1), to: at(1) });
    expect(empty).toMatchObject({
      counts: { create: 0, rerun: 0, skip: 0 },
      first: null,
      last: null,
    });
  });

  test('ends at the cursor: later dates belong to the scheduler', async () => {
    const id = bench.id();
    await bench.deploy(id, hourly);
    const { nextFireAt } = await bench.dag(id);
    const from = new Date(nextFireAt!.getTime() - 2 * 3_600_000);
    const open = await bench.store.planBackfill({ dagId: id, from });
    expect(open.dates.map((date) => date.logicalDate)).toEqual([
      from,
      new Date(from.getTime() + 3_600_000),
    ]);
    expect(open).toMatchObject({ to: nextFireAt, note: null });
    const far = new Date(nextFireAt!.getTime() + 7 * 86_400_000);
    const cut = await bench.store.planBackfill({ dagId: id, from, to: far });
    expect(cut.dates).toEqual(open.dates);
    expect(cut.note).toContain(nextFireAt!.toISOString());
    const beyond = await bench.store.planBackfill({ dagId: id, from: far });
    expect(beyond.dates).toEqual([]);
    expect(beyond.note).toContain('later dates belong to the scheduler');
  });

  test('goes by the zone of the schedule where clocks change', async () => {
    const id = bench.id();
    await bench.deploy(id, { cron: '0 0 * * *', timeZone: 'America/New_York' });
    const plan = await bench.store.planBackfill({
      dagId: id,
      from: new Date('2026-03-06T05:00:00Z'),
      to: new Date('2026-03-12T04:00:00Z'),
    });
    expect(plan.dates.map((date) => date.logicalDate.toISOString().slice(0, 16))).toEqual([
      '2026-03-06T05:00',
      '2026-03-07T05:00',
      '2026-03-08T05:00',
      '2026-03-09T04:00',
      '2026-03-10T04:00',
      '2026-03-11T04:00',
    ]);
  });
});

describe('dates that have a run', () => {
  async function history() {
    const id = bench.id();
    await bench.deploy(id, hourly, { maxActiveRuns: 10 });
    const succeeded = await run(id, 2, 'succeeded');
    const failed = await run(id, 4, 'failed');
    const cancelled = await run(id, 5, 'cancelled');
    const open = await run(id, 3, 'open');
    return { id, succeeded, failed, cancelled, open };
  }

  test('are left alone, redone when they failed, or redone; open ones never', async () => {
    const { id, succeeded, open, failed } = await history();
    const request = { dagId: id, from: at(2), to: at(7) };
    const none = await bench.store.planBackfill(request);
    expect(short(none)).toEqual([
      '02:00 skip 0',
      '03:00 skip 0',
      '04:00 skip 0',
      '05:00 skip 0',
      '06:00 create 0',
    ]);
    expect(none.dates[0]!.because).toBe(`run ${succeeded} succeeded`);
    expect(none.dates[1]!.because).toBe(`run ${open} is running`);
    expect(none.dates[4]!.because).toBeNull();
    const redone = await bench.store.planBackfill({ ...request, reprocess: 'failed' });
    expect(short(redone)).toEqual([
      '02:00 skip 0',
      '03:00 skip 0',
      '04:00 rerun 1',
      '05:00 rerun 1',
      '06:00 create 0',
    ]);
    expect(redone.dates[2]!.because).toBe(`run ${failed} failed`);
    const all = await bench.store.planBackfill({ ...request, reprocess: 'all' });
    expect(short(all)).toEqual([
      '02:00 rerun 1',
      '03:00 skip 0',
      '04:00 rerun 1',
      '05:00 rerun 1',
      '06:00 create 0',
    ]);
  });

  test('are judged by their latest run', async () => {
    const id = bench.id();
    await bench.deploy(id, hourly, { maxActiveRuns: 10 });
    await run(id, 2, 'failed');
    await run(id, 2, 'succeeded', 1);
    const plan = await bench.store.planBackfill({
      dagId: id,
      from: at(2),
      to: at(3),
      reprocess: 'failed',
    });
    expect(short(plan)).toEqual(['02:00 skip 1']);
  });

  test('are remembered when retention has removed the runs', async () => {
    const { id } = await history();
    const request = { dagId: id, from: at(2), to: at(7), reprocess: 'failed' } as const;
    const before = await bench.store.planBackfill(request);
    await bench.collections.runs.deleteMany({ dagId: id, state: { $ne: 'running' } });
    expect(await bench.store.planBackfill(request)).toEqual(before);
  });
});

describe('dates without a run of their own', () => {
  test('that a coalesced run stood for are left alone if it succeeded', async () => {
    const id = bench.id();
    await bench.deploy(id, hourly);
    const runId = await coalesced(id, 'succeeded');
    const request = { dagId: id, from: at(2), to: at(8) };
    const expected = [
      '02:00 create 0',
      '03:00 skip 0',
      '04:00 skip 0',
      '05:00 skip 0',
      '06:00 skip 0',
      '07:00 create 0',
    ];
    const plan = await bench.store.planBackfill(request);
    expect(short(plan)).toEqual(expected);
    expect(plan.dates[1]!.because).toContain(runId);
    // Also when only its slot is left, and when the range ends before its own date.
    await bench.collections.runs.deleteMany({ dagId: id });
    expect(short(await bench.store.planBackfill(request))).toEqual(expected);
    const part = await bench.store.planBackfill({ dagId: id, from: at(4), to: at(6) });
    expect(short(part)).toEqual(['04:00 skip 0', '05:00 skip 0']);
    const all = await bench.store.planBackfill({ ...request, reprocess: 'all' });
    expect(short(all)).toEqual([
      '02:00 create 0',
      '03:00 create 0',
      '04:00 create 0',
      '05:00 create 0',
      '06:00 rerun 1',
      '07:00 create 0',
    ]);
  });

  test('are run when it failed, and wait while it is open', async () => {
    const id = bench.id();
    await bench.deploy(id, hourly);
    await coalesced(id, 'failed');
    const request = { dagId: id, from: at(5), to: at(7) };
    expect(short(await bench.store.planBackfill(request))).toEqual([
      '05:00 create 0',
      '06:00 skip 0',
    ]);
    const other = bench.id();
    await bench.deploy(other, hourly);
    await coalesced(other, 'open');
    const open = await bench.store.planBackfill({ ...request, dagId: other, reprocess: 'all' });
    expect(short(open)).toEqual(['05:00 skip 0', '06:00 skip 0']);
  });

  test('but with a line in fires are run, also when their slot was used up by a refusal', async () => {
    const id = bench.id();
    await bench.deploy(id, hourly, { overlap: 'skip' });
    await run(id, 2, 'open');
    await run(id, 3, 'open');
    expect((await bench.store.listFires(id))[0]).toMatchObject({ reason: 'overlap', from: at(3) });
    await bench.collections.fires.insertOne({
      ...{ _id: `${id}/04`, dagId: id, from: at(4), to: at(4), count: 1 },
      ...{ reason: 'skipped', runId: null, at: at(4) },
    });
    const plan = await bench.store.planBackfill({ dagId: id, from: at(2), to: at(5) });
    expect(short(plan)).toEqual(['02:00 skip 0', '03:00 create 1', '04:00 create 0']);
  });
});

describe('a request that cannot be right', () => {
  test.each([
    ['to before from', { to: at(1) }, 'option'],
    ['no whole number of places', { maxActive: 0.5 }, 'option'],
    ['no place', { maxActive: 0 }, 'option'],
    ['an unknown order', { order: 'random' as 'oldest' }, 'option'],
    ['an unknown reprocess', { reprocess: 'some' as 'all' }, 'option'],
    ['an invalid date', { from: new Date(Number.NaN) }, 'option'],
    ['an unknown DAG', { dagId: 'nobody' }, 'not-found'],
  ])('%s', async (_what, change, code) => {
    const id = bench.id();
    await bench.deploy(id, hourly);
    const request = { dagId: id, from: at(2), ...change };
    await expect(bench.store.planBackfill(request)).rejects.toMatchObject({ code });
    await expect(bench.store.createBackfill(request)).rejects.toMatchObject({ code });
  });

  test('a DAG without a schedule, or one that is retired', async () => {
    const id = bench.id();
    await bench.deploy(id);
    const request = { dagId: id, from: at(2) };
    await expect(bench.store.planBackfill(request)).rejects.toMatchObject({ code: 'usage' });
    await bench.store.retireDag(id, 'tests');
    await expect(bench.store.planBackfill(request)).rejects.toMatchObject({ code: 'conflict' });
  });
});
