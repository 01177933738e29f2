import { DbError } from '../../errors.js';
import { calendarFields, timeOf } from './calendar.js';
import { type TimeZone, timeZoneOf, UTC } from './time-zone.js';

/** ISO 8601 as people write it: a space for the T, fractions of any length, a zone or none. */
const ISO =
  /^(\d{4})-?(\d\d)-?(\d\d)(?:(?:[Tt]|\s+)(\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?)?\s*(.*)$/;
const ZONE = /^(?:Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?|[A-Za-z]+(?:\/[A-Za-z_+-]+)+)$/;

/** A text that names its zone must not be given another one as well (241). */
export function checkOneZone(zone: TimeZone, named: string): void {
  if (zone === UTC) return;
  throw new DbError(
    241,
    `you cannot pass in a date/time string with time zone information ('${named}') together with ` +
      'a timezone argument',
  );
}

/**
 * Reads a date in ISO 8601; undefined for every other form. MongoDB reads more (`12 Jan 2020`,
 * `yesterday`): those are refused here, never guessed. `zone` holds where the text names none.
 */
export function parseDate(text: string, zone: TimeZone): number | undefined {
  const found = ISO.exec(text.trim());
  if (!found) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = ''] = found;
  const rest = found[8]!;
  if (rest !== '' && !ZONE.test(rest)) return undefined;
  const date = timeOf(Number(year), Number(month), Number(day));
  const fields = calendarFields(date);
  if (fields.month !== Number(month) || fields.day !== Number(day)) return undefined;
  if (Number(hour) > 24 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const ms = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const local = date + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + ms;
  if (rest === '') return zone.instantOf(local);
  checkOneZone(zone, rest);
  return timeZoneOf(rest === 'z' ? 'Z' : rest).instantOf(local);
}
