import { describe, expect, it } from 'vitest';
import { toSchedule } from '../schedule/parse-schedule.js';
import type { ScheduleInput } from '../schedule/schedule-input.js';
import { type DecideFiresInput, decideFires, type MisfireRules } from './decide-fires.js';
import { firstDateAfter } from './due-fires.js';

const utc = (text: string) => new Date(`${text}Z`);
const short = (date: Date | null) =>
  date
    ?.toISOString()
    .replace(/:00\.000Z$/, '')
    .replace(/\.000Z$/, '') ?? null;

interface Setting
  extends Partial<Omit<DecideFiresInput, 'schedule' | 'nextFireAt' | 'now' | 'misfire'>> {
  readonly misfire?: Partial<MisfireRules>;
}

function decide(schedule: ScheduleInput, cursor: string, now: string, setting: Setting = {}) {
  return decideFires({
    schedule: toSchedule(schedule),
    dagId: 'nightly-sales',
    nextFireAt: utc(cursor),
    now: utc(now),
    ...setting,
    misfire: { policy: 'coalesce', maxCatchUp: 100, ...setting.misfire },
  });
}

const runsOf = ({ runs }: ReturnType<typeof decide>) =>
  runs.map((run) => `${short(run.logicalDate)} ${run.cause} ${run.coalesced}`);
const linesOf = ({ fires }: ReturnType<typeof decide>) =>
  fires.map(({ from, to, count, reason }) => `${short(from)}..${short(to)} ${count} ${reason}`);

const minutely = { cron: '* * * * *' };
const coalesce: Setting = { misfire: { policy: 'coalesce' } };
const skip: Setting = { misfire: { policy: 'skip' } };
const catchUp: Setting = { misfire: { policy: 'catch-up' } };

describe('112 missed minutes', () => {
  const missed = (setting: Setting) =>
    decide(minutely, '2026-05-01T08:30', '2026-05-01T10:21:30', setting);

  it('skip: no run, one span, and on it goes', () => {
    const decision = missed(skip);
    expect(runsOf(decision)).toEqual([]);
    expect(linesOf(decision)).toEqual(['2026-05-01T08:30..2026-05-01T10:21 112 skipped']);
    expect(short(decision.nextFireAt)).toBe('2026-05-01T10:22');
  });

  it('coalesce: one run at the newest, its data reaching back to the oldest', () => {
    const decision = missed(coalesce);
    expect(runsOf(decision)).toEqual(['2026-05-01T10:21 catch-up 112']);
    expect(short(decision.runs[0]!.dataInterval.from)).toBe('2026-05-01T08:29');
    expect(short(decision.runs[0]!.dataInterval.to)).toBe('2026-05-01T10:21');
    expect(linesOf(decision)).toEqual([]);
    expect(short(decision.nextFireAt)).toBe('2026-05-01T10:22');
    expect(decision).toMatchObject({ hasMore: false, carry: null });
  });

  it('catch-up: the newest 100, the others recorded one by one', () => {
    const decision = missed(catchUp);
    expect(decision.runs).toHaveLength(100);
    expect(runsOf(decision)[0]).toBe('2026-05-01T08:42 catch-up 1');
    expect(runsOf(decision).at(-1)).toBe('2026-05-01T10:21 catch-up 1');
    expect(decision.fires).toHaveLength(12);
    expect(linesOf(decision)[0]).toBe('2026-05-01T08:30..2026-05-01T08:30 1 capped');
    expect(decision.fires.every((line) => line.count === 1 && line.reason === 'capped')).toBe(true);
    expect(short(decision.nextFireAt)).toBe('2026-05-01T10:22');
  });

  it('catch-up within a window: the older ones expire', () => {
    const decision = missed({
      misfire: { policy: 'catch-up', windowMs: 10 * 60_000, maxCatchUp: 3 },
    });
    expect(runsOf(decision)).toEqual([
      '2026-05-01T10:19 catch-up 1',
      '2026-05-01T10:20 catch-up 1',
      '2026-05-01T10:21 catch-up 1',
    ]);
    expect(linesOf(decision)[0]).toBe('2026-05-01T08:30..2026-05-01T10:11 102 expired');
    expect(linesOf(decision).slice(1)).toHaveLength(7);
    expect(linesOf(decision)[1]).toBe('2026-05-01T10:12..2026-05-01T10:12 1 capped');
  });

  it('catch-up with a cap of 0: none runs', () => {
    const decision = missed({ misfire: { policy: 'catch-up', maxCatchUp: 0 } });
    expect(linesOf(decision)).toEqual(['2026-05-01T08:30..2026-05-01T10:21 112 capped']);
  });
});

