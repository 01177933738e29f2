/** Two years of every zone's changes of clocks, each judged by Intl and Temporal alone. */
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { clockChanges } from '../../packages/core/src/time/schedule/clock-changes.js';
import {
  firesBetween,
  nextFires,
  previousFires,
} from '../../packages/core/src/time/schedule/fires.js';
import type { ScheduleInput } from '../../packages/core/src/time/schedule/schedule-input.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const from = new Date('2026-01-01T00:00:00Z');
const to = new Date('2028-01-01T00:00:00Z');

const changes = Intl.supportedValuesOf('timeZone').flatMap((timeZone) =>
  clockChanges(timeZone, from, to).map((change) => ({ timeZone, ...change })),
);
const toMs = (dates: readonly Date[]) => dates.map((date) => date.getTime());

type ZoneChange = (typeof changes)[number];

/** Changes of all zones from 2000 to 2040; where many zones changed their clocks alike at one instant, one of them stands for all. */
function changesOfFortyYears(): ZoneChange[] {
  const [first, last] = [new Date('2000-01-01T00:00:00Z'), new Date('2041-01-01T00:00:00Z')];
  const known = new Map<string, ZoneChange>();
  for (const timeZone of Intl.supportedValuesOf('timeZone')) {
    for (const change of clockChanges(timeZone, first, last)) {
      const key = `${change.at.getTime()} ${change.offsetBefore} ${change.offsetAfter}`;
      if (!known.has(key)) known.set(key, { timeZone, ...change });
    }
  }
  return [...known.values()];
}

/** Every zone and change, with the case named in what fails. */
function forEachChange(check: (change: ZoneChange) => void, of: readonly ZoneChange[] = changes) {
  for (const change of of) {
    try {
      check(change);
    } catch (error) {
      throw new Error(`${change.timeZone} ${change.at.toISOString()}`, { cause: error });
    }
  }
}

describe('two years of every zone', () => {
  it('are many', () => {
    expect(changes.length).toBeGreaterThan(300);
    expect(new Set(changes.map((change) => change.kind))).toEqual(new Set(['gap', 'overlap']));
  });

  it('a time that is lost or comes twice fires once for each date', () => {
    forEachChange(({ timeZone, at, localFrom, localTo }) => {
      const middle = (Date.parse(`${localFrom}Z`) + Date.parse(`${localTo}Z`)) / 2;
      const named = new Date(Math.floor(middle / 60_000) * 60_000);
      const schedule = { cron: `${named.getUTCMinutes()} ${named.getUTCHours()} * * *`, timeZone };
      const expected = [-3, -2, -1, 0, 1, 2, 3].map(
        (days) =>
          Temporal.PlainDateTime.from(
            new Date(named.getTime() + days * DAY_MS).toISOString().slice(0, 19),
          ).toZonedDateTime(timeZone, { disambiguation: 'compatible' }).epochMilliseconds,
      );
      const first = new Date(expected[0]!);
      const end = new Date(expected.at(-1)! + 1);
      expect(toMs(firesBetween(schedule, first, end))).toEqual(expected);
      expect(toMs(nextFires(schedule, { after: first, count: 6 }))).toEqual(expected.slice(1));
      expect(toMs(previousFires(schedule, { before: end, count: 7 })).reverse()).toEqual(expected);
      // Asked at the change itself, nothing is lost that was owed from before it.
      const later = expected.filter((fire) => fire > at.getTime());
      expect(toMs(nextFires(schedule, { after: at, count: later.length }))).toEqual(later);
    });
  });

  it('a schedule of all hours fires whenever the wall clock matches', () => {
    forEachChange(({ timeZone, at }) => {
      const clock = new Intl.DateTimeFormat('en-US', {
        timeZone,
        minute: 'numeric',
        second: 'numeric',
      });
      const start = at.getTime() - 3 * HOUR_MS;
      const expected: number[] = [];
      for (let instant = start; instant < start + 6 * HOUR_MS; instant += 5 * 60_000) {
        if (/^0?0:00$|^[1-5]0:00$/.test(clock.format(instant))) expected.push(instant);
      }
      const schedule: ScheduleInput = { cron: '*/10 * * * *', timeZone };
      expect(toMs(firesBetween(schedule, new Date(start), new Date(start + 6 * HOUR_MS)))).toEqual(
        expected,
      );
    });
  });
});

describe('every change of clocks from 2000 to 2040', () => {
  it('leaves one fire for each date, whichever way it is asked', { timeout: 120_000 }, () => {
    const all = changesOfFortyYears();
    expect(all.length).toBeGreaterThan(1_500);
    forEachChange(({ timeZone, at, localFrom, localTo }) => {
      const middle = (Date.parse(`${localFrom}Z`) + Date.parse(`${localTo}Z`)) / 2;
      const named = new Date(Math.floor(middle / 60_000) * 60_000);
      const schedule = { cron: `${named.getUTCMinutes()} ${named.getUTCHours()} * * *`, timeZone };
      const expected = [-1, 0, 1].map(
        (days) =>
          Temporal.PlainDateTime.from(
            new Date(named.getTime() + days * DAY_MS).toISOString().slice(0, 19),
          ).toZonedDateTime(timeZone, { disambiguation: 'compatible' }).epochMilliseconds,
      );
      // A zone that left a whole date out has its fires on those of the next date.
      const instants = [...new Set(expected)];
      const before = new Date(instants[0]! - 1);
      const end = new Date(instants.at(-1)! + 1);
      expect(toMs(firesBetween(schedule, before, end))).toEqual(instants);
      const stepped = [nextFires(schedule, { after: before })[0]!];
      while (stepped.length < instants.length) {
        stepped.push(nextFires(schedule, { after: stepped.at(-1)! })[0]!);
      }
      expect(toMs(stepped)).toEqual(instants);
      expect(toMs(previousFires(schedule, { before: end, count: instants.length }))).toEqual(
        instants.toReversed(),
      );
      const [seeded] = nextFires(schedule, { after: new Date(at.getTime() - 1) });
      expect(seeded!.getTime()).toBe(instants.find((instant) => instant >= at.getTime()));
    }, all);
  });
});
