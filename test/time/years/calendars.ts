/**
 * Schedules beside naive lists of all their fires: intervals by arithmetic, local times by Temporal. Nothing of the schedule
 * engine is used, but for the hash behind jitter.
 */
import { Temporal } from 'temporal-polyfill';
import { jitterOf } from '../../../packages/core/src/time/schedule/jitter.js';
import { toSchedule } from '../../../packages/core/src/time/schedule/parse-schedule.js';
import type { Schedule } from '../../../packages/core/src/time/schedule/schedule.js';
import type { ScheduleInput } from '../../../packages/core/src/time/schedule/schedule-input.js';

export const beginMs = Date.UTC(2026, 0, 1);
export const endMs = Date.UTC(2028, 0, 1);
const marginMs = 40 * 86_400_000;

export interface Calendar {
  readonly schedule: Schedule;
  /** Logical dates, ascending, from the beginning to a while after the end. */
  readonly dates: readonly number[];
  readonly excluded: ReadonlySet<number>;
  readonly hasJitter: boolean;
}

function everyOf(everyMs: number, input: ScheduleInput): Calendar {
  const dates: number[] = [];
  for (let at = Math.ceil(beginMs / everyMs) * everyMs; at < endMs + marginMs; at += everyMs) {
    dates.push(at);
  }
  return { schedule: toSchedule(input), dates, excluded: new Set(), hasJitter: 'jitter' in input };
}

/** One local time on the given weekdays (0 is Sunday), as Temporal resolves it; excluded by the date that was named. */
function localOf(
  time: string,
  timeZone: string,
  cron: string,
  options: { weekdays?: readonly number[]; exclude?: readonly string[] } = {},
): Calendar {
  const { weekdays = [0, 1, 2, 3, 4, 5, 6], exclude = [] } = options;
  const found: number[] = [];
  const excluded = new Set<number>();
  let date = Temporal.PlainDate.from('2025-12-30');
  while (Date.parse(`${date}T00:00Z`) < endMs + marginMs) {
    if (weekdays.includes(date.dayOfWeek % 7)) {
      const local = date.toPlainDateTime(Temporal.PlainTime.from(time));
      const at = local.toZonedDateTime(timeZone).epochMilliseconds;
      if (at >= beginMs) {
        found.push(at);
        if (exclude.includes(String(date))) excluded.add(at);
      }
    }
    date = date.add({ days: 1 });
  }
  const schedule = toSchedule({ cron, timeZone, ...(exclude.length === 0 ? {} : { exclude }) });
  return { schedule, dates: found.sort((a, b) => a - b), excluded, hasJitter: false };
}

const hour = 3_600_000;
/** Those that stand here more often are more common: a schedule of each quarter of an hour has 70,000 fires. */
const weighted: readonly (readonly [times: number, calendar: Calendar])[] = [
  [14, localOf('02:30', 'Europe/Paris', '30 2 * * *')],
  [12, localOf('01:30', 'America/New_York', '30 1 * * *')],
  [9, localOf('09:15', 'Australia/Lord_Howe', '15 9 * * 1-5', { weekdays: [1, 2, 3, 4, 5] })],
  [
    9,
    localOf('00:00', 'America/Havana', '0 0 * * *', {
      exclude: ['2026-03-08', '2026-11-01', '2026-12-25', '2027-01-01', '2027-01-02'],
    }),
  ],
  [8, everyOf(7 * hour, { every: '7h' })],
  [6, everyOf(6 * hour, { every: '6h', jitter: '1h' })],
  [2, everyOf(hour, { every: '1h' })],
  [1, everyOf(hour / 4, { every: '15m', jitter: '3m' })],
];

export const calendars: readonly Calendar[] = weighted.flatMap(([times, calendar]) =>
  Array<Calendar>(times).fill(calendar),
);

/** When a date comes due. */
export function dueOf(calendar: Calendar, dagId: string, at: number): number {
  return calendar.hasJitter ? at + jitterOf(calendar.schedule, dagId, new Date(at)) : at;
}

/** The place of the first date after an instant. */
export function firstAfter(dates: readonly number[], instant: number): number {
  let [low, high] = [0, dates.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (dates[middle]! > instant) high = middle;
    else low = middle + 1;
  }
  return low;
}