describe('lines and spans', () => {
  const skipped = (count: number) =>
    decide(
      minutely,
      '2026-05-01T00:00',
      new Date(Date.UTC(2026, 4, 1, 0, count - 1, 30)).toISOString().slice(0, -1),
      skip,
    ).fires;

  it('are one line for each of up to 100 fires, one span above', () => {
    expect(skipped(100)).toHaveLength(100);
    expect(skipped(101)).toHaveLength(1);
  });

  it('do not reach over a fire that became a part of a run', () => {
    const pausedSpans = [
      { from: utc('2026-05-01T00:00'), to: utc('2026-05-01T01:00') },
      { from: utc('2026-05-01T01:01'), to: utc('2026-05-01T02:01') },
    ];
    const decision = decide(minutely, '2026-05-01T00:00', '2026-05-01T02:05', { pausedSpans });
    expect(decision.fires).toHaveLength(120);
    expect(runsOf(decision)).toEqual(['2026-05-01T02:05 catch-up 6']);
  });
});

describe('the limits of catch-up', () => {
  it('let a misfire run whose age is exactly the window', () => {
    const window = { misfire: { policy: 'catch-up', windowMs: 120_000 } } as const;
    const decision = decide(minutely, '2026-05-01T10:00', '2026-05-01T10:03', window);
    expect(linesOf(decision)).toEqual(['2026-05-01T10:00..2026-05-01T10:00 1 expired']);
    expect(decision.runs).toHaveLength(3);
  });

  it('hold for the whole outage, also when more fires come due between the batches', () => {
    let carry: DecideFiresInput['carry'] = null;
    let cursor = '2026-05-01T00:00:00.000';
    let now = Date.UTC(2026, 4, 1, 2);
    let granted = 0;
    let batches = 0;
    for (let hasMore = true; hasMore; batches += 1) {
      const decision = decide(minutely, cursor, new Date(now).toISOString().slice(0, -1), {
        limit: 20,
        carry,
        misfire: { policy: 'catch-up', maxCatchUp: 50 },
      });
      granted += decision.runs.filter((run) => run.cause === 'catch-up').length;
      cursor = decision.nextFireAt!.toISOString().slice(0, -1);
      ({ carry, hasMore } = decision);
      now += 5 * 60_000;
    }
    expect(batches).toBeGreaterThan(6);
    expect(granted).toBe(50);
  });
});

describe('a day of ten-minute fires missed', () => {
  const missed = (setting: Setting) =>
    decide({ cron: '*/10 * * * *' }, '2026-05-01T00:10', '2026-05-02T00:03', setting);

  it('coalesce: exactly one run, though the newest was within grace or nearly', () => {
    expect(runsOf(missed(coalesce))).toEqual(['2026-05-02T00:00 catch-up 144']);
    const graceful = missed({ misfire: { policy: 'coalesce', graceMs: 3_600_000 } });
    expect(runsOf(graceful)).toEqual(['2026-05-02T00:00 catch-up 144']);
  });

  it('catch-up: all of them, oldest first, where the cap allows', () => {
    const decision = missed({ misfire: { policy: 'catch-up', maxCatchUp: 200 } });
    expect(decision.runs).toHaveLength(144);
    expect(runsOf(decision)[0]).toBe('2026-05-01T00:10 catch-up 1');
  });

  it('catch-up: starts are spaced where that is asked for', () => {
    const spaced = { policy: 'catch-up', maxCatchUp: 3, spacingMs: 90_000 } as const;
    const decision = missed({ misfire: spaced });
    expect(decision.runs.map((run) => short(run.notBefore))).toEqual([
      null,
      '2026-05-02T00:04:30',
      '2026-05-02T00:06',
    ]);
  });
});

