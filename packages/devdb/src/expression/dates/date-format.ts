import { DbError } from '../../errors.js';
import { type CalendarFields, calendarFields, timeOf, timeOfWeekDate } from './calendar.js';
import { checkOneZone } from './parse-date.js';
import type { TimeZone } from './time-zone.js';
import { timeZoneOf } from './time-zone.js';

/** What a format may contain after a percent sign, and the number that it prints. */
const NUMBERS: Readonly<Record<string, { field: keyof CalendarFields; width: number }>> = {
  d: { field: 'day', width: 2 },
  G: { field: 'isoWeekYear', width: 4 },
  H: { field: 'hour', width: 2 },
  j: { field: 'dayOfYear', width: 3 },
  L: { field: 'millisecond', width: 3 },
  m: { field: 'month', width: 2 },
  M: { field: 'minute', width: 2 },
  S: { field: 'second', width: 2 },
  u: { field: 'isoDayOfWeek', width: 1 },
  U: { field: 'week', width: 2 },
  V: { field: 'isoWeek', width: 2 },
  w: { field: 'dayOfWeek', width: 1 },
  Y: { field: 'year', width: 4 },
};

const READABLE = 'dGHLmMSuVYzZ%';

/** The characters after percent signs; throws 18535 and 18536 for a format that is wrong. */
export function checkFormat(format: string, forReading: boolean): void {
  for (let at = 0; at < format.length; at++) {
    if (format[at] !== '%') continue;
    const letter = format[++at];
    if (letter === undefined) throw new DbError(18535, "Unmatched '%' at end of format string");
    const known = forReading
      ? READABLE.includes(letter)
      : letter in NUMBERS || letter === 'z' || letter === 'Z' || letter === '%';
    if (!known) {
      throw new DbError(18536, `Invalid format character '%${letter}' in format string`);
    }
  }
}

/** Prints an instant in a zone. The format has been checked. */
export function formatDate(instant: number, zone: TimeZone, format: string): string {
  const offset = zone.offsetAt(instant);
  const fields = calendarFields(instant + offset);
  return format.replace(/%(.)/gs, (_, letter: string) => {
    if (letter === '%') return '%';
    const minutes = Math.trunc(offset / 60_000);
    if (letter === 'Z') return String(minutes);
    if (letter === 'z') return offsetText(minutes);
    const { field, width } = NUMBERS[letter]!;
    const number = fields[field];
    if (width === 4 && (number < 0 || number > 9999)) {
      throw new DbError(18537, `$dateToString is only defined on year 0-9999, found ${number}`);
    }
    return String(number).padStart(width, '0');
  });
}

function offsetText(minutes: number): string {
  const absolute = Math.abs(minutes);
  const hours = String(Math.floor(absolute / 60)).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${hours}${String(absolute % 60).padStart(2, '0')}`;
}

const PATTERNS: Readonly<Record<string, string>> = {
  d: '(\\d{1,2})',
  G: '(\\d{4})',
  H: '(\\d{1,2})',
  L: '(\\d{1,3})',
  m: '(\\d{1,2})',
  M: '(\\d{1,2})',
  S: '(\\d{1,2})',
  u: '([1-7])',
  V: '(\\d{1,2})',
  Y: '(\\d{4})',
  z: '([A-Za-z_/]+|[+-]\\d\\d:?\\d\\d|[+-]\\d\\d)',
  Z: '([+-]\\d{1,4})',
};

/** The instant that a text in the given (checked) format stands for; undefined if it has no such form. */
export function readDate(text: string, format: string, zone: TimeZone): number | undefined {
  const letters: string[] = [];
  const pattern = format.replace(/%(.)|[\\^$.*+?()[\]{}|/]/gs, (found, letter?: string) => {
    if (letter === undefined) return `\\${found}`;
    if (letter === '%') return '%';
    letters.push(letter);
    return PATTERNS[letter]!;
  });
  const found = new RegExp(`^${pattern}$`, 's').exec(text);
  if (!found) return undefined;
  const read = new Map(letters.map((letter, index) => [letter, found[index + 1]!]));
  const local = localTime(read);
  if (local === undefined) return undefined;
  for (const letter of ['z', 'Z']) if (read.has(letter)) checkOneZone(zone, read.get(letter)!);
  if (read.has('Z')) return local - Number(read.get('Z')) * 60_000;
  const own = read.has('z') ? timeZoneOf(read.get('z')!) : zone;
  return own.instantOf(local);
}

function localTime(read: ReadonlyMap<string, string>): number | undefined {
  const number = (letter: string, fallback: number): number =>
    read.has(letter) ? Number(read.get(letter)) : fallback;
  let day: number;
  if (read.has('G')) {
    if (['Y', 'm', 'd'].some((letter) => read.has(letter))) return undefined;
    if (number('V', 1) < 1 || number('V', 1) > 53) return undefined;
    day = timeOfWeekDate(number('G', 0), number('V', 1), number('u', 1));
  } else {
    if (!read.has('Y') || !read.has('m') || !read.has('d')) return undefined;
    day = timeOf(number('Y', 0), number('m', 1), number('d', 1));
    const fields = calendarFields(day);
    if (fields.month !== number('m', 1) || fields.day !== number('d', 1)) return undefined;
  }
  const [hour, minute, second] = [number('H', 0), number('M', 0), number('S', 0)];
  if (hour > 24 || minute > 59 || second > 59) return undefined;
  const millisecond = Number((read.get('L') ?? '0').padEnd(3, '0'));
  return day + ((hour * 60 + minute) * 60 + second) * 1000 + millisecond;
}
