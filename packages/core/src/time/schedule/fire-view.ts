import { DAY_MS, matchingHours } from '../cron/cron-calendar.js';
import { LATEST_MS } from '../zone/instant-text.js';
import { formatLocal, formatWallClock } from '../zone/local-time.js';
import { type DataInterval, dataIntervalOf } from './fires.js';
import { toSchedule } from './parse-schedule.js';
import { rulesOf, type Schedule, type ScheduleRules } from './schedule.js';
import type { ScheduleInput } from './schedule-input.js';
import { walkFires } from './walk-fires.js';

/** A fire as `flow next` shows it. */
export interface FireView {
  readonly logicalDate: Date;
  /** The wall clock of the schedule's zone with its offset: `2026-03-08T03:30:00-04:00`. */
  readonly local: string;
  readonly dataInterval: DataInterval;
  /** What a change of clocks does to it, or `excluded`; null for an ordinary fire. */
  readonly note: string | null;
  /** An excluded date: shown, never run. */
  readonly isExcluded: boolean;
}

/**
 * The next `count` fires after an instant with local times and remarks. Excluded dates that lie between them are in the list
 * too, marked, and do not count. Throws as `nextFires` does.
 */
export function viewNextFires(
  schedule: Schedule | ScheduleInput,
  options: { readonly after: Date; readonly count?: number },
): FireView[] {
  const stored = toSchedule(schedule);
  const rules = rulesOf(stored);
  const views: FireView[] = [];
  let missing = options.count ?? 1;
  if (missing < 1) return views;
  for (const fire of walkFires(rules, options.after.getTime() + 1, LATEST_MS)) {
    views.push(viewFire(stored, new Date(fire.at), fire.isExcluded));
    if (!fire.isExcluded) missing -= 1;
    if (missing === 0) break;
  }
  return views;
}

/** One fire of a schedule with its local time and remarks. */
export function viewFire(schedule: Schedule, logicalDate: Date, isExcluded = false): FireView {
  const rules = rulesOf(schedule);
  const at = logicalDate.getTime();
  const notes = [clockNote(rules, at), isExcluded ? 'excluded' : undefined];
  const note = notes.filter((part) => part !== undefined).join('; ');
  return {
    logicalDate,
    local: formatLocal(rules.zone, at),
    dataInterval: dataIntervalOf(schedule, logicalDate),
    note: note === '' ? null : note,
    isExcluded,
  };
}

function clockNote(rules: ScheduleRules, at: number): string | undefined {
  const { schedule, zone } = rules;
  if (schedule.kind !== 'cron') return undefined;
  const segment = zone.segmentAt(at);
  const local = at + segment.offsetMs;
  const back = segment.offsetBeforeMs - segment.offsetMs;
  if (back > 0 && at < segment.from + back) {
    return `overlap: ${clock(local)} comes twice, this is the second`;
  }
  const forward = segment.offsetMs - segment.offsetBeforeMs;
  if (forward > 0 && at < segment.from + forward) return gapNote(rules, at);
  const ahead = segment.offsetMs - segment.offsetAfterMs;
  if (ahead > 0 && at >= segment.to - ahead) {
    return `overlap: ${clock(local)} comes twice, this is the first`;
  }
  return undefined;
}

/** Which lost local times fire at `at`, just after the gap that opens its segment. */
function gapNote(rules: ScheduleRules, at: number): string | undefined {
  const { schedule, cron, zone } = rules;
  if (schedule.kind !== 'cron' || cron === undefined || cron.isEveryHour) return undefined;
  const { from, offsetMs, offsetBeforeMs } = zone.segmentAt(at);
  const isToEnd = schedule.dst.gap === 'end';
  if (schedule.dst.gap === 'skip' || (isToEnd && at !== from)) return undefined;
  const lostFrom = isToEnd ? from + offsetBeforeMs : at + offsetBeforeMs;
  const lostTo = isToEnd ? from + offsetMs : lostFrom + 1;
  const lost = [...matchingHours(cron.fields, lostFrom, lostTo)].flat();
  if (lost.length === 0) return undefined;
  const target = at + offsetMs;
  const isOwn = [...matchingHours(cron.fields, target, target + 1)].length > 0;
  // A gap that reaches past midnight (a zone that skipped a whole day) is clear with dates only.
  const isSameDay = Math.floor(lost[0]! / DAY_MS) === Math.floor(target / DAY_MS);
  const show = isSameDay ? clock : dateAndClock;
  const names = lost.slice(0, 3).map(show).join(', ') + (lost.length > 3 ? ', ...' : '');
  const [verb, fires] = lost.length > 1 ? ['do', 'fire'] : ['does', 'fires'];
  return `gap: ${names} ${verb} not exist, ${fires} ${isOwn ? 'together with' : 'at'} ${show(target)}`;
}

/** `02:30` of local milliseconds; seconds only where there are any. */
export function clock(localMs: number): string {
  return dateAndClock(localMs).slice(11);
}

/** `2026-03-08 02:30` of local milliseconds. */
export function dateAndClock(localMs: number): string {
  const whole = Math.floor(localMs / 1000) * 1000;
  return formatWallClock(whole).replace('T', ' ').replace(/:00$/, '');
}
