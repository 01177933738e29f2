import { CompileError, describeValue, type Problem } from '../../errors.js';
import { matchesEveryHour } from '../cron/cron-calendar.js';
import { parseCron } from '../cron/parse-cron.js';
import { didYouMean } from '../did-you-mean.js';
import { formatDuration } from '../duration.js';
import { timeZoneProblem } from '../zone/zone.js';
import type { Schedule, ScheduleBase } from './schedule.js';
import { rulesOf } from './schedule.js';
import { SCHEDULE_KINDS, SCHEDULE_OPTIONS, type ScheduleInput } from './schedule-input.js';
import {
  type RawOptions,
  type Report,
  readDst,
  readDuration,
  readExclude,
  readInstant,
} from './schedule-options.js';
import { walkFires } from './walk-fires.js';

export type { ScheduleInput } from './schedule-input.js';

export interface ParsedSchedule {
  /** Undefined when one of the problems is an error. */
  readonly schedule: Schedule | undefined;
  /** Paths start with `schedule`. */
  readonly problems: readonly Problem[];
}

/** Where intervals are measured when `startAt` is absent; any year under today's zone rules serves. */
const SAMPLE_FROM_MS = Date.UTC(2024, 0, 1);

/**
 * Checks what a definition says under `schedule` and turns it into plain JSON with all defaults filled in, so that equal
 * schedules are equal texts. Reports every problem at once, warnings included; never throws.
 */
export function parseSchedule(input: unknown): ParsedSchedule {
  const problems: Problem[] = [];
  const report: Report = (code, path, message, hint) => {
    problems.push({ code, severity: 'error', path, message, ...(hint ? { hint } : {}) });
  };
  const warn: Report = (code, path, message, hint) => {
    problems.push({ code, severity: 'warning', path, message, ...(hint ? { hint } : {}) });
  };
  const schedule = readSchedule(input, report, warn);
  const isBroken = problems.some((problem) => problem.severity === 'error');
  if (schedule !== undefined && !isBroken) checkFires(schedule, report);
  const isSound = problems.every((problem) => problem.severity === 'warning');
  return { schedule: isSound ? schedule : undefined, problems };
}

/** The stored form of a schedule given in either form. Throws CompileError with every problem of an unsound definition. */
export function toSchedule(schedule: Schedule | ScheduleInput): Schedule {
  if (typeof schedule === 'object' && schedule !== null && 'kind' in schedule) return schedule;
  const parsed = parseSchedule(schedule);
  if (parsed.schedule === undefined) throw new CompileError(parsed.problems);
  return parsed.schedule;
}

function readSchedule(input: unknown, report: Report, warn: Report): Schedule | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    const isCron = typeof input === 'string' && parseCron(input).fields !== undefined;
    const example = isCron ? `{ cron: '${input}' }` : "{ cron: '0 2 * * *' } or { every: '5m' }";
    const message = `expected an object, found ${describeValue(input)}`;
    report('schedule-shape', 'schedule', message, `Write ${example}.`);
    return undefined;
  }
  const given = Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== undefined),
  );
  const kinds = SCHEDULE_KINDS.filter((kind) => kind in given);
  const kind = kinds[0];
  if (kind === undefined || kinds.length > 1) {
    const found = kind === undefined ? 'none of them' : kinds.join(' and ');
    const hint = kind === undefined ? undefined : 'A DAG has one schedule; make one DAG for each.';
    const message = `expected exactly one of cron, every and at, found ${found}`;
    report('schedule-kind', 'schedule', message, hint);
    reportUnknown(given, Object.values(SCHEDULE_OPTIONS).flat(), report);
    return undefined;
  }
  reportUnknown(given, SCHEDULE_OPTIONS[kind], report);
  const timeZone = readTimeZone(given, report);
  if (kind === 'at') {
    const at = readInstant(given, 'at', timeZone, report);
    return at === undefined ? undefined : { kind, at, timeZone };
  }
  const base = readBase(given, timeZone, report);
  if (kind === 'every') {
    const everyMs = readDuration(given, 'every', report, 100);
    return everyMs === undefined ? undefined : { kind, everyMs, ...base };
  }
  return readCron(given, base, report, warn);
}

