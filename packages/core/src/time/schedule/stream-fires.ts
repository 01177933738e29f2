import { fireBatches } from './fires.js';
import type { Schedule } from './schedule.js';
import type { ScheduleInput } from './schedule-input.js';

/**
 * The fires in `[from, to)`, ascending, without the excluded ones, in arrays of at most `size` (default 1,000). The event loop
 * has its turn between two arrays, however fast the consumer is: a year of minutes keeps no timer and no lease waiting for
 * longer than one array takes, a few milliseconds. Throws as `firesBetween` does.
 */
export async function* streamFires(
  schedule: Schedule | ScheduleInput,
  from: Date,
  to: Date,
  size = 1_000,
): AsyncGenerator<Date[]> {
  let isFirst = true;
  for (const fires of fireBatches(schedule, from, to, size)) {
    if (!isFirst) await new Promise<void>((resolve) => setImmediate(resolve));
    isFirst = false;
    yield fires;
  }
}
