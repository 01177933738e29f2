/**
 * The walk over the fires of a schedule, which everything else is built on.
 *
 * The real line is cut into the zone's segments of constant offset. Inside one, local times and instants are the same up to a
 * constant, so the calendar's matches are the fires. Only at the start of a segment something special happens: after a gap, the
 * local times that did not exist are moved in; after an overlap, those that come again are left out (or the first ones were).
 * No state is carried from fire to fire, so the walk gives the same answer from any starting point. It always ends: at `to`, at
 * the schedule's end, or after a century without a fire (the rarest possible date, 29 February on a given weekday, comes at
 * least every 40 years).
 */

import { DAY_MS, matchingDates, matchingHours } from '../cron/cron-calendar.js';
import { EARLIEST_MS } from '../zone/instant-text.js';
import { localOf } from '../zone/local-time.js';
import type { ZoneSegment } from '../zone/zone.js';
import type { ScheduleRules } from './schedule.js';

/** One fire of the calendar, before exclusion. */
export interface CalendarFire {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly isExcluded: boolean;
}

const SEARCH_MS = 100 * 366 * DAY_MS;

/** Fires in `[from, to)`, ascending, excluded ones marked. Instants in epoch milliseconds. */
export function* walkFires(
  rules: ScheduleRules,
  from: number,
  to: number,
): Generator<CalendarFire> {
  for (const fires of walkFireGroups(rules, from, to)) {
    for (const fire of fires) yield fire;
  }
}

/** As {@link walkFires}, in small groups (at most an hour of the calendar), which is several times faster for long walks. */
export function* walkFireGroups(
  rules: ScheduleRules,
  from: number,
  to: number,
): Generator<readonly CalendarFire[]> {
  const start = Math.max(Math.ceil(from), rules.startMs);
  const end = Math.min(to, rules.endMs);
  if (!(start < end)) return;
  const { schedule } = rules;
  if (schedule.kind === 'cron') yield* walkCron(rules, start, end);
  else if (schedule.kind === 'every') yield* walkEvery(rules, schedule.everyMs, start, end);
  else yield [{ at: start, isExcluded: false }];
}

/** Fires in `[from, before)`, descending. Cron is walked forward in stretches that are turned round, so it is the exact inverse. */
export function* walkFiresBack(
  rules: ScheduleRules,
  before: number,
  from = EARLIEST_MS,
): Generator<CalendarFire> {
  if (rules.schedule.kind === 'every') {
    yield* walkEveryBack(rules, rules.schedule.everyMs, before, from);
    return;
  }
  const shortest = stretchOf(rules);
  let end = Math.min(Math.ceil(before), rules.endMs);
  let oldest = Math.max(from, rules.startMs, end - SEARCH_MS);
  let stretch = shortest;
  while (end > oldest) {
    const start = Math.max(oldest, end - stretch);
    const fires = [...walkFires(rules, start, end)];
    // A stretch without a fire doubles, so that a date of every eighth year is found in a few steps.
    stretch = fires.length === 0 ? Math.min(stretch * 2, 512 * DAY_MS) : shortest;
    if (fires.length > 0) oldest = Math.max(from, rules.startMs, fires[0]!.at - SEARCH_MS);
    for (let index = fires.length - 1; index >= 0; index -= 1) yield fires[index]!;
    end = start;
  }
}

function stretchOf(rules: ScheduleRules): number {
  if (!rules.cron?.isEveryHour) return DAY_MS;
  return rules.cron.fields.seconds.length > 1 ? 60_000 : 3_600_000;
}

function* walkEvery(
  rules: ScheduleRules,
  everyMs: number,
  from: number,
  to: number,
): Generator<readonly CalendarFire[]> {
  const anchor = rules.anchorMs;
  for (let at = anchor + Math.ceil((from - anchor) / everyMs) * everyMs; at < to; at += everyMs) {
    yield [{ at, isExcluded: isExcluded(rules, at, undefined) }];
  }
}

/** Intervals are their own inverse: no need to walk forward first. */
function* walkEveryBack(
  rules: ScheduleRules,
  everyMs: number,
  before: number,
  from: number,
): Generator<CalendarFire> {
  const { anchorMs } = rules;
  const oldest = Math.max(from, rules.startMs);
  const end = Math.min(Math.ceil(before), rules.endMs);
  const last = anchorMs + (Math.ceil((end - anchorMs) / everyMs) - 1) * everyMs;
  for (let at = last; at >= oldest; at -= everyMs) {
    yield { at, isExcluded: isExcluded(rules, at, undefined) };
  }
}

