/**
 * Taking a DAG out of everybody's way whose schedule cannot go on: what is stored of it is damaged, or a decision in it can
 * never be carried out. It is marked `broken`, which `flow dags` shows, until it is deployed again.
 *
 * The cursor protocol (settle-schedule.ts) stays as it is: where something is due, the mark comes with a decision, which one
 * compare-and-set puts in the place of what was there, and which is carried out like any other. Dying before it changes nothing;
 * dying after it leaves a decision that whoever looks next carries out. The write names what was read, so a deploy that mended
 * the DAG meanwhile stands.
 */
import type { Filter } from 'mongodb';
import { dateSlot } from '../../model/ids.js';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import type { Decided } from './carry-out-pending.js';
import { type DagReading, isDue } from './dag-cursor.js';
import { soundScheduleOf } from './dag-damage.js';
import { brokenDecision, withoutRuns } from './decide-pending.js';

/**
 * Marks the DAG, and puts what is damaged of its schedule right. Where the fire at the cursor is due, the answer is a decision
 * that is to be carried out now, and the mark comes with it. Null: somebody else changed the DAG since it was read.
 */
export async function markBroken(
  context: StoreContext,
  { dag, now }: DagReading,
  reason: string,
): Promise<Decided | 'marked' | null> {
  const sound = soundScheduleOf(dag);
  const mended = { ...dag, ...sound, pending: null };
  const isOwed = dag.state === 'active' && sound.pausedAt === null && isDue(sound, now);
  const pending = isOwed ? await writtenDown(context, mended, now, reason) : null;
  const { matchedCount } = await context.collections.dags.updateOne(asRead(dag), {
    $set:
      pending === null
        ? { ...sound, carry: null, pending: null, broken: reason }
        : { ...sound, pending },
  });
  if (matchedCount === 0) return null;
  return pending === null ? 'marked' : { dag: mended, pending };
}

/** The fire at the cursor as a line, unless a decision that is lost now has made a run of it. */
async function writtenDown(context: StoreContext, dag: DagDocument, now: Date, reason: string) {
  const decision = brokenDecision(dag, now, reason);
  const made = await madeOf(context, dag._id, [decision.from]);
  if (made.size === 0) return decision;
  const isOther = ({ from }: { from: Date }) => from.getTime() !== decision.from.getTime();
  return { ...decision, lines: decision.lines.filter(isOther) };
}

/**
 * Puts a decision that can be carried out in the place of one that cannot: what has a run keeps it, everything else is written
 * down, and the DAG is broken after it. Null: somebody else was faster.
 */
export async function giveUpPending(
  context: StoreContext,
  { dag, pending }: Decided,
  reason: string,
): Promise<Decided | null> {
  const dates = pending.runs.map((run) => run.logicalDate);
  const made = await madeOf(context, dag._id, dates);
  const left = withoutRuns(pending, (run) => made.has(dateSlot(run.logicalDate)), reason);
  const { matchedCount } = await context.collections.dags.updateOne(
    { ...asRead(dag), 'pending.decidedAt': pending.decidedAt },
    { $set: { pending: left } },
  );
  return matchedCount === 0 ? null : { dag, pending: left };
}

/** Slots of these dates that have a run, or had one. */
export async function madeOf(
  context: StoreContext,
  dagId: string,
  dates: readonly Date[],
): Promise<Set<string>> {
  const { runs, slots } = context.collections;
  const wanted = dates.map((date) => dateSlot(date));
  const projection = { slot: 1 } as const;
  const found = [
    ...(await runs.find({ dagId, slot: { $in: wanted } }, { projection }).toArray()),
    ...(await slots
      .find({ _id: { $in: wanted.map((slot) => `${dagId}/${slot}`) } }, { projection })
      .toArray()),
  ];
  return new Set(found.map(({ slot }) => slot));
}

/** The DAG, where it stands as it was read. */
function asRead(dag: DagDocument): Filter<DagDocument> {
  const { _id, version, scheduleRev, nextFireAt } = dag;
  const pending = dag.pending as unknown;
  return {
    _id,
    version,
    scheduleRev,
    nextFireAt: nextFireAt ?? null,
    broken: dag.broken ?? null,
    ...(typeof pending === 'object' && pending !== null
      ? { 'pending.decidedAt': (pending as { decidedAt?: Date }).decidedAt ?? null }
      : { pending: (pending ?? null) as null }),
  };
}
