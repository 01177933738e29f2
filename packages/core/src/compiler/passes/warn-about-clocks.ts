import { clockMeetings } from '../../time/schedule/clock-changes.js';
import type { Pass } from '../compilation.js';

/** How far ahead of the given instant changes of clocks are looked for. */
const yearsAhead = 2;
/** A zone may have four changes a year; more than this is said in a number. */
const mostNamed = 8;

/**
 * Warns about schedules that name a local time which a change of clocks removes or repeats within two years, with the dates
 * and what will happen. Only when the caller has said what time it is: the compiler has no clock of its own.
 */
export const warnAboutClocks: Pass = ({ dags, problems, at }) => {
  if (at === undefined) return;
  const until = new Date(at);
  until.setUTCFullYear(until.getUTCFullYear() + yearsAhead);
  for (const dag of dags) {
    const schedule = dag.settings?.schedule;
    if (schedule === undefined) continue;
    const meetings = clockMeetings(schedule, at, until);
    if (meetings.length === 0) continue;
    const named = meetings
      .slice(0, mostNamed)
      .map(({ localFrom, effect }) => `${localFrom.slice(0, 10)}: ${effect}`);
    const rest = meetings.length - named.length;
    if (rest > 0) named.push(`and ${rest} more`);
    const times = meetings.length === 1 ? 'one change' : `${meetings.length} changes`;
    problems.add(dag.optionPlaces.get('schedule') ?? dag, {
      code: 'schedule-clock-change',
      field: 'schedule',
      message: `meets ${times} of clocks in ${schedule.timeZone} until ${until.toISOString().slice(0, 10)}:\n${named.join('\n')}`,
      hint: "If that is not meant, choose another hour, or say what should happen: dst: { gap: 'shift' | 'end' | 'skip', overlap: 'first' | 'second' | 'both' }.",
    });
  }
};