describe('fires within grace', () => {
  it('run as they are while nothing is a misfire', () => {
    const decision = decide(minutely, '2026-05-01T10:21', '2026-05-01T10:21:01.8');
    expect(runsOf(decision)).toEqual(['2026-05-01T10:21 schedule 1']);
    const several = { misfire: { graceMs: 600_000 } };
    expect(runsOf(decide(minutely, '2026-05-01T10:19', '2026-05-01T10:21:01', several))).toEqual([
      '2026-05-01T10:19 schedule 1',
      '2026-05-01T10:20 schedule 1',
      '2026-05-01T10:21 schedule 1',
    ]);
  });

  it('are folded in once there is a misfire (coalesce), or run after the catch-up runs', () => {
    const graceful = (policy: MisfireRules['policy']) =>
      decide(minutely, '2026-05-01T10:18', '2026-05-01T10:21:01', {
        misfire: { policy, graceMs: 120_000 },
      });
    expect(runsOf(graceful('coalesce'))).toEqual(['2026-05-01T10:21 catch-up 4']);
    expect(runsOf(graceful('catch-up'))).toEqual([
      '2026-05-01T10:18 catch-up 1',
      '2026-05-01T10:19 catch-up 1',
      '2026-05-01T10:20 schedule 1',
      '2026-05-01T10:21 schedule 1',
    ]);
  });

  it('skip: only the newest of them, never three at once', () => {
    const schedule = { cron: '*/15 * * * * *' };
    const minute = { misfire: { policy: 'skip', graceMs: 60_000 } } as const;
    const decision = decide(schedule, '2026-05-01T16:44:00', '2026-05-01T16:44:42', minute);
    expect(runsOf(decision)).toEqual(['2026-05-01T16:44:30 schedule 1']);
    expect(decision.fires).toHaveLength(2);
    expect(short(decision.nextFireAt)).toBe('2026-05-01T16:44:45');
  });

  it('skip with a grace of 0: none of the late ones, yet the next one that is seen at once', () => {
    const schedule = { cron: '*/15 * * * * *' };
    const none = { misfire: { policy: 'skip', graceMs: 0 } } as const;
    const late = decide(schedule, '2026-05-01T16:44:00', '2026-05-01T16:44:42', none);
    expect(runsOf(late)).toEqual([]);
    expect(late.fires).toHaveLength(3);
    const prompt = decide(schedule, '2026-05-01T16:44:45', '2026-05-01T16:44:45.010', none);
    expect(runsOf(prompt)).toEqual(['2026-05-01T16:44:45 schedule 1']);
  });

  it('is judged at exactly its end as a misfire', () => {
    const daily = { cron: '30 0 * * *' };
    const at = (now: string) => runsOf(decide(daily, '2026-05-01T00:30', now));
    expect(at('2026-05-01T00:30:59.999')).toEqual(['2026-05-01T00:30 schedule 1']);
    expect(at('2026-05-01T00:31:00')).toEqual(['2026-05-01T00:30 catch-up 1']);
    expect(at('2026-05-01T00:29:59.999')).toEqual([]);
  });
});

