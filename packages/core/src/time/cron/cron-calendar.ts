/**
 * The calendar of a cron expression: which local date-times it names. Nothing here knows a zone. A local date-time is the
 * number of milliseconds that `Date.UTC` gives for its fields.
 */

export const DAY_MS = 86_400_000;

/** The values that each field of a cron expression accepts, sorted, without duplicates. */
export interface CronFields {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** 1 to 12. */
  readonly months: readonly number[];
  readonly daysOfMonth: readonly number[];
  /** `L` in the day-of-month field. */
  readonly lastDayOfMonth: boolean;
  /** The day-of-month field is a bare `*` or `?`. */
  readonly anyDayOfMonth: boolean;
  /** 0 (Sunday) to 6. */
  readonly daysOfWeek: readonly number[];
  /** `5L`: the last Friday of a month. */
  readonly lastDaysOfWeek: readonly number[];
  /** `5#2`: only the second Friday; 0 without `#`. */
  readonly nthDayOfWeek: number;
  /** The day-of-week field is a bare `*` or `?`. */
  readonly anyDayOfWeek: boolean;
}

/** True when the hour field names all 24 hours: then every real instant whose wall clock matches is a fire. */
export function matchesEveryHour(fields: CronFields): boolean {
  return fields.hours.length === 24;
}

/** Days of a month (1 to 12) in a year. */
export function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/**
 * The matching days of one month as bits: bit 0 is the 1st. When both day fields are restricted a day matches when either
 * does; only a bare `*` or `?` is unrestricted (the rule of Vixie cron and cron-parser).
 */
export function matchingDays(fields: CronFields, year: number, month: number): number {
  if (!fields.months.includes(month)) return 0;
  const length = daysInMonth(year, month);
  const all = 2 ** length - 1;
  if (fields.anyDayOfMonth && fields.anyDayOfWeek) return all;
  let days = 0;
  if (!fields.anyDayOfMonth) {
    for (const day of fields.daysOfMonth) if (day <= length) days |= 1 << (day - 1);
    if (fields.lastDayOfMonth) days |= 1 << (length - 1);
  }
  if (!fields.anyDayOfWeek) {
    const firstWeekday = new Date(Date.UTC(year, month - 1, 1)).getUTCDay();
    for (let day = 1; day <= length; day += 1) {
      if (matchesWeekday(fields, (firstWeekday + day - 1) % 7, day, length)) days |= 1 << (day - 1);
    }
  }
  return days;
}

function matchesWeekday(fields: CronFields, weekday: number, day: number, length: number): boolean {
  if (day + 7 > length && fields.lastDaysOfWeek.includes(weekday)) return true;
  if (!fields.daysOfWeek.includes(weekday)) return false;
  return fields.nthDayOfWeek === 0 || Math.ceil(day / 7) === fields.nthDayOfWeek;
}

/** The matching dates in `[from, to)` as the local date-times of their midnights, ascending. */
export function* matchingDates(fields: CronFields, from: number, to: number): Generator<number> {
  if (!(from < to)) return;
  const first = Math.floor(from / DAY_MS) * DAY_MS;
  const start = new Date(first);
  let year = start.getUTCFullYear();
  let month = start.getUTCMonth() + 1;
  for (;;) {
    const monthStart = Date.UTC(year, month - 1, 1);
    if (monthStart >= to) return;
    const days = matchingDays(fields, year, month);
    for (let bit = 0; bit < 31 && days !== 0; bit += 1) {
      if ((days & (1 << bit)) === 0) continue;
      const date = monthStart + bit * DAY_MS;
      if (date >= to) return;
      if (date >= first) yield date;
    }
    month += 1;
    if (month > 12) {
      month = 1;
      year += 1;
    }
  }
}

/**
 * The matching local date-times in `[from, to)`, ascending, in one array for each hour that has any, or for each minute where
 * more than one second of it matches: a year of minutes is half a million values, too many to hand over one by one, and an hour of
 * seconds too many to make for one.
 */
export function* matchingHours(fields: CronFields, from: number, to: number): Generator<number[]> {
  const { hours, minutes, seconds } = fields;
  for (const date of matchingDates(fields, from, to)) {
    for (const hour of hours) {
      const hourStart = date + hour * 3_600_000;
      if (hourStart + 3_600_000 <= from) continue;
      if (hourStart >= to) return;
      let times: number[] = [];
      for (const minute of minutes) {
        const minuteStart = hourStart + minute * 60_000;
        if (minuteStart + 60_000 <= from || minuteStart >= to) continue;
        for (const second of seconds) {
          const time = minuteStart + second * 1_000;
          if (time >= from && time < to) times.push(time);
        }
        if (seconds.length === 1 || times.length === 0) continue;
        yield times;
        times = [];
      }
      if (times.length > 0) yield times;
    }
  }
}
