import { OptionError } from '../errors.js';
import { parseInstant } from './zone/instant-text.js';

/** Logical dates from `from` (included) to `to` (excluded). */
export interface DateRange {
  readonly from: Date;
  readonly to: Date;
}

export interface DateRangeInput {
  readonly from: string;
  /** Absent: up to `limit`. */
  readonly to?: string | undefined;
}

/** A range as it was cut, and whether it was. */
export interface ParsedDateRange extends DateRange {
  /** What was asked for reached past `limit`; those later dates belong to the scheduler. */
  readonly isCut: boolean;
}

/**
 * Reads `--from` and `--to` of a backfill. A date without a time is midnight in `timeZone` (where the zone skips that midnight,
 * the first instant of the day); a time without an offset is wall clock time there, moved later out of a gap, and the first of
 * two in an overlap; an offset or `Z` is honoured.
 *
 * `limit` is the schedule's cursor: dates from there on are the scheduler's, so `to` defaults to it and is cut at it. An empty
 * range (`from` equals `to`) is sound. Throws OptionError naming `--from` or `--to` for anything that cannot be read, and when
 * `to` is before `from`.
 */
export function parseDateRange(
  input: DateRangeInput,
  timeZone: string,
  limit: Date,
): ParsedDateRange {
  const from = parseInstant(input.from, timeZone, '--from');
  const asked = input.to === undefined ? limit.getTime() : parseInstant(input.to, timeZone, '--to');
  if (asked < from && input.to !== undefined) {
    throw new OptionError('--to', `an instant at or after --from (${input.from})`, input.to, {
      hint: `The range is [--from, --to): ${iso(from)} is after ${iso(asked)}.`,
    });
  }
  const to = Math.max(from, Math.min(asked, limit.getTime()));
  return { from: new Date(from), to: new Date(to), isCut: asked > to };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
