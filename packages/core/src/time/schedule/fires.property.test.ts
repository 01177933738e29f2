import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { DAY_MS } from '../cron/cron-calendar.js';
import { zoneOf } from '../zone/zone.js';
import { clockChanges } from './clock-changes.js';
import { firesBetween, nextFires, previousFires } from './fires.js';

/*
 * The laws of the schedule engine, judged near changes of clocks by a slow model that shares nothing with it: every minute is
 * asked from Intl, every local time is resolved by Temporal.
 */

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Far above what a law takes: only a hang should meet it. */
const LIMIT = { timeout: 60_000 };
const timeZones = fc.constantFrom('UTC', ...Intl.supportedValuesOf('timeZone'));

/** A zone and an instant: near one of its changes of clocks where it has any. */
const places = fc
  .tuple(timeZones, fc.nat(), fc.integer({ min: -2 * 1440, max: 2 * 1440 }))
  .map(([timeZone, pick, minutes]) => {
    const year = 2000 + (pick % 40);
    const [from, to] = [new Date(Date.UTC(year, 0)), new Date(Date.UTC(year + 2, 0))];
    const changes = clockChanges(timeZone, from, to);
    const change = changes[Math.floor(pick / 40) % Math.max(1, changes.length)];
    const at = change?.at.getTime() ?? Date.UTC(year, pick % 12, 1 + (pick % 28));
    return { timeZone, change: at, near: new Date(at + minutes * MINUTE_MS) };
  });

const subset = (min: number, max: number, length: number) =>
  fc
    .uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: length })
    .map((values) => values.sort((a, b) => a - b));
const star = fc.constant(undefined);
const dst = fc.record({
  gap: fc.constantFrom('shift' as const, 'end' as const, 'skip' as const),
  overlap: fc.constantFrom('first' as const, 'second' as const, 'both' as const),
});
/** Undefined is `*`. */
const crons = fc.record({
  minutes: fc.oneof({ weight: 1, arbitrary: star }, { weight: 4, arbitrary: subset(0, 59, 4) }),
  hours: fc.oneof({ weight: 1, arbitrary: star }, { weight: 3, arbitrary: subset(0, 23, 6) }),
  weekdays: fc.oneof({ weight: 4, arbitrary: star }, { weight: 1, arbitrary: subset(0, 6, 4) }),
});
type Cron = typeof crons extends fc.Arbitrary<infer T> ? T : never;

const textOf = ({ minutes, hours, weekdays }: Cron) =>
  `${minutes?.join(',') ?? '*'} ${hours?.join(',') ?? '*'} * * ${weekdays?.join(',') ?? '*'}`;
const names = ({ minutes, hours, weekdays }: Cron, local: number) => {
  const date = new Date(local);
  return (
    (minutes?.includes(date.getUTCMinutes()) ?? true) &&
    (hours?.includes(date.getUTCHours()) ?? true) &&
    (weekdays?.includes(date.getUTCDay()) ?? true)
  );
};

/** The wall clock by Intl alone. */
function wallClock(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  return (at) => {
    const [month, day, year, hour, minute] = format.format(at).match(/\d+/g)!.map(Number);
    return Date.UTC(year!, month! - 1, day, hour, minute);
  };
}

/** Fires in `[from, to)` by brute force. */
function model(
  cron: Cron,
  timeZone: string,
  rule: { gap: string; overlap: string },
  from: number,
  to: number,
): number[] {
  const found = new Set<number>();
  if (cron.hours === undefined || cron.hours.length === 24) {
    const clockAt = wallClock(timeZone);
    for (let at = from; at < to; at += MINUTE_MS) if (names(cron, clockAt(at))) found.add(at);
    return [...found];
  }
  for (let local = from - 2 * DAY_MS; local < to + 2 * DAY_MS; local += MINUTE_MS) {
    if (!names(cron, local)) continue;
    const plain = Temporal.PlainDateTime.from(new Date(local).toISOString().slice(0, 19));
    const at = (disambiguation: 'earlier' | 'later' | 'compatible') =>
      plain.toZonedDateTime(timeZone, { disambiguation }).epochMilliseconds;
    const [earlier, later] = [at('earlier'), at('later')];
    if (earlier === later) {
      found.add(earlier);
    } else if (
      Temporal.Instant.fromEpochMilliseconds(later)
        .toZonedDateTimeISO(timeZone)
        .toPlainDateTime()
        .equals(plain)
    ) {
      if (rule.overlap !== 'second') found.add(earlier);
      if (rule.overlap !== 'first') found.add(later);
    } else if (rule.gap === 'shift') {
      found.add(at('compatible'));
    } else if (rule.gap === 'end') {
      const end = Temporal.Instant.fromEpochMilliseconds(earlier)
        .toZonedDateTimeISO(timeZone)
        .getTimeZoneTransition('next');
      found.add(end!.epochMilliseconds);
    }
  }
  return [...found].filter((at) => at >= from && at < to).sort((a, b) => a - b);
}

const toMs = (dates: readonly Date[]) => dates.map((date) => date.getTime());

