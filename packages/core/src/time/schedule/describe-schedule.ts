import cronstrue from 'cronstrue';
import { CRON_NAMES } from '../cron/parse-cron.js';
import { formatDuration } from '../duration.js';
import { toSchedule } from './parse-schedule.js';
import { rulesOf, type Schedule } from './schedule.js';
import type { ScheduleInput } from './schedule-input.js';

/**
 * A schedule in words: `At 02:00 (Europe/Paris)`, `Every 5m from 2026-01-01T00:00:00.000Z`. Cron in words is cronstrue's,
 * except where both day fields are restricted: cronstrue joins them as if both had to match, so the two are described apart.
 * Throws as {@link toSchedule} does.
 */
export function describe(schedule: Schedule | ScheduleInput): string {
  const stored = toSchedule(schedule);
  if (stored.kind === 'at') return `Once at ${stored.at} (${stored.timeZone})`;
  const parts: string[] = [];
  if (stored.kind === 'every') {
    parts.push(`Every ${formatDuration(stored.everyMs)}`);
    if (stored.startAt !== undefined) parts.push(`from ${stored.startAt}`);
  } else {
    parts.push(`${describeCron(stored.cron, stored)} (${stored.timeZone})`);
    if (stored.startAt !== undefined) parts.push(`from ${stored.startAt}`);
  }
  if (stored.endAt !== undefined) parts.push(`until ${stored.endAt}`);
  if (stored.jitterMs !== undefined) parts.push(`up to ${formatDuration(stored.jitterMs)} later`);
  if (stored.exclude !== undefined) {
    parts.push(`except ${stored.exclude.length} date${stored.exclude.length === 1 ? '' : 's'}`);
  }
  return parts.join(', ').replace(', from', ' from');
}

function describeCron(cron: string, schedule: Schedule): string {
  const expression = CRON_NAMES[cron] ?? cron;
  const { anyDayOfMonth, anyDayOfWeek, daysOfMonth, daysOfWeek } = rulesOf(schedule).cron!.fields;
  // A field such as `*/1` or `0-7` is restricted by its letters only. One such field is enough where either of two may match.
  const isDaily =
    (!anyDayOfMonth && daysOfMonth.length === 31) || (!anyDayOfWeek && daysOfWeek.length === 7);
  if (isDaily) return inWords(everyDay(expression));
  if (anyDayOfMonth || anyDayOfWeek) return inWords(expression);
  const words = expression.split(' ');
  const byDate = [...words.slice(0, -1), '*'].join(' ');
  const byWeekday = [...words.slice(0, -3), '*', ...words.slice(-2)].join(' ');
  const other = inWords(byWeekday);
  return `${inWords(byDate)}; or ${other.charAt(0).toLowerCase()}${other.slice(1)}`;
}

/** The expression without its day fields. */
function everyDay(expression: string): string {
  const words = expression.split(' ');
  return [...words.slice(0, -3), '*', words.at(-2), '*'].join(' ');
}

function inWords(expression: string): string {
  return cronstrue.toString(expression, { use24HourTimeFormat: true, verbose: false });
}
