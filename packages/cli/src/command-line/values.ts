import { OptionError, parseDuration, parseInstant } from '@flowline/core/time';

/** The whole number from 1 of a flag; undefined when it was not given. Throws OptionError naming the flag. */
export function wholeFlag(flag: string, value: number | undefined): number | undefined {
  if (value !== undefined && (!Number.isInteger(value) || value < 1)) {
    throw new OptionError(flag, 'a whole number from 1', value);
  }
  return value;
}

/** The duration of a flag in milliseconds; undefined when it was not given. Throws OptionError naming the flag. */
export function durationFlag(flag: string, value: string | undefined): number | undefined {
  return value === undefined ? undefined : parseDuration(value, flag);
}

/** How many lines of a list: the value of --limit, else `otherwise`. Throws OptionError. */
export function limitFlag(value: number | undefined, otherwise = 20): number {
  const limit = value ?? otherwise;
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000) {
    throw new OptionError('--limit', 'a whole number from 1 to 10000', limit);
  }
  return limit;
}

/** An instant with an offset: nothing is guessed about the zone. Throws OptionError naming the flag. */
export function instantFlag(flag: string, text: string): Date {
  const expected = 'an instant with its offset, such as 2026-03-08T07:30:00Z';
  if (!/(Z|[+-]\d\d:?\d\d)$/i.test(text)) throw new OptionError(flag, expected, text);
  return new Date(parseInstant(text, 'UTC', flag));
}

/** An instant in which a date or a time without an offset is wall clock time of the zone. Throws OptionError. */
export function localInstantFlag(flag: string, text: string, timeZone: string): Date {
  return new Date(parseInstant(text, timeZone, flag));
}
