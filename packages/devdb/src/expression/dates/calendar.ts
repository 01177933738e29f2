/** One day in milliseconds; calendar arithmetic here is on local time without daylight saving. */
export const DAY_MS = 86_400_000;

/** The fields of a local time, in the Gregorian and in the ISO week calendar. */
export interface CalendarFields {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  millisecond: number;
  /** 1 is Sunday. */
  dayOfWeek: number;
  dayOfYear: number;
  /** Weeks begin on Sunday; days before the first Sunday are in week 0. */
  week: number;
  /** 1 is Monday. */
  isoDayOfWeek: number;
  isoWeek: number;
  isoWeekYear: number;
}

/** Midnight of the first of January of any year, 0 to 99 included. */
function startOfYear(year: number): number {
  return timeOf(year, 1, 1);
}

/** Local time from numbers, each of which may be outside of its usual range and is then carried. */
export function timeOf(
  year: number,
  month: number,
  day: number,
  hour = 0,
  minute = 0,
  second = 0,
  millisecond = 0,
): number {
  // Date.UTC takes 0 to 99 for 1900 to 1999; 400 years are a whole number of weeks and days.
  const shifted = Date.UTC(year + 400, month - 1, day, hour, minute, second, millisecond);
  return shifted - 146_097 * DAY_MS;
}

/** Local time from a week date; each number may be outside of its usual range. */
export function timeOfWeekDate(weekYear: number, week: number, dayOfWeek: number): number {
  return startOfWeekYear(weekYear) + ((week - 1) * 7 + dayOfWeek - 1) * DAY_MS;
}

/** The Monday of the week that holds the fourth of January. */
function startOfWeekYear(year: number): number {
  const fourth = timeOf(year, 1, 4);
  return fourth - (isoDay(fourth) - 1) * DAY_MS;
}

function isoDay(local: number): number {
  return ((new Date(local).getUTCDay() + 6) % 7) + 1;
}

/** The fields of a local time. */
export function calendarFields(local: number): CalendarFields {
  const date = new Date(local);
  const year = date.getUTCFullYear();
  const dayOfYear = Math.floor((local - startOfYear(year)) / DAY_MS) + 1;
  const dayOfWeek = date.getUTCDay() + 1;
  const isoWeekYear = weekYearOf(local, year);
  return {
    year,
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    millisecond: date.getUTCMilliseconds(),
    dayOfWeek,
    dayOfYear,
    week: Math.floor((dayOfYear - dayOfWeek + 7) / 7),
    isoDayOfWeek: isoDay(local),
    isoWeek: Math.floor((local - startOfWeekYear(isoWeekYear)) / (7 * DAY_MS)) + 1,
    isoWeekYear,
  };
}

function weekYearOf(local: number, year: number): number {
  if (local >= startOfWeekYear(year + 1)) return year + 1;
  return local < startOfWeekYear(year) ? year - 1 : year;
}
