import type { RunDocument } from '../collections.js';

/** What admission reads of a run that waits for its place. */
export type QueuedRun = Pick<
  RunDocument,
  | '_id'
  | 'dagId'
  | 'version'
  | 'cause'
  | 'dueAt'
  | 'backfillId'
  | 'logicalDate'
  | 'dataInterval'
  | 'slot'
  | 'generation'
  | 'openEpoch'
>;
