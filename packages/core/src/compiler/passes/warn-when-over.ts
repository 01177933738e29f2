import { nextFires } from '../../time/schedule/fires.js';
import type { Pass } from '../compilation.js';

/**
 * Warns about schedules that have no fire left: a one-shot whose instant is past, an `endAt` that is. Deployed for the first time
 * such a DAG never runs by itself, since a deploy owes nothing from before it. Only when the caller has said what time it is.
 */
export const warnWhenOver: Pass = ({ dags, problems, at }) => {
  if (at === undefined) return;
  for (const dag of dags) {
    const schedule = dag.settings?.schedule;
    if (schedule === undefined || nextFires(schedule, { after: at }).length > 0) continue;
    const end = schedule.kind === 'at' ? `at is ${schedule.at}` : `endAt is ${schedule.endAt}`;
    problems.add(dag.optionPlaces.get('schedule') ?? dag, {
      code: 'schedule-over',
      field: 'schedule',
      message: `has no fire left: ${end}, and now it is ${at.toISOString()}`,
      hint: 'If it has not run yet, run it by hand (flow run), or give it a later instant.',
    });
  }
};
