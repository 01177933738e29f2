import type { UpdateFilter } from 'mongodb';
import type { RunDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { moveTo, NOW } from '../task-transitions.js';
import type { QueuedRun } from './queued-run.js';
import { releasePlace } from './take-place.js';

/**
 * Takes an admitted run from `queued` to `running` and makes its roots ready: see admit-runs.ts. Each step is
 * repeatable. False when the run cannot start any more (closed, refused, cancelled, not due): its place is given back.
 */
export async function startRun(
  context: StoreContext,
  run: Pick<QueuedRun, '_id' | 'dagId' | 'backfillId'>,
): Promise<boolean> {
  const { runs } = context.collections;
  const moved = await runs.updateOne(
    {
      _id: run._id,
      state: 'queued',
      materialized: true,
      refused: null,
      cancelRequestedAt: null,
      $expr: { $lte: ['$dueAt', NOW] },
    },
    [{ $set: { state: 'running', startedAt: NOW } }] as unknown as UpdateFilter<RunDocument>,
  );
  if (moved.matchedCount === 0) {
    const seen = await runs.findOne({ _id: run._id }, { projection: { state: 1, started: 1 } });
    if (seen?.state !== 'running') {
      await releasePlace(context, run);
      return false;
    }
    // Another process admitted it, or this one before it died: what is missing is made up for.
    if (seen.started) return false;
  }
  await releaseRoots(context, run._id);
  return true;
}

/** Makes the roots of a running run ready and marks it started. */
export async function releaseRoots(context: StoreContext, runId: string): Promise<void> {
  const { runs, tasks } = context.collections;
  await tasks.updateMany(
    { runId, state: 'blocked', root: true },
    moveTo('ready') as unknown as UpdateFilter<TaskDocument>,
  );
  await runs.updateOne({ _id: runId, state: 'running' }, { $set: { started: true } });
}
