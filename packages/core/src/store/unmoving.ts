/**
 * Questions whose answer is complete on a server that others write to meanwhile. A server goes through an index and lets others in
 * between; a document that matches before and after, and changes its place in that index during it, may be passed over or be met
 * twice. Ids never change, so by them each document is met once. For whatever concludes something from what was *not* found.
 */
import type { Filter } from 'mongodb';
import type { TaskDocument } from './collections.js';

/** As the hint of a query: by the ids. */
export const byId = { _id: 1 } as const;

/** All tasks of a run, by their ids, which begin with the run's. The index on the run also has the state, which changes. */
export function tasksOf(runId: string): Filter<TaskDocument> {
  // The slash, and the sign after it.
  return { _id: { $gt: `${runId}/`, $lt: `${runId}0` } };
}
