import { ConflictError } from '../../errors.js';

/** So often is a compare-and-set tried again; each failure means that another process got something done. */
export const maxTries = 100;

/** What a change says that lost its compare-and-set again and again. */
export function busy(dagId: string, what: string): ConflictError {
  return new ConflictError(
    `DAG "${dagId}" could not be ${what}: other processes kept changing it. Try again.`,
    { retryable: true },
  );
}
