import type { UpdateFilter } from 'mongodb';
import type { RunDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { choose, NOW, settleStage } from '../task-transitions.js';
import type { RunOpening } from './place-key.js';
import type { QueuedRun } from './queued-run.js';
import { releasePlace } from './take-place.js';

/**
 * Takes an admitted run from `queued` to `running` and makes its roots ready: see admit-runs.ts. Each step is
 * repeatable. False when the run cannot start any more (closed, refused, cancelled, not due): its place is given back.
 */
export async function startRun(
  context: StoreContext,
  run: Pick<QueuedRun, '_id' | 'dagId' | 'backfillId' | 'openEpoch'>,
): Promise<boolean> {
  const { runs } = context.collections;
  const moved = await runs.updateOne(
    {
      _id: run._id,
      state: 'queued',
      openEpoch: run.openEpoch,
      materialized: true,
      refused: null,
      cancelRequestedAt: null,
      $expr: { $lte: ['$dueAt', NOW] },
    },
    [{ $set: { state: 'running', startedAt: NOW } }] as unknown as UpdateFilter<RunDocument>,
  );
  if (moved.matchedCount === 0) {
    const seen = await runs.findOne(
      { _id: run._id, openEpoch: run.openEpoch },
      { projection: { state: 1, started: 1 } },
    );
    if (seen?.state !== 'running') {
      await releasePlace(context, run);
      return false;
    }
    // Another process admitted it, or this one before it died: what is missing is made up for.
    if (seen.started) return false;
  }
  await releaseRoots(context, run);
  return true;
}

/**
 * Makes the roots of a running run ready and marks it started. In a retry, or a run of a part of the graph, the roots are the
 * tasks that wait for none of those that run; what the others have left them (a skip, say) decides them.
 */
export async function releaseRoots(context: StoreContext, run: RunOpening): Promise<void> {
  const { runs, tasks } = context.collections;
  const { _id, openEpoch } = run;
  await tasks.updateMany(
    openEpoch === 0
      ? { runId: _id, state: 'blocked', root: true, openEpoch: { $exists: false } }
      : { runId: _id, state: 'blocked', root: true, openEpoch },
    decided as unknown as UpdateFilter<TaskDocument>,
  );
  await runs.updateOne({ _id, openEpoch, state: 'running' }, { $set: { started: true } });
}

/** By what is known of the upstream tasks, all of which have reported: see propagate.ts. */
const decided = [
  {
    $set: {
      state: choose(
        [
          ['$upstream.failed', 'upstream-failed'],
          ['$upstream.cancelled', 'cancelled'],
          ['$upstream.skipped', 'skipped'],
        ],
        'ready',
      ),
    },
  },
  settleStage(),
];
