import { jitterMsAt } from '../schedule/jitter.js';
import { rulesOf, type Schedule, type ScheduleRules } from '../schedule/schedule.js';
import { walkFires, walkFiresBack } from '../schedule/walk-fires.js';
import { LATEST_MS } from '../zone/instant-text.js';

/** One logical date with what decides about it. All instants in epoch milliseconds. */
export interface DueFire {
  readonly at: number;
  /** Logical date + jitter: when it comes due, and what grace and pauses count from. */
  readonly dueAt: number;
  readonly isExcluded: boolean;
  /** The calendar's next fire, excluded or not; undefined for the last. */
  readonly nextAt: number | undefined;
}

const DEFAULT_GRACE_MS = 60_000;
/** An explicit grace below the delay of a busy scheduler would turn each fire into a misfire. */
const LEAST_GRACE_MS = 1_000;

/**
 * The age at which a fire is a misfire: by default the lesser of 60 s and half the time to the next fire. A grace that is asked
 * for is never taken as less than 1 s (or half the time to the next fire, if that is less), since no fire is seen at age 0.
 */
export function graceMsOf(fire: DueFire, graceMs: number | undefined): number {
  const half = fire.nextAt === undefined ? Number.POSITIVE_INFINITY : (fire.nextAt - fire.at) / 2;
  if (graceMs === undefined) return Math.min(DEFAULT_GRACE_MS, half);
  return Math.max(graceMs, Math.min(LEAST_GRACE_MS, half));
}

/** Calendar fires from `from` on (included), ascending, without end but that of the schedule. */
export function* dueFiresFrom(
  rules: ScheduleRules,
  dagId: string,
  from: number,
): Generator<DueFire> {
  let last: { at: number; isExcluded: boolean } | undefined;
  for (const fire of walkFires(rules, from, LATEST_MS)) {
    if (last !== undefined) yield dueFire(rules, dagId, last, fire.at);
    last = fire;
  }
  if (last !== undefined) yield dueFire(rules, dagId, last, undefined);
}

/** Calendar fires with a logical date of at most `until`, descending. */
export function* dueFiresBack(
  rules: ScheduleRules,
  dagId: string,
  until: number,
): Generator<DueFire> {
  let nextAt: number | undefined;
  let isFirst = true;
  for (const fire of walkFiresBack(rules, until + 1)) {
    if (isFirst)
      for (const next of walkFires(rules, fire.at + 1, LATEST_MS)) {
        nextAt = next.at;
        break;
      }
    isFirst = false;
    yield dueFire(rules, dagId, fire, nextAt);
    nextAt = fire.at;
  }
}

function dueFire(
  rules: ScheduleRules,
  dagId: string,
  fire: { at: number; isExcluded: boolean },
  nextAt: number | undefined,
): DueFire {
  const dueAt = fire.at + jitterMsAt(rules, dagId, fire.at, nextAt);
  return { at: fire.at, dueAt, isExcluded: fire.isExcluded, nextAt };
}

/** Where a schedule's cursor starts or goes to: a logical date and the jitter after which it is due. */
export interface ScheduleCursor {
  readonly nextFireAt: Date;
  readonly nextJitterMs: number;
}

/**
 * The first fire whose logical date lies strictly after an instant: the cursor of a schedule that is deployed then and owes
 * nothing from before, not even a date whose jitter is not over. Excluded dates count, since they too are recorded when they come
 * due. Null when nothing is left.
 */
export function firstDateAfter(
  schedule: Schedule,
  dagId: string,
  instant: Date,
): ScheduleCursor | null {
  for (const fire of dueFiresFrom(rulesOf(schedule), dagId, instant.getTime() + 1)) {
    return { nextFireAt: new Date(fire.at), nextJitterMs: fire.dueAt - fire.at };
  }
  return null;
}

/** The first fire that comes due (its logical date and its jitter are over) strictly after an instant; null when none is left. */
export function firstFireAfter(
  schedule: Schedule,
  dagId: string,
  instant: Date,
): ScheduleCursor | null {
  const rules = rulesOf(schedule);
  const jitterMs = schedule.kind === 'at' ? 0 : (schedule.jitterMs ?? 0);
  for (const fire of dueFiresFrom(rules, dagId, instant.getTime() - jitterMs)) {
    if (fire.dueAt <= instant.getTime()) continue;
    return { nextFireAt: new Date(fire.at), nextJitterMs: fire.dueAt - fire.at };
  }
  return null;
}