describe('the first fire, a one-shot, the end', () => {
  it('makes up for a first fire that was missed, and records it under skip', () => {
    const yearly = { cron: '30 6 1 5 *' };
    const cursor = firstDateAfter(toSchedule(yearly), 'nightly-sales', utc('2026-05-01T06:20'));
    expect(short(cursor!.nextFireAt)).toBe('2026-05-01T06:30');
    const back = (setting: Setting) =>
      decide(yearly, '2026-05-01T06:30', '2026-05-01T06:40', setting);
    expect(runsOf(back(coalesce))).toEqual(['2026-05-01T06:30 catch-up 1']);
    expect(runsOf(back(catchUp))).toEqual(['2026-05-01T06:30 catch-up 1']);
    expect(linesOf(back(skip))).toEqual(['2026-05-01T06:30..2026-05-01T06:30 1 skipped']);
    expect(short(back(skip).nextFireAt)).toBe('2027-05-01T06:30');
  });

  it('runs a one-shot once, late or not, and then has no cursor', () => {
    const decision = decide({ at: '2026-05-01T06:30:00Z' }, '2026-05-01T06:30', '2026-05-03T00:00');
    expect(runsOf(decision)).toEqual(['2026-05-01T06:30 catch-up 1']);
    expect(decision.nextFireAt).toBeNull();
  });

  it('owes nothing from before the deploy', () => {
    const first = (text: string) =>
      firstDateAfter(toSchedule(minutely), 'nightly-sales', utc(text))?.nextFireAt;
    expect(short(first('2026-05-01T06:30')!)).toBe('2026-05-01T06:31');
    expect(short(first('2026-05-01T06:29:59.999')!)).toBe('2026-05-01T06:30');
    const past = toSchedule({ at: '2026-05-01T06:30:00Z' });
    expect(firstDateAfter(past, 'nightly-sales', utc('2026-05-01T06:30'))).toBeNull();
    // Not even a date whose jitter is not over.
    const jittered = toSchedule({ every: '1h', jitter: '29m' });
    for (let minute = 0; minute < 30; minute += 5) {
      const instant = new Date(utc('2026-05-01T06:00').getTime() + minute * 60_000);
      const next = firstDateAfter(jittered, 'nightly-sales', instant);
      expect(short(next!.nextFireAt)).toBe('2026-05-01T07:00');
    }
  });
});

describe('a tick that comes late', () => {
  it('handles everything since the cursor, not what a window holds', () => {
    const schedule = { cron: '*/10 * * * * *' };
    const decision = decide(schedule, '2026-05-01T00:00:10', '2026-05-01T00:01:05', catchUp);
    expect(runsOf(decision).map((text) => text.slice(11, 19))).toEqual([
      '00:00:10',
      '00:00:20',
      '00:00:30',
      '00:00:40',
      '00:00:50',
      '00:01 ca',
    ]);
  });
});

