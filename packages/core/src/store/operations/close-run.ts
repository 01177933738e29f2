/**
 * Ending a run. Authority: its tasks; a run may close when none of them is open, and a task that has not told its
 * dependents leaves them `blocked`, which is open.
 *
 * Order, and what a death leaves behind:
 *   the slot's outcome    `slots` outlives the run; written again by whoever closes the run;
 *   `expireAt` of tasks   they go before their run does; written again;
 *   the run               guarded by state, openEpoch and the cancellation that was looked at;
 *   its place             given back; else repair-places.ts pulls it;
 *   the backfill's count  raised once; else the next feeding does it (backfill/count-backfill-run.ts).
 * The task whose propagation closes the run carries `propagated: false` until all of this is done, so it is repeated.
 */
import type { UpdateFilter } from 'mongodb';
import { isClosedRun, openTaskStates, type RunState } from '../../model/states.js';
import { countBackfillRun } from '../backfill/count-backfill-run.js';
import type { RunDocument, SlotDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { isDuplicateKey } from '../driver-errors.js';
import { literal, NOW } from '../task-transitions.js';
import { knownVersion } from './known-version.js';
import { releasePlace } from './take-place.js';

type ClosedState = Extract<RunState, 'succeeded' | 'failed' | 'cancelled'>;

/** How long the slot of a client's key is remembered after its run closed. */
const keyMemoryMs = 30 * 24 * 3_600_000;

/** A wide run is asked for one open task first, a narrow one is counted at once. */
const narrow = 50;

/**
 * Closes the run if no task is open, and gives its place back. True when the run is closed, now or before. `seen` is the
 * run as it was just read.
 */
export async function closeRun(
  context: StoreContext,
  runId: string,
  seen?: RunDocument | null,
): Promise<boolean> {
  const { runs } = context.collections;
  // Once more when a cancellation came in between; a run cannot be closed from under an open task.
  for (let round = 0; round < 3; round++) {
    const run = round === 0 && seen !== undefined ? seen : await runs.findOne({ _id: runId });
    if (run === null) return true;
    let closed = run.state;
    if (!isClosedRun(run.state)) {
      const tally = await tallyTasks(context, run);
      if (tally === null) return false;
      const state = outcomeOf(run, tally);
      // A queued run closes by cancellation only.
      if (run.state === 'queued' && state !== 'cancelled') return false;
      if (!(await recordSlot(context, run, state))) continue;
      if (!(await endRun(context, run, state, tally.endedAt))) continue;
      closed = state;
    }
    await releasePlace(context, run);
    await countBackfillRun(context, { ...run, state: closed });
    return true;
  }
  return false;
}

interface Tally {
  readonly failed: number;
  readonly cancelled: number;
  readonly endedAt: Date | null;
}

/** Null while a task is open. */
async function tallyTasks(context: StoreContext, run: RunDocument): Promise<Tally | null> {
  const { tasks } = context.collections;
  const known = await knownVersion(context, run.dagId, run.version);
  if (known.definition.jobs.length > narrow) {
    const open = await tasks.findOne(
      { runId: run._id, state: { $in: [...openTaskStates] } },
      { projection: { _id: 1 } },
    );
    if (open !== null) return null;
  }
  const [tally] = await tasks
    .aggregate<{
      open: number;
      failed: number;
      cancelled: number;
      endedAt: Date | null;
      all: number;
    }>([
      { $match: { runId: run._id } },
      {
        $group: {
          _id: null,
          all: { $sum: 1 },
          open: { $sum: { $cond: [{ $in: ['$state', [...openTaskStates]] }, 1, 0] } },
          failed: {
            $sum: {
              $cond: [{ $and: [{ $eq: ['$state', 'failed'] }, { $not: ['$allowFailure'] }] }, 1, 0],
            },
          },
          cancelled: { $sum: { $cond: [{ $eq: ['$state', 'cancelled'] }, 1, 0] } },
          endedAt: { $max: '$endedAt' },
        },
      },
    ])
    .toArray();
  // Fewer tasks than jobs: the run is half made, so something is open.
  if (tally === undefined || tally.open > 0 || tally.all < known.definition.jobs.length)
    return null;
  return tally;
}

function outcomeOf(run: RunDocument, tally: Tally): ClosedState {
  if (run.cancelRequestedAt !== null) return 'cancelled';
  if (tally.failed > 0) return 'failed';
  // Without a request: a retry of some tasks of a cancelled run left the others as they were.
  return tally.cancelled > 0 ? 'cancelled' : 'succeeded';
}

/** False when a later opening of the run has written it already. */
async function recordSlot(
  context: StoreContext,
  run: RunDocument,
  outcome: ClosedState,
): Promise<boolean> {
  // A slot that only its run can name needs no memory.
  if (run.slot.startsWith('u:')) return true;
  const isKey = run.slot.startsWith('k:');
  const slot: Omit<SlotDocument, '_id' | 'closedAt' | 'expireAt'> = {
    dagId: run.dagId,
    slot: run.slot,
    runId: run._id,
    outcome,
    logicalDate: run.logicalDate,
    dataInterval: run.dataInterval,
    generation: run.generation,
    coalesced: run.coalesced,
    openEpoch: run.openEpoch,
    ...(run.part === undefined ? {} : { isPart: true as const }),
  };
  try {
    await context.collections.slots.updateOne(
      { _id: `${run.dagId}/${run.slot}`, openEpoch: { $lte: run.openEpoch } },
      [
        {
          $replaceWith: {
            $cond: [
              staysCancelled(run, outcome),
              '$$ROOT',
              {
                $mergeObjects: [
                  '$$ROOT',
                  { closedAt: NOW, expireAt: isKey ? { $add: [NOW, keyMemoryMs] } : null },
                  literal(slot),
                ],
              },
            ],
          },
        },
      ] as unknown as UpdateFilter<SlotDocument>,
      { upsert: true },
    );
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

/**
 * An opening that was cancelled stays so. Who counted its tasks before the request, and was late with this write, must not
 * undo what the others have recorded: its own end of the run fails afterwards.
 */
function staysCancelled(run: RunDocument, outcome: ClosedState): object | false {
  if (outcome === 'cancelled') return false;
  return {
    $and: [{ $eq: ['$openEpoch', run.openEpoch] }, { $eq: ['$outcome', 'cancelled'] }],
  };
}

async function endRun(
  context: StoreContext,
  run: RunDocument,
  state: ClosedState,
  endedAt: Date | null,
): Promise<boolean> {
  const { runs, tasks } = context.collections;
  const { definition } = await knownVersion(context, run.dagId, run.version);
  const expireAt = { $add: [NOW, definition.retention.runsMs] };
  await tasks.updateMany({ runId: run._id, expireAt: null }, [
    { $set: { expireAt } },
  ] as unknown as UpdateFilter<TaskDocument>);
  const ended = await runs.updateOne(
    {
      _id: run._id,
      state: run.state,
      openEpoch: run.openEpoch,
      cancelRequestedAt: run.cancelRequestedAt,
    },
    [
      {
        $set: {
          state,
          cancelling: false,
          expireAt,
          // The end of its last task; never after this write, whatever was read before.
          endedAt: endedAt === null ? NOW : { $min: [literal(endedAt), NOW] },
        },
      },
    ] as unknown as UpdateFilter<RunDocument>,
  );
  return ended.matchedCount === 1;
}
