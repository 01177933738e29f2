/**
 * Cancellation. Authority: `cancelRequestedAt` of the run; once it is there the run ends `cancelled`.
 *
 * States: request on the run -> its waiting tasks `cancelled`, its running tasks flagged -> their holders abort and finish
 * (success is recorded, everything else becomes `cancelled`), or their leases expire and rescue cancels them -> nothing is
 * open -> the run closes. A task that changes sides between two of these writes is caught by the next round; the leader
 * repeats until nothing is open. Dying anywhere leaves the request, which continue-cancels.ts goes on with.
 */
import type { UpdateFilter } from 'mongodb';
import { NotFoundError } from '../../errors.js';
import { closedTaskStates, isClosedRun, type RunState } from '../../model/states.js';
import type { RunDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { NOW, settleStage } from '../task-transitions.js';
import { closeRun } from './close-run.js';
import { knownVersion } from './known-version.js';
import { materializeRuns } from './materialize-runs.js';

export async function cancelRun(
  context: StoreContext,
  runId: string,
  reason?: string,
): Promise<{ readonly state: RunState; readonly closed: boolean }> {
  const { runs } = context.collections;
  const run = await runs.findOne({ _id: runId }, { projection: { state: 1 } });
  if (run === null) {
    throw new NotFoundError(`There is no run ${runId}.`, {
      hint: 'flow runs lists the runs that are kept.',
    });
  }
  if (isClosedRun(run.state)) return { state: run.state, closed: true };
  await requestCancel(context, runId, reason);
  const after = await runs.findOne(
    { _id: runId },
    { projection: { state: 1, cancelRequestedAt: 1 } },
  );
  // It may have ended by itself before the request was written.
  const closed = after !== null && isClosedRun(after.state) && after.cancelRequestedAt === null;
  return { state: after?.state ?? 'cancelled', closed };
}

/** Writes the request, unless there is one or the run is closed, and carries it out as far as it goes. */
export async function requestCancel(
  context: StoreContext,
  runId: string,
  reason?: string,
): Promise<void> {
  const { runs } = context.collections;
  await runs.updateOne(
    { _id: runId, state: { $in: ['queued', 'running'] }, cancelRequestedAt: null, refused: null },
    [
      {
        $set: {
          cancelRequestedAt: NOW,
          cancelling: true,
          ...(reason === undefined ? {} : { reason: { $literal: reason } }),
        },
      },
    ] as unknown as UpdateFilter<RunDocument>,
  );
  await carryOutCancel(context, runId);
}

/** As many rounds as change something, and one more that finds nothing. */
const mostRounds = 5;

/** Cancels what waits, flags what runs, closes the run if nothing is open. Repeatable. */
export async function carryOutCancel(context: StoreContext, runId: string): Promise<void> {
  const { runs, tasks } = context.collections;
  const run = await runs.findOne({ _id: runId });
  if (run === null || run.cancelRequestedAt === null || isClosedRun(run.state)) return;
  if (!run.materialized) {
    const version = await knownVersion(context, run.dagId, run.version);
    await materializeRuns(context, [{ run, version }]);
  }
  for (let round = 0; round < mostRounds; round++) {
    const waiting = await tasks.updateMany(
      { runId, state: { $in: ['blocked', 'ready', 'delayed'] } },
      [
        { $set: { state: 'cancelled', cancelRequestedAt: NOW } },
        settleStage(),
      ] as unknown as UpdateFilter<TaskDocument>,
    );
    const running = await tasks.updateMany({ runId, state: 'running', cancelRequestedAt: null }, [
      { $set: { cancelRequestedAt: NOW } },
    ] as unknown as UpdateFilter<TaskDocument>);
    if (waiting.modifiedCount + running.modifiedCount === 0) break;
  }
  if (!(await closeRun(context, runId))) return;
  // Everything of the run is closed, so no dependent waits to be told. A retry takes the request away from what it resets:
  // whoever stood still before this write clears no mark of it.
  await tasks.updateMany(
    {
      runId,
      state: { $in: [...closedTaskStates] },
      propagated: false,
      cancelRequestedAt: { $ne: null },
    },
    { $set: { propagated: true } },
  );
}
