import { DbError } from '../../errors.js';
import { parseDate } from './parse-date.js';
import type { TimeZone } from './time-zone.js';

/** The instant that a text in ISO 8601 stands for; 241 for other text. */
export function dateOfText(text: string, zone: TimeZone): number {
  const instant = parseDate(text, zone);
  if (instant !== undefined) return instant;
  throw conversionFailure(
    `an incomplete date/time string has been found, with elements missing: "${text}"`,
  );
}

/** A ConversionFailure (241), which `onError` catches. */
export function conversionFailure(message: string): DbError {
  return new DbError(241, message);
}
