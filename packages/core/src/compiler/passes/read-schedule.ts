import { parseSchedule } from '../../time/schedule/parse-schedule.js';
import type { Schedule } from '../../time/schedule/schedule.js';
import type { Field } from '../fields.js';

/** Reads `schedule` by the rules of time/; its problems get their subject here. */
export function readSchedule(field: Field): Schedule | undefined {
  if (field.value === undefined) return undefined;
  const { schedule, problems } = parseSchedule(field.value);
  const { cron } = Object(field.value) as { cron?: unknown };
  for (const { path, message, ...problem } of problems) {
    // A reader of the report may not have the file at hand: say which expression it is about.
    const quotes = path !== 'schedule.cron' || typeof cron !== 'string' || message.includes(cron);
    const said = quotes ? message : `${message}, in '${cron}'`;
    field.problems.add(field.subject, { ...problem, field: path, message: said });
  }
  return schedule;
}
