import { OptionError } from '../../errors.js';
import { type CronFields, DAY_MS, matchesEveryHour } from '../cron/cron-calendar.js';
import { parseCron } from '../cron/parse-cron.js';
import { EARLIEST_MS, LATEST_MS, parseInstant } from '../zone/instant-text.js';
import { type Zone, zoneOf } from '../zone/zone.js';

/** What a local time that does not exist becomes: moved later by the gap's length, moved to the gap's end, or nothing. */
export type DstGap = 'shift' | 'end' | 'skip';
/** Which of two equal local times fires. */
export type DstOverlap = 'first' | 'second' | 'both';

/** What a schedule does on the days when clocks change. Without effect when its hour field matches all 24 hours. */
export interface DstRule {
  readonly gap: DstGap;
  readonly overlap: DstOverlap;
}

/** What every kind of schedule may carry. Instants are ISO texts in UTC, so that a schedule is plain JSON. */
export interface ScheduleBase {
  /** IANA zone; of `every` and `at` only for showing local times and for `exclude`. */
  readonly timeZone: string;
  /** No fire before it (it may be one itself). */
  readonly startAt?: string;
  /** No fire at or after it. */
  readonly endAt?: string;
  /** The most that a fire is delayed after its logical date; see `jitterOf`. */
  readonly jitterMs?: number;
  /** Local dates (`2026-12-25`) and instants (ISO in UTC) that do not fire, sorted. */
  readonly exclude?: readonly string[];
}

export interface CronSchedule extends ScheduleBase {
  readonly kind: 'cron';
  readonly cron: string;
  readonly dst: DstRule;
}

/** A fixed interval of real time, counted from `startAt` or else the Unix epoch; restarts, deploys and DST do not move it. */
export interface EverySchedule extends ScheduleBase {
  readonly kind: 'every';
  readonly everyMs: number;
}

/** One fire. */
export interface AtSchedule {
  readonly kind: 'at';
  readonly at: string;
  readonly timeZone: string;
}

/** When a DAG fires: plain JSON as compiled definitions and the database hold it. Made by `parseSchedule`. */
export type Schedule = CronSchedule | EverySchedule | AtSchedule;

/** A schedule made ready for walking. */
export interface ScheduleRules {
  readonly schedule: Schedule;
  readonly zone: Zone;
  readonly startMs: number;
  /** Excluded. */
  readonly endMs: number;
  /** Where an `every` schedule counts from. */
  readonly anchorMs: number;
  /** Days since 1970-01-01, local. */
  readonly excludedDays: ReadonlySet<number>;
  readonly excludedInstants: ReadonlySet<number>;
  readonly cron: { readonly fields: CronFields; readonly isEveryHour: boolean } | undefined;
}

const DST_GAPS: readonly unknown[] = ['shift', 'end', 'skip'] satisfies DstGap[];
const DST_OVERLAPS: readonly unknown[] = ['first', 'second', 'both'] satisfies DstOverlap[];

const known = new WeakMap<Schedule, ScheduleRules>();
const parsedCrons = new Map<string, CronFields>();

/**
 * Makes a stored schedule ready for walking; repeated calls with the same object cost nothing. Throws OptionError when the
 * object is not a sound schedule (an older or damaged document): the scheduler then marks that DAG broken and goes on.
 */
export function rulesOf(schedule: Schedule): ScheduleRules {
  let rules = known.get(schedule);
  if (rules === undefined) {
    rules = makeRules(schedule);
    known.set(schedule, rules);
  }
  return rules;
}

function makeRules(schedule: Schedule): ScheduleRules {
  const timeZone = schedule.timeZone ?? 'UTC';
  let zone: Zone;
  try {
    zone = zoneOf(timeZone);
  } catch (cause) {
    throw new OptionError('schedule.timeZone', 'a known IANA time zone', timeZone, { cause });
  }
  if (schedule.kind === 'at') {
    const at = parseInstant(schedule.at, timeZone, 'schedule.at');
    return { ...bare(schedule, zone), startMs: at, endMs: at + 1 };
  }
  const instant = (text: string | undefined, field: string, otherwise: number) =>
    text === undefined ? otherwise : parseInstant(text, timeZone, field);
  const { exclude = [], jitterMs } = schedule;
  if (!Array.isArray(exclude)) throw new OptionError('schedule.exclude', 'a list', exclude);
  if (jitterMs !== undefined && (!Number.isSafeInteger(jitterMs) || jitterMs < 0)) {
    throw new OptionError('schedule.jitterMs', 'a whole number from 0', jitterMs);
  }
  const rules = {
    ...bare(schedule, zone),
    startMs: instant(schedule.startAt, 'schedule.startAt', EARLIEST_MS),
    endMs: instant(schedule.endAt, 'schedule.endAt', LATEST_MS),
    anchorMs: instant(schedule.startAt, 'schedule.startAt', 0),
    excludedDays: new Set(exclude.filter(isDate).map((date) => Date.parse(date) / DAY_MS)),
    excludedInstants: new Set(
      exclude.filter((text) => !isDate(text)).map((text) => Date.parse(text)),
    ),
  };
  if (schedule.kind === 'every') {
    if (!Number.isSafeInteger(schedule.everyMs) || schedule.everyMs < 1) {
      throw new OptionError('schedule.everyMs', 'a whole number from 1', schedule.everyMs);
    }
    return rules;
  }
  if (schedule.kind !== 'cron') {
    throw new OptionError('schedule.kind', "'cron', 'every' or 'at'", (schedule as Schedule).kind);
  }
  const { gap, overlap } = schedule.dst ?? {};
  if (!DST_GAPS.includes(gap) || !DST_OVERLAPS.includes(overlap)) {
    throw new OptionError('schedule.dst', 'a rule for gaps and one for overlaps', schedule.dst);
  }
  const fields = cronFields(schedule.cron);
  return { ...rules, cron: { fields, isEveryHour: matchesEveryHour(fields) } };
}

function bare(schedule: Schedule, zone: Zone): ScheduleRules {
  return {
    schedule,
    zone,
    startMs: EARLIEST_MS,
    endMs: LATEST_MS,
    anchorMs: 0,
    excludedDays: new Set(),
    excludedInstants: new Set(),
    cron: undefined,
  };
}

function cronFields(cron: string): CronFields {
  let fields = parsedCrons.get(cron);
  if (fields === undefined) {
    const parsed = parseCron(cron);
    if (parsed.fields === undefined) {
      const [first] = parsed.problems;
      throw new OptionError('schedule.cron', first?.message ?? 'a cron expression', cron);
    }
    fields = parsed.fields;
    // Schedules come from deploys, so there are few; the bound only guards a process that tries many.
    if (parsedCrons.size >= 5_000) parsedCrons.clear();
    parsedCrons.set(cron, fields);
  }
  return fields;
}

/** True for the text of a date without a time. */
export function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text);
}
