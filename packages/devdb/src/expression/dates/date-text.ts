import { DbError } from '../../errors.js';
import { parseDate } from './parse-date.js';
import type { TimeZone } from './time-zone.js';

/**
 * The instant that a text in ISO 8601 stands for; 241 for text that is no date. Text that MongoDB might read, and this server
 * does not, is refused (238), which `onError` does not catch: it would take it for no date.
 */
export function dateOfText(text: string, zone: TimeZone): number {
  const instant = parseDate(text, zone);
  if (instant !== undefined) return instant;
  if (mightBeDate(text.trim())) {
    throw new DbError(
      238,
      `this development server reads dates in ISO 8601 only (2020-01-31T23:59:59.999Z), not "${text}"`,
    );
  }
  throw conversionFailure(
    `an incomplete date/time string has been found, with elements missing: "${text}"`,
  );
}

const CLOCK = /\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?/g;
const MONTH = /^(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*$/i;
const DAY = /^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*$/i;
/** Zones, am and pm, endings of numbers, and the short words of relative dates. */
const SHORT = /^[a-z]{1,5}$/i;

/** Whether a text has what a year, a month and a day may be made of, and no words that no date has. */
function mightBeDate(text: string): boolean {
  if (/^@-?\d+$/.test(text)) return true;
  if (isBadIso(text)) return false;
  const words = text.match(/[a-z]+/gi) ?? [];
  const isOdd = (word: string) => !MONTH.test(word) && !DAY.test(word) && !SHORT.test(word);
  if (words.some(isOdd) && !/[a-z]\/[a-z]/i.test(text)) return false;
  const numbers = text.replace(CLOCK, ' ').match(/\d+/g) ?? [];
  if (words.some((word) => MONTH.test(word))) return numbers.length > 0;
  const isJoined = numbers.some((digits) => digits.length >= 7);
  // Year and month, week or day of the year.
  const isShort = /^\d{4}-(?:W?\d{1,3})\b/.test(text);
  return numbers.length >= 3 || isJoined || isShort;
}

/** A date and time in ISO 8601 with nothing behind it that could be read: its numbers are wrong. */
function isBadIso(text: string): boolean {
  return /^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?$/.test(text);
}

/** A ConversionFailure (241), which `onError` catches. */
export function conversionFailure(message: string): DbError {
  return new DbError(241, message);
}
