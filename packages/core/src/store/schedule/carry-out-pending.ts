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
import { isPassing } from '../driver-errors.js';
import { missedOfFire, recordMissed } from '../expectations/record-missed.js';
import { type BegunRuns, createRuns } from '../operations/create-run.js';
import type { CreateRunParams } from '../verbs/run-verbs.js';
import type { PendingDecision } from './pending-decision.js';
import { readVersion } from './read-version.js';
import { recordFires } from './record-fires.js';
import { afterPending } from './schedule-state.js';

/** A DAG as it was read, and the decision that is stored in it. */
export interface Decided {
  readonly dag: DagDocument;
  readonly pending: PendingDecision;
}

/** What is new: nothing that an earlier try had made counts. */
export interface CarriedOut {
  /** Runs, by the DAG that they are of. */
  readonly created: ReadonlyMap<string, number>;
  /** Fires that lines stand for. */
  readonly recorded: number;
  /** DAGs whose decision could not be carried out, and stands as it was. */
  readonly failed: ReadonlyMap<string, unknown>;
}

const runsAtOnce = 200;

/** Admits new runs. It may begin while their tasks are being made, and never throws. */
export type Admit = (begun: BegunRuns) => Promise<void>;

/**
 * {@link carryOutPending}, where no DAG may keep the others from their turn: what fails for all together for another reason than
 * that the database is away is done again for each by itself.
 */
export async function carryOutEach(
  context: StoreContext,
  decided: readonly Decided[],
  admit?: Admit,
): Promise<CarriedOut> {
  if (decided.length === 0) return { created: new Map(), recorded: 0, failed: new Map() };
  try {
    return await carryOutPending(context, decided, admit);
  } catch (error) {
    if (isPassing(error)) throw error;
    if (decided.length === 1) {
      const failed = new Map([[decided[0]!.dag._id, error]]);
      return { created: new Map(), recorded: 0, failed };
    }
  }
  const each: CarriedOut[] = [];
  for (const one of decided) each.push(await carryOutEach(context, [one], admit));
  return {
    created: new Map(each.flatMap(({ created }) => [...created])),
    recorded: each.reduce((sum, { recorded }) => sum + recorded, 0),
    failed: new Map(each.flatMap(({ failed }) => [...failed])),
  };
}

/**
 * Carries out the decisions of several DAGs, each step for all of them at once. New runs are admitted before the cursors are
 * moved: people wait for the one, nobody for the other. Throws when the database fails.
 */
export async function carryOutPending(
  context: StoreContext,
  decided: readonly Decided[],
  admit?: Admit,
): Promise<CarriedOut> {
  const created = new Map<string, number>();
  const failed = new Map<string, unknown>();
  // In the order of the decisions: run ids grow with time, and the oldest date is to be the oldest run.
  const wanted = decided.flatMap(({ dag, pending }) => runsOf(dag, pending));
  for (let from = 0; from < wanted.length; from += runsAtOnce) {
    const some = wanted.slice(from, from + runsAtOnce);
    const outcomes = await createRuns(context, some, admit);
    for (const [index, outcome] of outcomes.entries()) {
      const { dagId } = some[index]!;
      if ('error' in outcome) failed.set(dagId, outcome.error);
      else if (outcome.created) created.set(dagId, (created.get(dagId) ?? 0) + 1);
    }
  }
  const done = decided.filter(({ dag }) => !failed.has(dag._id));
  const lines = done.flatMap(({ dag, pending }) =>
    pending.lines.map(
      (line): FireRecord => ({ ...line, dagId: dag._id, runId: null, at: pending.decidedAt }),
    ),
  );
  const recorded = await recordFires(context, lines);
  for (const { dag, pending } of done) await recordMisses(context, dag, pending);
  await moveCursors(context, done);
  return { created, recorded, failed };
}

function runsOf(dag: DagDocument, pending: PendingDecision): CreateRunParams[] {
  return pending.runs.map((run) => ({
    dagId: dag._id,
    version: pending.version,
    slot: dateSlot(run.logicalDate),
    cause: run.cause,
    logicalDate: run.logicalDate,
    dataInterval: run.dataInterval,
    coalesced: run.coalesced,
    expectFrom: run.dueAt,
    ...(run.notBefore === null ? {} : { notBefore: run.notBefore }),
  }));
}

/** What was expected of fires that never become runs: once for each, whoever repeats it. */
async function recordMisses(
  context: StoreContext,
  dag: DagDocument,
  { missed = [], version }: PendingDecision,
): Promise<void> {
  if (missed.length === 0) return;
  const definition = await readVersion(context, { _id: dag._id, version });
  const keptMs = typeof definition === 'string' ? defaultKeptMs : definition.retention.runsMs;
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
      keptMs,
    );
  }
}

const defaultKeptMs = 30 * 86_400_000;

/** Step 3. Matches nothing where somebody else has moved the cursor: then that decision is done. */
async function moveCursors(context: StoreContext, done: readonly Decided[]): Promise<void> {
  if (done.length === 0) return;
  await context.collections.dags.bulkWrite(
    done.map(({ dag, pending }) => ({
      updateOne: {
        filter: {
          _id: dag._id,
          nextFireAt: dag.nextFireAt,
          scheduleRev: dag.scheduleRev,
          'pending.decidedAt': pending.decidedAt,
        },
        // Pauses and resumes make another revision, so the spans are those of the reading.
        update: { $set: afterPending(dag, pending) },
      },
    })),
    { ordered: false },
  );
}
