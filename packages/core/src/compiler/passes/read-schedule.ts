import { parseSchedule } from '../../time/schedule/parse-schedule.js';
import type { Schedule } from '../../time/schedule/schedule.js';
import type { Field } from '../fields.js';

/** Reads `schedule` by the rules of time/; its problems get their subject here. */
export function readSchedule(field: Field): Schedule | undefined {
  if (field.value === undefined) return undefined;
  const { schedule, problems } = parseSchedule(field.value);
  for (const { path, ...problem } of problems) {
    field.problems.add(field.subject, { ...problem, field: path });
  }
  return schedule;
}