describe('the laws of fires', () => {
  it('are those of a slow model, minute by minute, around changes of clocks', LIMIT, () => {
    fc.assert(
      fc.property(places, crons, dst, ({ timeZone, change }, cron, rule) => {
        const start = Math.floor(change / MINUTE_MS) * MINUTE_MS;
        const [from, to] = [start - 3 * HOUR_MS, start + 27 * HOUR_MS];
        const schedule = { cron: textOf(cron), timeZone, dst: rule };
        expect(toMs(firesBetween(schedule, new Date(from), new Date(to)))).toEqual(
          model(cron, timeZone, rule, from, to),
        );
      }),
      { numRuns: 40 },
    );
  });

  it(
    'strictly increase; stepping from fire to fire and from any seed gives the same ones',
    LIMIT,
    () => {
      fc.assert(
        fc.property(places, crons, dst, fc.nat(), ({ timeZone, near }, cron, rule, seed) => {
          const schedule = { cron: textOf(cron), timeZone, dst: rule };
          const to = new Date(near.getTime() + 3 * DAY_MS);
          const all = toMs(firesBetween(schedule, near, to));
          for (let index = 1; index < all.length; index += 1) {
            expect(all[index]!).toBeGreaterThan(all[index - 1]!);
          }
          const from = near.getTime() + (seed % (3 * DAY_MS));
          const expected = all.filter((at) => at > from).slice(0, 30);
          let at = from;
          const stepped: number[] = [];
          while (stepped.length < expected.length) {
            at = nextFires(schedule, { after: new Date(at) })[0]!.getTime();
            stepped.push(at);
          }
          expect(stepped).toEqual(expected);
          const count = expected.length;
          expect(toMs(nextFires(schedule, { after: new Date(from), count }))).toEqual(expected);
        }),
        { numRuns: 80 },
      );
    },
  );

  it('previous is the inverse of next', LIMIT, () => {
    fc.assert(
      fc.property(places, crons, dst, ({ timeZone, near }, cron, rule) => {
        const schedule = { cron: textOf(cron), timeZone, dst: rule };
        const next = nextFires(schedule, { after: near, count: 40 });
        const before = new Date(next.at(-1)!.getTime() + 1);
        const previous = previousFires(schedule, { before, count: 40 });
        expect(previous.toReversed()).toEqual(next);
        for (let index = 1; index < 6; index += 1) {
          expect(previousFires(schedule, { before: next[index]! })).toEqual([next[index - 1]]);
        }
      }),
      { numRuns: 80 },
    );
  });

  it('a fixed time of day fires once for each local date', LIMIT, () => {
    const times = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }));
    fc.assert(
      fc.property(places, times, ({ timeZone, change }, [hour, minute]) => {
        const schedule = { cron: `${minute} ${hour} * * *`, timeZone };
        const zone = zoneOf(timeZone);
        const fires = toMs(
          firesBetween(schedule, new Date(change - 4 * DAY_MS), new Date(change + 4 * DAY_MS)),
        );
        const dates = fires.map((at) => {
          const segment = zone.segmentAt(at);
          const hourOf = (offsetMs: number) => new Date(at + offsetMs).toISOString().slice(11, 16);
          const named = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
          // A moved fire still shows the named time by the offset from before the gap.
          const offsetMs =
            hourOf(segment.offsetMs) === named ? segment.offsetMs : segment.offsetBeforeMs;
          expect(hourOf(offsetMs)).toBe(named);
          return Math.floor((at + offsetMs) / DAY_MS);
        });
        // A zone that skipped a whole date has no fire for it: the date after it falls on the same instant.
        const skipped = clockChanges(
          timeZone,
          new Date(change - 4 * DAY_MS),
          new Date(change + 4 * DAY_MS),
        ).filter(
          ({ localFrom, localTo }) =>
            Date.parse(`${localTo}Z`) - Date.parse(`${localFrom}Z`) >= DAY_MS,
        );
        const last = dates.at(-1)! - dates[0]! + 1 - skipped.length;
        expect(dates).toHaveLength(last);
        expect(new Set(dates).size).toBe(dates.length);
      }),
      { numRuns: 100 },
    );
  });

  it('an hourly one fires each real hour, whatever the clocks do', LIMIT, () => {
    fc.assert(
      fc.property(places, fc.integer({ min: 0, max: 59 }), ({ timeZone, change }, minute) => {
        const schedule = { cron: `${minute} * * * *`, timeZone };
        const zone = zoneOf(timeZone);
        const fires = toMs(
          firesBetween(schedule, new Date(change - DAY_MS), new Date(change + 2 * DAY_MS)),
        );
        fires.forEach((at, index) => {
          const { offsetMs, from, offsetBeforeMs } = zone.segmentAt(at);
          expect(new Date(at + offsetMs).getUTCMinutes()).toBe(minute);
          const last = fires[index - 1];
          if (last === undefined) return;
          // Only a change by a part of an hour makes another distance.
          const moved = last < from ? offsetMs - offsetBeforeMs : 0;
          if (moved % HOUR_MS === 0) expect(at - last).toBe(HOUR_MS);
          else expect(at - last).toBeLessThan(2 * HOUR_MS);
        });
      }),
      { numRuns: 100 },
    );
  });

  it('the host has no say: nothing asks for its zone', LIMIT, () => {
    const local = [
      'getTimezoneOffset',
      'getHours',
      'getDate',
      'getDay',
      'getMonth',
      'getFullYear',
    ] as const;
    const kept = local.map((name) => [name, Date.prototype[name]] as const);
    for (const name of local) {
      Date.prototype[name] = () => {
        throw new Error(`the host's zone was asked for by ${name}`);
      };
    }
    try {
      const schedule = { cron: '30 2 * * 1-5', timeZone: 'America/Havana' };
      const fires = nextFires(schedule, { after: new Date('2031-03-01T00:00:00Z'), count: 10 });
      expect(previousFires(schedule, { before: fires[9]!, count: 9 })).toEqual(
        fires.slice(0, 9).toReversed(),
      );
    } finally {
      for (const [name, method] of kept) Date.prototype[name] = method as () => number;
    }
  });
});
