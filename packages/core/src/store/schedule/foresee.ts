/**
 * Deciding before the instant. A fire is late by what is done after it is due, so the reading and the deciding are done before:
 * as they will be when the fire is seen in time. Only the storing of the decision waits, and is guarded as ever (settle-schedule.ts):
 * by the cursor, its revision and the version, by "due" against the server's clock, and besides by "not later than presumed".
 *
 * What is foreseen is kept in memory, once, by the process that hopes to act on it. It dies with the process, or is dropped: then
 * the fire is settled in the usual way.
 */
import type { StoreContext } from '../context.js';
import type { Decided } from './carry-out-pending.js';
import { readMatching } from './dag-cursor.js';
import { damageOf } from './dag-damage.js';
import { decidePending } from './decide-pending.js';
import { live } from './find-due-dags.js';
import type { PendingDecision } from './pending-decision.js';
import { readVersion } from './read-version.js';
import { isForDeciding } from './schedule-state.js';

/** Decisions that hold from `dueAt` until before `untilAt`, by the server's clock. */
export interface Foreseen {
  readonly dueAt: Date;
  readonly untilAt: Date;
  readonly decided: readonly Decided[];
}

/** Who looks later than this decides anew: much longer than a tick takes to come, much shorter than the least grace. */
const usualPresumptionMs = 250;

const mostDags = 200;

/** Half of what a reading of the server's clock lasts: it is refreshed now rather than when the fire is due. */
const clockAgeMs = 5_000;

const foreseenBy = new WeakMap<StoreContext, Foreseen>();

/** See {@link DagVerbs.foresee}. */
export async function foresee(
  context: StoreContext,
  dueAt: Date,
  presumedMs = usualPresumptionMs,
): Promise<void> {
  foreseenBy.delete(context);
  // Not in the moment either.
  await context.clock.fresh(clockAgeMs);
  const readings = await readMatching(context, [
    // A fire that is due then has a date before it, or has it as its date.
    { $match: { ...live, nextFireAt: { $lte: dueAt }, pending: null } },
    { $sort: { nextFireAt: 1 } },
    { $limit: mostDags },
  ]);
  const ours = readings.filter(
    ({ dag }) =>
      damageOf(dag) === null &&
      dag.carry === null &&
      isForDeciding(dag, dueAt, 'due') &&
      dag.nextFireAt!.getTime() + dag.nextJitterMs === dueAt.getTime(),
  );
  await context.versions.warm(ours.map(({ dag }) => dag));
  const untilAt = new Date(dueAt.getTime() + presumedMs);
  const decided: Decided[] = [];
  for (const { dag } of ours) {
    const definition = await readVersion(context, dag);
    const pending = decidePending(dag, definition, dueAt, 'due');
    if (isPlain(pending) && isAlone(pending, presumedMs, untilAt)) decided.push({ dag, pending });
  }
  if (decided.length > 0) foreseenBy.set(context, { dueAt, untilAt, decided });
}

/** One run in time, and nothing else. */
function isPlain({ runs, lines, broken, carry }: PendingDecision): boolean {
  if (broken !== null || carry !== null || lines.length > 0) return false;
  return runs.length === 1 && runs[0]!.cause === 'schedule';
}

/** Nothing else comes due while the presumption holds, and it ends before any grace can: see {@link graceMsOf}. */
function isAlone({ from, next }: PendingDecision, presumedMs: number, untilAt: Date): boolean {
  if (next === null) return true;
  return next >= untilAt && next.getTime() - from.getTime() >= 2 * presumedMs;
}

/** What was foreseen for the present, once; null when there is nothing, or its time is not now. */
export function takeForeseen(context: StoreContext): Foreseen | null {
  const foreseen = foreseenBy.get(context);
  if (foreseen === undefined) return null;
  const now = context.clock.estimate();
  if (now < foreseen.dueAt) return null;
  foreseenBy.delete(context);
  return now < foreseen.untilAt ? foreseen : null;
}
