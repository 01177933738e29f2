import type { RunDocument } from '../collections.js';

/** What names one opening of a run. */
export type RunOpening = Pick<RunDocument, '_id' | 'openEpoch'>;

/**
 * What stands for a run in `activeRunIds` and `openRunIds`: its id, and from its second opening on the number of that
 * opening. So whoever stood still while closing a run cannot give back, or count, what a retry of it took since.
 */
export function placeKey(run: RunOpening): string {
  return run.openEpoch === 0 ? run._id : `${run._id}#${run.openEpoch}`;
}

/** The opening behind a key. */
export function openingOf(key: string): RunOpening {
  const at = key.indexOf('#');
  if (at < 0) return { _id: key, openEpoch: 0 };
  return { _id: key.slice(0, at), openEpoch: Number(key.slice(at + 1)) };
}
