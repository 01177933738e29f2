/**
 * The least time between the starts of a DAG's catch-up runs (`misfire.spacing`).
 *
 * Authority: `lastCatchUp` of the DAG, which says which catch-up run was let start last, and when. A decision about misfires plans
 * the starts already; but a run may wait for its place longer than planned, and another outage makes other plans, so the
 * distance is kept where runs start. One conditional write by the database's clock takes the turn; the same run may ask again.
 * Dying after it costs one turn: the run, or the next one, starts a spacing later.
 */
import type { Filter, UpdateFilter } from 'mongodb';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { literal, NOW } from '../task-transitions.js';
import type { QueuedRun } from './queued-run.js';

/** True when the run may start now. Otherwise it is put off until the distance is kept. */
export async function spaceCatchUp(
  context: StoreContext,
  run: Pick<QueuedRun, '_id' | 'dagId'>,
  spacingMs: number,
): Promise<boolean> {
  const { dags, runs } = context.collections;
  const isMine = { $eq: ['$lastCatchUp.runId', literal(run._id)] };
  const isFarEnough = {
    $lte: [{ $add: [{ $ifNull: ['$lastCatchUp.at', new Date(0)] }, spacingMs] }, NOW],
  };
  const turn = await dags.updateOne(
    { _id: run.dagId, $expr: { $or: [isMine, isFarEnough] } } as Filter<DagDocument>,
    [
      {
        $set: {
          lastCatchUp: { $cond: [isMine, '$lastCatchUp', { runId: literal(run._id), at: NOW }] },
        },
      },
    ] as unknown as UpdateFilter<DagDocument>,
  );
  if (turn.matchedCount === 1) return true;
  const dag = await dags.findOne({ _id: run.dagId }, { projection: { lastCatchUp: 1 } });
  const last = dag?.lastCatchUp?.at;
  if (last === undefined) return false;
  const startAt = new Date(last.getTime() + spacingMs);
  await runs.updateOne(
    { _id: run._id, state: 'queued', refused: null },
    { $set: { notBefore: startAt, dueAt: startAt } },
  );
  return false;
}