function readCron(
  given: RawOptions,
  base: ScheduleBase,
  report: Report,
  warn: Report,
): Schedule | undefined {
  const { cron, fields, problems } = parseCron(given.cron);
  for (const { severity, code, message, hint } of problems) {
    (severity === 'error' ? report : warn)(code, 'schedule.cron', message, hint);
  }
  const dst = readDst(given, report);
  if (fields !== undefined && matchesEveryHour(fields) && given.dst !== undefined) {
    const message = 'has no effect: the hour field matches all 24 hours, so every real hour fires';
    warn('schedule-dst-unused', 'schedule.dst', message, 'Remove `dst`.');
  }
  return fields === undefined ? undefined : { kind: 'cron', cron, dst, ...base };
}

function readBase(given: RawOptions, timeZone: string, report: Report): ScheduleBase {
  const startAt = readInstant(given, 'startAt', timeZone, report);
  const endAt = readInstant(given, 'endAt', timeZone, report);
  const jitterMs = readDuration(given, 'jitter', report, 0);
  const exclude = readExclude(given, timeZone, report);
  if (startAt !== undefined && endAt !== undefined && startAt >= endAt) {
    const message = `expected an instant after startAt (${startAt}), found ${endAt}`;
    report('schedule-range', 'schedule.endAt', message);
  }
  return {
    timeZone,
    ...(startAt === undefined ? {} : { startAt }),
    ...(endAt === undefined ? {} : { endAt }),
    ...(jitterMs ? { jitterMs } : {}),
    ...(exclude.length === 0 ? {} : { exclude }),
  };
}

function readTimeZone(given: RawOptions, report: Report): string {
  const timeZone = given.timeZone;
  if (timeZone === undefined) return 'UTC';
  const problem = timeZoneProblem(timeZone);
  if (problem === undefined) return timeZone as string;
  report('time-zone', 'schedule.timeZone', problem.message, problem.hint);
  return 'UTC';
}

function reportUnknown(given: RawOptions, known: readonly string[], report: Report): void {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const near = didYouMean(name, known);
    const hint = near ? `Did you mean '${near}'?` : `Known: ${[...new Set(known)].join(', ')}.`;
    report('schedule-option', `schedule.${name}`, 'is not an option of this schedule', hint);
  }
}

/** Last of all, on a schedule whose parts are sound: does it fire at all, and is its jitter below half its interval? */
function checkFires(schedule: Schedule, report: Report): void {
  if (schedule.kind === 'at') return;
  const rules = rulesOf(schedule);
  const from = schedule.startAt === undefined ? SAMPLE_FROM_MS : rules.startMs;
  let last: number | undefined;
  let count = 0;
  let shortest = Number.POSITIVE_INFINITY;
  for (const fire of walkFires(rules, Math.min(from, rules.endMs - 1), rules.endMs)) {
    if (!fire.isExcluded) count += 1;
    if (last !== undefined) shortest = Math.min(shortest, fire.at - last);
    last = fire.at;
    if (count >= 400 || (count > 0 && schedule.jitterMs === undefined)) break;
  }
  if (count === 0 && (schedule.endAt === undefined || schedule.startAt !== undefined)) {
    const message = 'never fires between its startAt and endAt, with its excluded dates';
    report('schedule-never', 'schedule', message);
  }
  if (schedule.jitterMs !== undefined && schedule.jitterMs >= shortest / 2) {
    const found = formatDuration(schedule.jitterMs);
    const message = `must be below half the shortest interval (${formatDuration(shortest)}), found ${found}`;
    report('schedule-jitter', 'schedule.jitter', message);
  }
}
