import type { Check } from './check.js';
import { clock } from './clock.js';
import { database } from './database.js';
import { indexes } from './indexes.js';
import { invariants } from './invariants.js';
import { owedWork } from './owed-work.js';
import { runners } from './runners.js';
import { schedules } from './schedules.js';
import { servedJobs } from './served-jobs.js';

/** In this order: what a later one finds may only follow from an earlier one. */
export const checks: readonly Check[] = [
  database,
  indexes,
  clock,
  schedules,
  runners,
  servedJobs,
  owedWork,
  invariants,
];
