import { OptionError } from '../../errors.js';
import { EARLIEST_MS, LATEST_MS } from '../zone/instant-text.js';
import { toSchedule } from './parse-schedule.js';
import { rulesOf, type Schedule, type ScheduleRules } from './schedule.js';
import type { ScheduleInput } from './schedule-input.js';
import { walkFireGroups, walkFires, walkFiresBack } from './walk-fires.js';

/** What a run covers: from the fire before it (included) to its logical date (excluded). */
export interface DataInterval {
  readonly from: Date;
  readonly to: Date;
}

export interface NextFiresOptions {
  /** The fires are strictly later than this instant. */
  readonly after: Date;
  /** How many at most; default 1. */
  readonly count?: number;
  /** Also give the dates that `exclude` removes; default false. */
  readonly includeExcluded?: boolean;
}

export interface PreviousFiresOptions {
  /** The fires are strictly earlier than this instant. */
  readonly before: Date;
  /** How many at most; default 1. */
  readonly count?: number;
  /** Also give the dates that `exclude` removes; default false. */
  readonly includeExcluded?: boolean;
}

/**
 * The next fires after an instant, ascending; fewer than `count` when the schedule ends. A pure function of its arguments: the
 * answer depends neither on the host's zone nor on which fire was asked for before.
 *
 * Throws CompileError for a schedule that `parseSchedule` refuses and OptionError for an invalid Date or count.
 */
export function nextFires(schedule: Schedule | ScheduleInput, options: NextFiresOptions): Date[] {
  const rules = rulesOf(toSchedule(schedule));
  const after = instantOf(options.after, 'after');
  const count = countOf(options.count);
  return take(walkFires(rules, after + 1, LATEST_MS), count, options.includeExcluded);
}

/** The fires before an instant, the nearest (latest) first: the exact inverse of {@link nextFires}. Same errors. */
export function previousFires(
  schedule: Schedule | ScheduleInput,
  options: PreviousFiresOptions,
): Date[] {
  const rules = rulesOf(toSchedule(schedule));
  const before = instantOf(options.before, 'before');
  const count = countOf(options.count);
  return take(walkFiresBack(rules, before), count, options.includeExcluded);
}

/**
 * All fires in `[from, to)`, ascending, without the excluded ones. A year of minutes is half a million dates: where the event
 * loop matters, take {@link fireBatches}.
 */
export function firesBetween(schedule: Schedule | ScheduleInput, from: Date, to: Date): Date[] {
  return [...fireBatches(schedule, from, to)].flat();
}

/** The fires in `[from, to)` in arrays of at most `size` (default 1,000), so that the caller can yield between them. */
export function* fireBatches(
  schedule: Schedule | ScheduleInput,
  from: Date,
  to: Date,
  size = 1_000,
): Generator<Date[]> {
  const rules = rulesOf(toSchedule(schedule));
  let batch: Date[] = [];
  for (const fires of walkFireGroups(rules, instantOf(from, 'from'), instantOf(to, 'to'))) {
    for (const fire of fires) {
      if (fire.isExcluded) continue;
      batch.push(new Date(fire.at));
      if (batch.length >= size) {
        yield batch;
        batch = [];
      }
    }
  }
  if (batch.length > 0) yield batch;
}

/**
 * The data interval of a fire: `[the fire before it, itself)`. Excluded dates are no fires, so the next interval reaches over
 * them and the intervals of a schedule leave no hole. The first fire after `startAt` covers one ordinary interval; a one-shot,
 * which has none before it, covers an empty one.
 */
export function dataIntervalOf(schedule: Schedule, logicalDate: Date): DataInterval {
  const at = instantOf(logicalDate, 'logicalDate');
  return {
    from: new Date(previousAtOf(rulesOf(schedule), at) ?? at),
    to: new Date(at),
  };
}

/** The last fire before `at` that is not excluded, as if the schedule had always been there. */
function previousAtOf(rules: ScheduleRules, at: number): number | undefined {
  if (rules.schedule.kind === 'at') return undefined;
  for (const fire of walkFiresBack({ ...rules, startMs: EARLIEST_MS }, at)) {
    if (!fire.isExcluded) return fire.at;
  }
  return undefined;
}

function take(
  fires: Iterable<{ at: number; isExcluded: boolean }>,
  count: number,
  includeExcluded = false,
): Date[] {
  const taken: Date[] = [];
  if (count === 0) return taken;
  for (const fire of fires) {
    if (fire.isExcluded && !includeExcluded) continue;
    taken.push(new Date(fire.at));
    if (taken.length >= count) break;
  }
  return taken;
}

function instantOf(value: Date, field: string): number {
  const at = value instanceof Date ? value.getTime() : Number.NaN;
  if (Number.isNaN(at)) throw new OptionError(field, 'a valid Date', value);
  return Math.min(Math.max(at, EARLIEST_MS), LATEST_MS);
}

function countOf(count: number | undefined): number {
  if (count === undefined) return 1;
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new OptionError('count', 'a whole number, 0 or more', count);
  }
  return count;
}
