import type { UpdateFilter } from 'mongodb';
import { ConflictError, isFlowError } from '../../errors.js';
import type { Backfill } from '../../model/run.js';
import type { BackfillState } from '../../model/states.js';
import type { BackfillDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { cancelRun } from '../operations/cancel-run.js';
import { NOW } from '../task-transitions.js';
import { noSuchBackfill, toBackfill } from './backfill-reads.js';
import { endBackfill } from './count-backfill-run.js';

/**
 * Stops giving dates their turn; runs that are open go on. Idempotent. Throws NotFoundError, and ConflictError for a backfill
 * that has ended.
 */
export async function pauseBackfill(context: StoreContext, id: string): Promise<Backfill> {
  return toBackfill(await move(context, id, 'running', 'paused'));
}

/** Goes on where the pause stopped it. Idempotent. Throws as {@link pauseBackfill}. */
export async function resumeBackfill(context: StoreContext, id: string): Promise<Backfill> {
  return toBackfill(await move(context, id, 'paused', 'running'));
}

/**
 * Ends a backfill. Dates that had no turn count as cancelled, in the same write that stops the feeding; runs that wait for a
 * place are cancelled; runs that run go on, unless `running` asks to cancel them, too. Repeatable: a second call with
 * `running` cancels what the first one left. Throws NotFoundError, and ConflictError for a backfill that ended by itself.
 */
export async function cancelBackfill(
  context: StoreContext,
  id: string,
  options: { readonly running?: boolean } = {},
): Promise<Backfill> {
  const { backfills, runs } = context.collections;
  await backfills.updateOne({ _id: id, state: { $in: ['running', 'paused'] } }, [
    {
      $set: {
        state: 'cancelled',
        cancelled: { $add: ['$cancelled', { $subtract: ['$planned', '$cursor'] }] },
        cursor: '$planned',
        endedAt: NOW,
      },
    },
  ] as unknown as UpdateFilter<BackfillDocument>);
  const seen = await readState(context, id);
  if (seen.state !== 'cancelled') throw hasEnded(seen, 'cancelled');
  const open = await runs
    .find(
      {
        backfillId: id,
        state: { $in: options.running ? ['queued', 'running'] : ['queued'] },
        cancelRequestedAt: null,
      },
      { projection: { _id: 1 } },
    )
    .toArray();
  for (const run of open) {
    try {
      await cancelRun(context, run._id, `backfill ${id} was cancelled`);
    } catch (error) {
      // Gone meanwhile.
      if (!isFlowError(error, 'not-found')) throw error;
    }
  }
  // Removes the plan.
  await endBackfill(context, id);
  return toBackfill(await readState(context, id));
}

async function move(
  context: StoreContext,
  id: string,
  from: BackfillState,
  to: BackfillState,
): Promise<BackfillDocument> {
  const moved = await context.collections.backfills.findOneAndUpdate(
    { _id: id, state: from },
    [
      { $set: { state: to, ...(to === 'running' ? { resumedAt: NOW } : {}) } },
    ] as unknown as UpdateFilter<BackfillDocument>,
    { returnDocument: 'after' },
  );
  if (moved !== null) return moved;
  const seen = await readState(context, id);
  if (seen.state === to) return seen;
  throw hasEnded(seen, to === 'paused' ? 'paused' : 'resumed');
}

async function readState(context: StoreContext, id: string): Promise<BackfillDocument> {
  const backfill = await context.collections.backfills.findOne({ _id: id });
  if (backfill === null) throw noSuchBackfill(id);
  return backfill;
}

function hasEnded(backfill: BackfillDocument, what: string): ConflictError {
  return new ConflictError(
    `Backfill ${backfill._id} cannot be ${what}: it has ended (${backfill.state}).`,
    { hint: `flow backfill show ${backfill._id} tells how.` },
  );
}
