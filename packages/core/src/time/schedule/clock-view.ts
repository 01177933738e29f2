import { type ClockChange, clockChanges, clockMeetings } from './clock-changes.js';
import { type FireView, viewFire, viewNextFires } from './fire-view.js';
import { previousFires } from './fires.js';
import { toSchedule } from './parse-schedule.js';
import { rulesOf, type Schedule } from './schedule.js';
import type { ScheduleInput } from './schedule-input.js';

/** A coming change of clocks as `flow next --across-dst` shows it. */
export interface ClockChangeView extends ClockChange {
  /** What the schedule does with the local times that are lost or come twice. */
  readonly effect: string;
  /** Fires around it, ascending. */
  readonly fires: readonly FireView[];
}

/** A zone that changes no clocks for so long is taken to have given it up. */
const HORIZON_MS = 10 * 366 * 86_400_000;

/**
 * The next changes of the schedule's zone after an instant, each with the `fires` fires that lie around it: those before are
 * the smaller half. Default 2 changes with 5 fires. Empty for a zone without changes. Throws as `toSchedule` does.
 */
export function viewClockChanges(
  schedule: Schedule | ScheduleInput,
  options: { readonly after: Date; readonly count?: number; readonly fires?: number },
): ClockChangeView[] {
  const stored = toSchedule(schedule);
  const { after, count = 2, fires = 5 } = options;
  const from = new Date(after.getTime() + 1);
  const changes = clockChanges(stored.timeZone, from, new Date(after.getTime() + HORIZON_MS));
  return changes.slice(0, count).map((change) => {
    const before = previousFires(stored, { before: change.at, count: Math.floor(fires / 2) })
      .reverse()
      .map((date) => viewFire(stored, date));
    const justBefore = new Date(change.at.getTime() - 1);
    const later = viewNextFires(stored, { after: justBefore, count: fires - before.length });
    return { ...change, effect: effectOf(stored, change), fires: [...before, ...later] };
  });
}

function effectOf(schedule: Schedule, { at, kind }: ClockChange): string {
  const [meeting] = clockMeetings(schedule, at, new Date(at.getTime() + 1));
  if (meeting !== undefined) return meeting.effect;
  if (schedule.kind !== 'cron' || rulesOf(schedule).cron?.isEveryHour === true) {
    return 'the schedule follows real time: nothing is moved, left out or repeated';
  }
  return `no time of the schedule ${kind === 'gap' ? 'is lost' : 'comes twice'}`;
}
