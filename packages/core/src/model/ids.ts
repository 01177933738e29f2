import { OptionError } from '../errors.js';

const idPattern = /^[a-z0-9][a-z0-9-]{0,99}$/;
const maxKeyLength = 200;

/** True for a legal id of a DAG or job: lower-case letters, digits and hyphens, at most 100 characters. */
export function isId(text: string): boolean {
  return idPattern.test(text);
}

/** The kebab-case id of a class name: `NightlySales` -> `nightly-sales`, `HTTPCheck2` -> `http-check2`. */
export function idOfClassName(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1-$2')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .toLowerCase();
}

/** The id of a task: run id / job id. */
export function taskId(runId: string, jobId: string): string {
  return `${runId}/${jobId}`;
}

/** The slot of a scheduled, catch-up or backfill run: its logical date (UTC) and generation, from 0. */
export function dateSlot(logicalDate: Date, generation = 0): string {
  return `d:${logicalDate.toISOString()}/${generation}`;
}

/** The slot of a run triggered under a client's key; at most 200 characters. Throws {@link OptionError}. */
export function keySlot(key: string): string {
  if (typeof key !== 'string' || key.length === 0 || key.length > maxKeyLength) {
    throw new OptionError('key', `text of 1 to ${maxKeyLength} characters`, key);
  }
  return `k:${key}`;
}

/** The slot of a run that nothing else names: a ULID. */
export function uniqueSlot(ulid: string): string {
  return `u:${ulid.toLowerCase()}`;
}

/** What a runner must have to run a task of this job: see `serveKeyOf` in the compiler. */
export type ServeKey = string;

/** No id begins with it. */
const backfillMark = '~';

/** The pool of a claim query: queue and DAG. The tasks of backfills stand in pools of their own. */
export function poolOf(queue: string, dagId: string, isBackfill = false): string {
  return `${isBackfill ? backfillMark : ''}${queue}/${dagId}`;
}

/** True for a pool that holds nothing but tasks of backfills. */
export function isBackfillPool(pool: string): boolean {
  return pool.startsWith(backfillMark);
}