function* walkCron(
  rules: ScheduleRules,
  from: number,
  to: number,
): Generator<readonly CalendarFire[]> {
  const { fields } = rules.cron!;
  let at = from;
  let end = Math.min(to, from + SEARCH_MS);
  while (at < end) {
    // Leap to just before the next matching date; two days cover the longest gap and the widest offset.
    const nextDate = first(matchingDates(fields, at - 2 * DAY_MS, end + 2 * DAY_MS));
    if (nextDate === undefined) return;
    at = Math.max(at, nextDate - 2 * DAY_MS);
    const segment = rules.zone.segmentAt(at);
    const segmentEnd = Math.min(segment.to, end);
    for (const fires of firesOfSegment(rules, segment, at, segmentEnd)) {
      yield fires;
      end = Math.min(to, fires.at(-1)!.at + SEARCH_MS);
    }
    at = Math.max(at, segmentEnd);
  }
}

/** Fires in `[from, to)`, which lies inside one segment. */
function* firesOfSegment(
  rules: ScheduleRules,
  segment: ZoneSegment,
  from: number,
  to: number,
): Generator<readonly CalendarFire[]> {
  const { offsetMs, offsetBeforeMs, offsetAfterMs } = segment;
  const { fields, isEveryHour } = rules.cron!;
  let start = from;
  let end = to;
  let moved: CalendarFire[] = [];
  if (!isEveryHour && rules.schedule.kind === 'cron') {
    const { gap, overlap } = rules.schedule.dst;
    if (offsetMs < offsetBeforeMs && overlap === 'first') {
      start = Math.max(start, segment.from + offsetBeforeMs - offsetMs);
    }
    if (offsetMs > offsetAfterMs && overlap === 'second') {
      end = Math.min(end, segment.to - (offsetMs - offsetAfterMs));
    }
    if (offsetMs > offsetBeforeMs && gap !== 'skip') moved = movedFires(rules, segment, from, to);
  }
  const hasExclusions = rules.excludedDays.size + rules.excludedInstants.size > 0;
  for (const locals of matchingHours(fields, start + offsetMs, end + offsetMs)) {
    const fires = locals.map((local) => {
      const at = local - offsetMs;
      return { at, isExcluded: hasExclusions && isExcluded(rules, at, local) };
    });
    const last = fires.at(-1)!.at;
    const due = moved.findIndex((fire) => fire.at > last);
    const merging = moved.splice(0, due === -1 ? moved.length : due);
    yield merging.length === 0 ? fires : merge(fires, merging);
  }
  if (moved.length > 0) yield moved;
}

/** Both lists as one, ascending; two fires on one instant are one, and it counts unless both are excluded. */
function merge(a: readonly CalendarFire[], b: readonly CalendarFire[]): CalendarFire[] {
  const merged: CalendarFire[] = [];
  for (const fire of [...a, ...b].sort((one, other) => one.at - other.at)) {
    const last = merged.at(-1);
    if (last?.at !== fire.at) merged.push(fire);
    else if (!fire.isExcluded) merged[merged.length - 1] = fire;
  }
  return merged;
}

/** The local times lost in the gap that opens `segment`, at the instants where they fire, if inside `[from, to)`. */
function movedFires(
  rules: ScheduleRules,
  segment: ZoneSegment,
  from: number,
  to: number,
): CalendarFire[] {
  const { offsetMs, offsetBeforeMs } = segment;
  const gap = offsetMs - offsetBeforeMs;
  if (from >= segment.from + gap) return [];
  const isToEnd = rules.schedule.kind === 'cron' && rules.schedule.dst.gap === 'end';
  const lost = matchingHours(
    rules.cron!.fields,
    segment.from + offsetBeforeMs,
    segment.from + offsetMs,
  );
  const fires = [...lost].flat().map((local) => {
    const at = isToEnd ? segment.from : local - offsetBeforeMs;
    return { at, isExcluded: isExcluded(rules, at, local) };
  });
  return merge(
    fires.filter(({ at }) => at >= from && at < to),
    [],
  );
}

/** `local` is the date-time that the schedule names: it decides the date, also when the fire was moved past midnight. */
function isExcluded(rules: ScheduleRules, at: number, local: number | undefined): boolean {
  if (rules.excludedInstants.has(at)) return true;
  if (rules.excludedDays.size === 0) return false;
  return rules.excludedDays.has(Math.floor((local ?? localOf(rules.zone, at)) / DAY_MS));
}

function first<T>(values: Iterable<T>): T | undefined {
  for (const value of values) return value;
  return undefined;
}