describe('pauses', () => {
  const hourly = { cron: '0 * * * *' };
  const span = { from: utc('2026-05-01T00:55'), to: utc('2026-05-01T03:55') };
  const resumed = (setting: Setting) =>
    decide(hourly, '2026-05-01T01:00', '2026-05-01T03:55', { pausedSpans: [span], ...setting });

  it('owe nothing by default, under any policy', () => {
    for (const setting of [coalesce, skip, catchUp]) {
      const decision = resumed(setting);
      expect(runsOf(decision)).toEqual([]);
      expect(decision.fires.map((line) => line.reason)).toEqual(['paused', 'paused', 'paused']);
      expect(short(decision.nextFireAt)).toBe('2026-05-01T04:00');
    }
  });

  it('give the newest, or all, where the DAG or the resume says so', () => {
    const latest = resumed({ onResume: 'latest' });
    expect(runsOf(latest)).toEqual(['2026-05-01T03:00 catch-up 1']);
    expect(linesOf(latest)).toHaveLength(2);
    const all = resumed({ onResume: 'skip', pausedSpans: [{ ...span, onResume: 'all' }] });
    expect(runsOf(all)).toEqual([
      '2026-05-01T01:00 catch-up 1',
      '2026-05-01T02:00 catch-up 1',
      '2026-05-01T03:00 catch-up 1',
    ]);
  });

  it('hold the cursor while they last, and settle what was due before', () => {
    const open = { pausedSpans: [{ from: utc('2026-05-01T02:30'), to: null }] };
    const decision = decide(hourly, '2026-05-01T01:00', '2026-05-01T09:00', open);
    expect(runsOf(decision)).toEqual(['2026-05-01T02:00 catch-up 2']);
    expect(short(decision.nextFireAt)).toBe('2026-05-01T03:00');
    expect(decision).toMatchObject({ isPaused: true, hasMore: false });
    const again = decide(hourly, '2026-05-01T03:00', '2026-05-01T09:00', open);
    expect(again).toMatchObject({ runs: [], fires: [], isPaused: true, hasMore: false });
    expect(short(again.nextFireAt)).toBe('2026-05-01T03:00');
  });

  it('do not split a coalesced run, nor count in it', () => {
    const decision = decide(hourly, '2026-05-01T00:00', '2026-05-01T05:30', {
      pausedSpans: [span],
    });
    expect(runsOf(decision)).toEqual(['2026-05-01T05:00 catch-up 3']);
    expect(short(decision.runs[0]!.dataInterval.from)).toBe('2026-04-30T23:00');
    expect(decision.fires.map((line) => line.reason)).toEqual(['paused', 'paused', 'paused']);
  });

  it('do not use up the cap of catch-up', () => {
    const decision = decide(hourly, '2026-05-01T00:00', '2026-05-01T05:30', {
      pausedSpans: [span],
      onResume: 'all',
      misfire: { policy: 'catch-up', maxCatchUp: 2 },
    });
    expect(runsOf(decision).map((text) => text.slice(11, 16))).toEqual([
      '01:00',
      '02:00',
      '03:00',
      '04:00',
      '05:00',
    ]);
    expect(linesOf(decision)).toEqual(['2026-05-01T00:00..2026-05-01T00:00 1 capped']);
  });
});

describe('a schedule that ends', () => {
  const jittered = { cron: '0 * * * *', jitter: '25m' };
  // Its jitter: 22 minutes and a second.
  const date = '2026-06-01T03:00';
  const decideEnding = (now: string, setting: Setting = {}) =>
    decide(jittered, date, now, { ...setting, isEnding: true });
  const pausedFrom = (from: string): Setting => ({
    pausedSpans: [{ from: utc(from), to: null }],
  });

  it('has its last date decided, when it is due staying what it is', () => {
    const decision = decideEnding('2026-06-01T03:10');
    expect(runsOf(decision)).toEqual(['2026-06-01T03:00 schedule 1']);
    expect(decision.runs[0]!.dueAt > utc('2026-06-01T03:22')).toBe(true);
    expect(decision.hasMore).toBe(false);
    // Just due is no misfire, however long the jitter was.
    const due = decideEnding('2026-06-01T03:22:30');
    expect(runsOf(due)).toEqual(['2026-06-01T03:00 schedule 1']);
  });

  it('leaves to an open pause what comes due inside it', () => {
    for (const now of ['2026-06-01T03:10', '2026-06-01T03:40']) {
      const decision = decideEnding(now, pausedFrom('2026-06-01T03:05'));
      expect(linesOf(decision)).toEqual(['2026-06-01T03:00..2026-06-01T03:00 1 paused']);
      expect(runsOf(decision)).toEqual([]);
    }
    const latest = decideEnding('2026-06-01T05:10', {
      ...pausedFrom('2026-06-01T03:05'),
      onResume: 'latest',
    });
    expect(runsOf(latest)).toEqual(['2026-06-01T05:00 catch-up 1']);
    expect(linesOf(latest)).toHaveLength(2);
  });

  it('owes what came due before the pause', () => {
    const decision = decideEnding('2026-06-01T03:40', pausedFrom('2026-06-01T03:30'));
    expect(runsOf(decision)).toEqual(['2026-06-01T03:00 catch-up 1']);
  });
});

