import { OptionError } from '../../errors.js';
import { resolveLocal } from './local-time.js';
import { zoneOf } from './zone.js';

/** Schedules live between these instants (the years 1900 to 9999); a search ends at them. */
export const EARLIEST_MS = Date.UTC(1900, 0, 1);
export const LATEST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const EXPECTED =
  "a date ('2026-03-08'), a date with a time ('2026-03-08T02:30'), or an instant ('2026-03-08T02:30:00Z')";

const RANGE = 'an instant in the years 1900 to 9999';

const SHAPE =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * The instant, in epoch milliseconds, that a text or Date names. A text without an offset is wall clock time of `timeZone`, a
 * date alone its midnight; a wall clock time that does not exist moves later by the length of the gap (so the midnight that
 * a zone skipped is the first instant of the day), one that exists twice is the first.
 *
 * Throws OptionError naming `field` for any other shape, a date that does not exist, or a year outside 1900 to 9999.
 */
export function parseInstant(value: unknown, timeZone: string, field: string): number {
  const at = value instanceof Date ? value.getTime() : instantOfText(value, timeZone, field);
  if (Number.isNaN(at)) throw new OptionError(field, EXPECTED, 'Invalid Date');
  if (at < EARLIEST_MS || at > LATEST_MS) {
    throw new OptionError(field, RANGE, value);
  }
  return at;
}

function instantOfText(value: unknown, timeZone: string, field: string): number {
  const match = typeof value === 'string' ? SHAPE.exec(value.trim()) : null;
  if (match === null) {
    throw new OptionError(field, EXPECTED, value, hintFor(value));
  }
  const [, year, month, day, hour, minute, second, fraction, offset] = match;
  // Date.UTC reads 0026 as 1926.
  if (Number(year) < 1900) throw new OptionError(field, RANGE, value);
  const local = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour ?? 0),
    Number(minute ?? 0),
    Number(second ?? 0),
    Number((fraction ?? '').padEnd(3, '0')),
  );
  const date = new Date(local);
  if (date.getUTCMonth() !== Number(month) - 1 || Number(hour ?? 0) > 23) {
    throw new OptionError(field, 'a date and time that exist', value);
  }
  if (Number(day) === 0 || Number(minute ?? 0) > 59 || Number(second ?? 0) > 59) {
    throw new OptionError(field, 'a date and time that exist', value);
  }
  if (offset === undefined) return resolveLocal(zoneOf(timeZone), local).first;
  return local - offsetMsOf(offset, field, value);
}

function offsetMsOf(offset: string, field: string, value: unknown): number {
  if (/^z$/i.test(offset)) return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(-2));
  if (hours > 14 || minutes > 59) {
    throw new OptionError(field, 'an offset between -14:00 and +14:00', value);
  }
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

function hintFor(value: unknown): { hint: string } | Record<string, never> {
  if (typeof value === 'number') return { hint: 'Write a text; a number has no clear unit.' };
  if (typeof value !== 'string') return {};
  if (/^\d{1,2}[./]\d{1,2}[./]\d{2,4}/.test(value) || /^\d{4}[./]/.test(value)) {
    return { hint: 'Write the year first, with dashes: 2026-03-08.' };
  }
  if (/^\d{4}-\d{1,2}-\d{1,2}(?:\D|$)/.test(value)) {
    return { hint: 'Write two digits for the month, the day and the hour: 2026-03-08T02:30.' };
  }
  return {};
}
