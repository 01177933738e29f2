/**
 * Steps 2 and 3 of the cursor protocol (settle-schedule.ts): carries out a stored decision and moves the cursor.
 *
 * Authority: the decision as it is stored. Nothing here looks at a clock or a schedule. Each write is named by the decision
 * (slot, first logical date of a line, place of the cursor), so a death between any two of them is repaired by doing all of
 * it again, and a process that comes late finds everything done.
 */

import { dateSlot } from '../../model/ids.js';
import type { FireRecord } from '../../model/run.js';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { missedOfFire, recordMissed } from '../expectations/record-missed.js';
import { createRun } from '../operations/create-run.js';
import type { PendingDecision } from './pending-decision.js';
import { recordFires } from './record-fires.js';

/** Answers how many runs and lines are new: none of those that an earlier try had made. */
export async function carryOutPending(
  context: StoreContext,
  dag: DagDocument,
  pending: PendingDecision,
): Promise<{ readonly created: number; readonly recorded: number }> {
  let created = 0;
  // One after the other: run ids grow with time, and the oldest date is to be the oldest run.
  for (const run of pending.runs) {
    const result = await createRun(context, {
      dagId: dag._id,
      version: pending.version,
      slot: dateSlot(run.logicalDate),
      cause: run.cause,
      logicalDate: run.logicalDate,
      dataInterval: run.dataInterval,
      coalesced: run.coalesced,
      expectFrom: run.dueAt,
      ...(run.notBefore === null ? {} : { notBefore: run.notBefore }),
    });
    if (result.created) created += 1;
  }
  const lines = pending.lines.map(
    (line): FireRecord => ({ ...line, dagId: dag._id, runId: null, at: pending.decidedAt }),
  );
  const recorded = await recordFires(context, lines);
  await recordMisses(context, dag, pending);
  await moveCursor(context, dag, pending);
  return { created, recorded };
}

/** What was expected of fires that never become runs: once for each, whoever repeats it. */
async function recordMisses(
  context: StoreContext,
  dag: DagDocument,
  { missed = [], version }: PendingDecision,
): Promise<void> {
  if (missed.length === 0) return;
  const known = await context.versions.get(dag._id, version);
  for (const { kind, from, count, by } of missed) {
    await recordMissed(
      context,
      {
        id: missedOfFire(dag._id, kind, from),
        dagId: dag._id,
        kind,
        runId: null,
        logicalDate: from,
        count,
        expectedBy: by,
      },
      known?.definition.retention.runsMs ?? defaultKeptMs,
    );
  }
}

const defaultKeptMs = 30 * 86_400_000;

/** Step 3. Matches nothing when somebody else has moved it: then this decision is done. */
async function moveCursor(
  context: StoreContext,
  dag: DagDocument,
  pending: PendingDecision,
): Promise<void> {
  await context.collections.dags.updateOne(
    {
      _id: dag._id,
      nextFireAt: dag.nextFireAt,
      scheduleRev: dag.scheduleRev,
      'pending.decidedAt': pending.decidedAt,
    },
    {
      $set: {
        nextFireAt: pending.next,
        nextJitterMs: pending.nextJitterMs,
        carry: pending.carry,
        broken: pending.broken,
        pending: null,
      },
      // Spans that the cursor has passed decide nothing any more. (`to: null`, the open one, compares with no date.)
      $pull: { pausedSpans: { to: { $lte: pending.next ?? endOfTime } } },
    },
  );
}

const endOfTime = new Date(8_640_000_000_000_000);