describe('excluded dates', () => {
  it('are recorded when they come due, and neither run nor count', () => {
    const schedule = { cron: '0 0 * * *', exclude: ['2026-05-02', '2026-05-04'] };
    const decision = decide(schedule, '2026-05-01T00:00', '2026-05-04T12:00', coalesce);
    expect(runsOf(decision)).toEqual(['2026-05-03T00:00 catch-up 2']);
    expect(linesOf(decision)).toEqual([
      '2026-05-02T00:00..2026-05-02T00:00 1 excluded',
      '2026-05-04T00:00..2026-05-04T00:00 1 excluded',
    ]);
    expect(short(decision.nextFireAt)).toBe('2026-05-05T00:00');
  });
});

describe('an outage of many batches', () => {
  const owed = (from: string, misfire: Partial<MisfireRules>) => {
    const runs = [];
    const fires = [];
    let calls = 0;
    let nextFireAt: Date | null = utc(from);
    let carry: DecideFiresInput['carry'] = null;
    for (let hasMore = true; hasMore; calls += 1) {
      const decision = decideFires({
        schedule: minute,
        dagId: 'nightly-sales',
        nextFireAt: nextFireAt!,
        // The database's clock goes on between the batches.
        now: new Date(Date.UTC(2026, 0, 1) - 30_000 + calls * 10),
        misfire: { policy: 'coalesce', maxCatchUp: 100, ...misfire },
        carry,
      });
      expect(decision.runs.length + decision.fires.length).toBeLessThanOrEqual(1_100);
      runs.push(...decision.runs);
      fires.push(...decision.fires);
      // As the database would hand it back.
      carry = structuredClone(decision.carry);
      ({ nextFireAt, hasMore } = decision);
    }
    expect(short(nextFireAt)).toBe('2026-01-01T00:00');
    return { runs, fires, calls };
  };
  const minute = toSchedule({ cron: '* * * * *', timeZone: 'America/New_York' });

  it('coalesce: one run for a whole year of minutes', { timeout: 120_000 }, () => {
    const { runs, fires, calls } = owed('2025-01-01T00:00', { policy: 'coalesce' });
    expect(calls).toBe(526);
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({ coalesced: 525_600, logicalDate: utc('2025-12-31T23:59') });
    expect(short(runs[0]!.dataInterval.from)).toBe('2024-12-31T23:59');
    expect(fires).toEqual([]);
  });

  it('skip: one span for all of them', () => {
    const { runs, fires } = owed('2025-12-22T00:00', { policy: 'skip', graceMs: 1_000 });
    expect(runs).toEqual([]);
    expect(fires).toHaveLength(1);
    expect(fires[0]).toMatchObject({ count: 14_400, reason: 'skipped' });
  });

  it('catch-up: exactly the newest 1,500, over three batches', () => {
    const policy = { policy: 'catch-up', maxCatchUp: 1_500, graceMs: 1_000 } as const;
    const { runs, fires } = owed('2025-12-22T00:00', policy);
    expect(runs).toHaveLength(1_500);
    expect(fires).toHaveLength(1);
    expect(fires[0]).toMatchObject({ count: 12_900, reason: 'capped' });
    expect(runs[0]!.logicalDate.getTime() - fires[0]!.to.getTime()).toBe(60_000);
  });
});

it('says so when the schedule cannot be evaluated', () => {
  const damaged = { ...toSchedule(minutely), cron: '0 0 30 2 *' } as never;
  expect(() =>
    decideFires({
      schedule: damaged,
      dagId: 'nightly-sales',
      nextFireAt: utc('2026-01-01T00:00'),
      now: utc('2026-01-01T00:00'),
      misfire: { policy: 'coalesce', maxCatchUp: 100 },
    }),
  ).toThrow('schedule.cron');
});
