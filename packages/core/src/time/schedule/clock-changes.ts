import { matchingHours } from '../cron/cron-calendar.js';
import { formatDuration } from '../duration.js';
import { LATEST_MS } from '../zone/instant-text.js';
import { formatOffset, formatWallClock } from '../zone/local-time.js';
import { type ZoneSegment, zoneOf } from '../zone/zone.js';
import { clock } from './fire-view.js';
import { toSchedule } from './parse-schedule.js';
import { type CronSchedule, rulesOf, type Schedule } from './schedule.js';
import type { ScheduleInput } from './schedule-input.js';

/** A change of a zone's offset. */
export interface ClockChange {
  readonly at: Date;
  /** `gap`: clocks go forward and local times are lost; `overlap`: they go back and local times come twice. */
  readonly kind: 'gap' | 'overlap';
  /** The local times that are lost or come twice: `[localFrom, localTo)`, `2026-03-08T02:00:00`. */
  readonly localFrom: string;
  readonly localTo: string;
  /** `-05:00` */
  readonly offsetBefore: string;
  readonly offsetAfter: string;
}

/** A change of clocks that touches a schedule, and what the schedule does then. */
export interface ClockMeeting extends ClockChange {
  /** The named local times that are concerned, at most 5: `02:30`. */
  readonly times: readonly string[];
  /** How many there are. */
  readonly count: number;
  /** In words: `02:30 does not exist and fires at 03:30`. */
  readonly effect: string;
}

/** The changes of a zone's clocks in `[from, to)`. Throws RangeError for an unknown zone. */
export function clockChanges(timeZone: string, from: Date, to: Date): ClockChange[] {
  return segmentsOpening(timeZone, from, to).map(changeOf);
}

/**
 * The changes of clocks in `[from, to)` that remove or repeat a local time which the schedule names, with what will happen:
 * what compile and deploy warn about. Schedules whose hour field matches all 24 hours, and those without cron, are never
 * concerned: they follow real time. Throws as `toSchedule` does.
 */
export function clockMeetings(
  schedule: Schedule | ScheduleInput,
  from: Date,
  to: Date,
): ClockMeeting[] {
  const stored = toSchedule(schedule);
  const { cron, startMs, endMs } = rulesOf(stored);
  if (stored.kind !== 'cron' || cron === undefined || cron.isEveryHour) return [];
  const meetings: ClockMeeting[] = [];
  for (const segment of segmentsOpening(stored.timeZone, from, to)) {
    if (segment.from < startMs || segment.from >= endMs) continue;
    const [low, high] = [segment.offsetBeforeMs, segment.offsetMs].sort((a, b) => a - b);
    const locals = [
      ...matchingHours(cron.fields, segment.from + low!, segment.from + high!),
    ].flat();
    if (locals.length === 0) continue;
    const times = locals.slice(0, 5).map(clock);
    const change = changeOf(segment);
    const more = locals.length > times.length ? ` and ${locals.length - times.length} more` : '';
    const effect = `${times.join(', ')}${more} ${effectOf(stored, segment, locals.length > 1)}`;
    meetings.push({ ...change, times, count: locals.length, effect });
  }
  return meetings;
}

function effectOf(schedule: CronSchedule, segment: ZoneSegment, isPlural: boolean): string {
  const { gap, overlap } = schedule.dst;
  const [comes, fires, does] = isPlural ? ['come', 'fire', 'do'] : ['comes', 'fires', 'does'];
  const moved = segment.offsetMs - segment.offsetBeforeMs;
  if (moved < 0) {
    const when = overlap === 'both' ? 'both times' : `the ${overlap} time only`;
    return `${comes} twice and ${fires} ${when}`;
  }
  const lost = `${does} not exist and`;
  if (gap === 'shift') return `${lost} ${fires} ${formatDuration(moved)} later`;
  if (gap === 'end') return `${lost} ${fires} at ${clock(segment.from + segment.offsetMs)}`;
  return `${lost} ${does} not fire`;
}

function changeOf(segment: ZoneSegment): ClockChange {
  const [low, high] = [segment.offsetBeforeMs, segment.offsetMs].sort((a, b) => a - b);
  return {
    at: new Date(segment.from),
    kind: segment.offsetMs > segment.offsetBeforeMs ? 'gap' : 'overlap',
    localFrom: formatWallClock(segment.from + low!),
    localTo: formatWallClock(segment.from + high!),
    offsetBefore: formatOffset(segment.offsetBeforeMs),
    offsetAfter: formatOffset(segment.offsetMs),
  };
}

/** The segments that begin in `[from, to)` with another offset than the one before. */
function segmentsOpening(timeZone: string, from: Date, to: Date): ZoneSegment[] {
  const zone = zoneOf(timeZone);
  const end = Math.min(to.getTime(), LATEST_MS);
  const found: ZoneSegment[] = [];
  let segment = zone.segmentAt(from.getTime());
  while (segment.from < end) {
    if (segment.from >= from.getTime() && segment.offsetMs !== segment.offsetBeforeMs) {
      found.push(segment);
    }
    if (segment.to >= end) break;
    segment = zone.segmentAt(segment.to);
  }
  return found;
}
