/** Ways in which one simulated DAG may be defined: a few schedules, and every policy. */
import type { DagDefinition } from '../../../packages/core/src/model/definition.js';
import { calendars } from './calendars.ts';
import type { Variant } from './judge.ts';
import type { Random } from './random.ts';

const minute = 60_000;
const hour = 60 * minute;

export const onResumes = ['skip', 'latest', 'all'] as const;

export function variantsOf(id: string, random: Random): Variant[] {
  const few = [random.pick(calendars), random.pick(calendars)];
  return Array.from({ length: 8 }, () => {
    const calendar = random.pick(few);
    const policy = random.pick(['coalesce', 'catch-up', 'skip'] as const);
    const misfire: DagDefinition['misfire'] = {
      policy,
      maxCatchUp: policy === 'catch-up' ? random.pick([1, 10, 40, 100]) : 100,
      ...(random.chance(0.3) ? { graceMs: random.pick([1_000, 5 * minute, hour]) } : {}),
      ...(policy === 'catch-up' && random.chance(0.3)
        ? { windowMs: random.pick([6 * hour, 48 * hour]) }
        : {}),
    };
    const definition: DagDefinition = {
      schema: 1,
      id,
      schedule: calendar.schedule,
      misfire,
      onResume: random.pick(onResumes),
      overlap: 'queue',
      maxActiveRuns: 1,
      maxQueuedRuns: 100,
      retention: { runsMs: 24 * hour, logsMs: 24 * hour },
      jobs: [],
    };
    return { calendar, definition };
  });
}
