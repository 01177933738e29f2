import { LATEST_MS } from '../zone/instant-text.js';
import { rulesOf, type Schedule, type ScheduleRules } from './schedule.js';
import { walkFires } from './walk-fires.js';

/**
 * By how many milliseconds the run of a fire is held back after its logical date: 0 without `jitter`, else a number from 0 to
 * `jitterMs` that depends on nothing but the DAG and the date, so every leader and every restart finds the same.
 *
 * It stays below half the time to the next fire, so that due instants keep the order of the logical dates.
 */
export function jitterOf(schedule: Schedule, dagId: string, logicalDate: Date): number {
  if (schedule.kind === 'at' || schedule.jitterMs === undefined) return 0;
  const at = logicalDate.getTime();
  return jitterMsAt(rulesOf(schedule), dagId, at, nextCalendarFire(rulesOf(schedule), at));
}

/** As {@link jitterOf}, for a caller that knows the next calendar fire already (undefined when there is none). */
export function jitterMsAt(
  rules: ScheduleRules,
  dagId: string,
  at: number,
  nextAt: number | undefined,
): number {
  const { schedule } = rules;
  const jitterMs = schedule.kind === 'at' ? undefined : schedule.jitterMs;
  if (!jitterMs) return 0;
  const limit = nextAt === undefined ? jitterMs : Math.ceil((nextAt - at) / 2) - 1;
  return Math.floor(fractionOf(`${dagId}/${at}`) * (Math.min(jitterMs, limit) + 1));
}

/** The first calendar fire after `at`, excluded or not. */
export function nextCalendarFire(rules: ScheduleRules, at: number): number | undefined {
  for (const fire of walkFires(rules, at + 1, LATEST_MS)) return fire.at;
  return undefined;
}

/** A number in [0, 1) that is spread evenly over texts: FNV-1a, finished with the mixing steps of MurmurHash3. */
function fractionOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
