import { DbError } from '../../errors.js';

/** A time zone by its offsets. All times are milliseconds. */
export interface TimeZone {
  /** Local time minus UTC at an instant. */
  offsetAt(instant: number): number;
  /** The instant of a local time; of two the earlier one, in a gap the time moved forward. */
  instantOf(local: number): number;
}

export const UTC: TimeZone = { offsetAt: () => 0, instantOf: (local) => local };

const OFFSET = /^([+-])(\d\d)(?::?(\d\d))?$/;

/** A zone by offset (`+05:30`, `+0530`, `+05`), `UTC`, `GMT`, `Z` or name; else 40485. */
export function timeZoneOf(name: string): TimeZone {
  if (name === 'UTC' || name === 'GMT' || name === 'Z') return UTC;
  const offset = OFFSET.exec(name);
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3] ?? 0);
    if (minutes === 0) return UTC;
    return fixed((offset[1] === '-' ? -minutes : minutes) * 60_000);
  }
  const known = named.get(name) ?? namedZone(name);
  named.set(name, known);
  return known;
}

function fixed(offset: number): TimeZone {
  return { offsetAt: () => offset, instantOf: (local) => local - offset };
}

const named = new Map<string, TimeZone>();

function namedZone(name: string): TimeZone {
  const format = formatOf(name);
  const offsetAt = (instant: number): number => {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(instant)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    const local = Date.UTC(year, month - 1, day, hour % 24, minute, second);
    return local - Math.floor(instant / 1000) * 1000;
  };
  return {
    offsetAt,
    instantOf(local) {
      // The offset before and after a change are the only candidates; the earlier instant wins.
      const before = local - offsetAt(local - 86_400_000);
      if (before + offsetAt(before) === local) return before;
      const after = local - offsetAt(local + 86_400_000);
      return after + offsetAt(after) === local ? after : before;
    },
  };
}

function formatOf(name: string): Intl.DateTimeFormat {
  // A name is looked up case-insensitively by JavaScript, but an offset must not slip through.
  if (!/^[A-Za-z]/.test(name)) throw unrecognized(name);
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    throw unrecognized(name);
  }
}

function unrecognized(name: string): DbError {
  return new DbError(40485, `unrecognized time zone identifier: "${name}"`);
}
