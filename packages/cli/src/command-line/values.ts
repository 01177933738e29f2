import { OptionError, parseDuration } from '@flowline/core';

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

/** An instant with an offset: nothing is guessed about the zone. */
export function parseInstant(flag: string, text: string): Date {
  const date = new Date(text);
  if (!/(Z|[+-]\d\d:?\d\d)$/i.test(text) || Number.isNaN(date.getTime())) {
    throw new OptionError(flag, 'an instant with its offset, such as 2026-03-08T07:30:00Z', text);
  }
  return date;
}
