/**
 * Turning a queued scheduled run into a line of `fires`, because an overlap rule refuses it.
 *
 * States: queued -> marked `refused` (now nobody admits it) -> line in `fires` -> `slots` says `refused` (so that no
 * repetition of the fire makes it again) -> tasks and run removed. Whoever finds the mark goes on from there; each step
 * repeated changes nothing.
 */
import type { UpdateFilter } from 'mongodb';
import type { RunDocument, SlotDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { fireKey } from '../schedule/record-fires.js';
import { literal, NOW } from '../task-transitions.js';
import type { QueuedRun } from './queued-run.js';
import { repeatUpsert } from './repeat-upsert.js';

/** `insteadOf` is a run that holds a place. */
export async function refuseRun(
  context: StoreContext,
  run: QueuedRun,
  insteadOf: string | null,
): Promise<void> {
  const marked = await context.collections.runs.updateOne(
    // A run that was opened again is somebody's retry, and has a history: no rule refuses it.
    { _id: run._id, state: 'queued', refused: null, cancelRequestedAt: null, openEpoch: 0 },
    { $set: { refused: 'overlap' } },
  );
  if (marked.matchedCount === 1) await carryOut(context, run, insteadOf);
}

/** Completes refusals that died half-way. */
export async function finishRefusals(context: StoreContext, dagId: string): Promise<void> {
  const left = await context.collections.runs
    .find({ dagId, refused: 'overlap' })
    .limit(100)
    .toArray();
  for (const run of left) await carryOut(context, run, null);
}

async function carryOut(
  context: StoreContext,
  run: QueuedRun,
  insteadOf: string | null,
): Promise<void> {
  const { fires, slots, tasks, runs } = context.collections;
  const at = run.logicalDate ?? run.dueAt;
  const line = {
    _id: fireKey(run.dagId, at),
    to: at,
    count: 1,
    reason: 'overlap' as const,
    runId: insteadOf,
    at: await context.clock.fresh(),
  };
  // Two that refuse it at one moment meet in the line's id, and in the slot's.
  await repeatUpsert(() =>
    fires.updateOne({ dagId: run.dagId, from: at }, { $setOnInsert: line }, { upsert: true }),
  );
  const slot: Omit<SlotDocument, '_id' | 'closedAt'> = {
    dagId: run.dagId,
    slot: run.slot,
    runId: run._id,
    outcome: 'refused',
    logicalDate: run.logicalDate,
    dataInterval: null,
    generation: run.generation,
    coalesced: 1,
    openEpoch: 0,
    expireAt: null,
  };
  await repeatUpsert(() =>
    slots.updateOne(
      { _id: `${run.dagId}/${run.slot}` },
      [
        { $set: { closedAt: NOW } },
        { $replaceWith: { $mergeObjects: ['$$ROOT', literal(slot)] } },
      ] as unknown as UpdateFilter<SlotDocument>,
      { upsert: true },
    ),
  );
  await tasks.deleteMany({ runId: run._id });
  await runs.deleteOne({
    _id: run._id,
    state: 'queued',
    refused: 'overlap',
  } as Partial<RunDocument>);
}
