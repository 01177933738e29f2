/**
 * Noticing what runs were expected to do and did not: the leader watches, whoever runs their tasks, or nobody.
 *
 * Authority: `expects` of a run, written when it was made: what is expected, and by when. An entry is looked at once its
 * instant has passed by the database's clock, and judged by instants that the database wrote (the first attempt's start, the
 * run's end), so it does not matter when the look comes: a leader that was away for an hour judges as one that was not.
 *
 * States of an entry: waiting --its instant passes--> met: removed
 *                                                  -> missed: record written --> removed, and named in `missed` of the run
 * 1. The record, under an id made of the run and the kind.
 * 2. The entry goes, by a write that names it.
 * Dying between the two: the next look writes the same record again, which changes nothing, and does 2.
 *
 * Fires that never became runs have no entry: what they missed stands in the stored decision about them (carry-out-pending.ts).
 */
import type { Document, Filter } from 'mongodb';
import type { ExpectationKind } from '../../model/expectation.js';
import type { ExpectedDocument, RunDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { narrowTo } from '../server-time.js';
import { tasksOf } from '../unmoving.js';
import type { NoticeResult } from '../verbs/expectation-verbs.js';
import { missedOfRun, recordMissed } from './record-missed.js';

/** A write that carries an instant just before the limit may become visible a moment after it. */
const visibleMs = 250;

const beginning = new Date(0);
const dayMs = 86_400_000;

type WatchedRun = Pick<
  RunDocument,
  | '_id'
  | 'dagId'
  | 'version'
  | 'state'
  | 'cause'
  | 'logicalDate'
  | 'refused'
  | 'startedAt'
  | 'endedAt'
  | 'coalesced'
> & { readonly expects: readonly ExpectedDocument[]; readonly now: Date };

const fields: Document = {
  dagId: 1,
  version: 1,
  state: 1,
  cause: 1,
  logicalDate: 1,
  refused: 1,
  startedAt: 1,
  endedAt: 1,
  coalesced: 1,
  expects: 1,
  now: '$$NOW',
};

/** What becomes of an entry whose instant has passed. */
type Judgement = 'met' | 'missed' | 'dropped' | { readonly lookAgainAt: Date };

/**
 * Judges the entries whose instants have passed, of at most `limit` runs. Repeatable, by several processes at once: each
 * missed expectation is recorded once. `noticed` counts the new records.
 */
export async function noticeMissed(context: StoreContext, limit: number): Promise<NoticeResult> {
  const until = await narrowTo(context.clock);
  const runs = await context.collections.runs
    .aggregate<WatchedRun>([
      { $match: { 'expects.by': { $gt: beginning, $lte: until } } satisfies Filter<RunDocument> },
      { $sort: { 'expects.by': 1 } },
      { $limit: limit },
      { $project: fields },
    ])
    .toArray();
  let noticed = 0;
  for (const run of runs) {
    for (const entry of run.expects) {
      if (entry.by.getTime() + visibleMs > run.now.getTime()) continue;
      if (await settleEntry(context, run, entry)) noticed += 1;
    }
  }
  return { noticed, more: runs.length === limit && noticed > 0 };
}

/** True when a new record was written. */
async function settleEntry(
  context: StoreContext,
  run: WatchedRun,
  entry: ExpectedDocument,
): Promise<boolean> {
  const judgement = await judge(context, run, entry);
  const { runs } = context.collections;
  const named = {
    _id: run._id,
    expects: { $elemMatch: { kind: entry.kind, by: entry.by } },
  } as Filter<RunDocument>;
  if (typeof judgement === 'object') {
    await runs.updateOne(named, { $set: { 'expects.$.by': judgement.lookAgainAt } });
    return false;
  }
  const isNew = judgement === 'missed' && (await record(context, run, entry));
  await runs.updateOne(named, {
    $pull: { expects: { kind: entry.kind } },
    ...(judgement === 'missed' ? { $addToSet: { missed: entry.kind } } : {}),
  });
  return isNew;
}

async function judge(
  context: StoreContext,
  run: WatchedRun,
  { kind, by, ms }: ExpectedDocument,
): Promise<Judgement> {
  // Taken back on purpose: nothing is expected of it any more.
  if (run.state === 'cancelled' || run.refused !== null) return 'dropped';
  // A pause holds these back on purpose; what is expected begins anew when it is over.
  const isHeld = run.state === 'queued' && (run.cause === 'schedule' || run.cause === 'catch-up');
  if (isHeld && (await isPaused(context, run.dagId))) {
    return { lookAgainAt: new Date(run.now.getTime() + ms) };
  }
  switch (kind) {
    case 'start':
      return (await hasStartedBy(context, run._id, by)) ? 'met' : 'missed';
    case 'finish':
      return run.state === 'succeeded' && run.endedAt !== null && run.endedAt <= by
        ? 'met'
        : 'missed';
    case 'duration': {
      if (run.startedAt === null) return { lookAgainAt: new Date(run.now.getTime() + ms) };
      const limit = new Date(run.startedAt.getTime() + ms);
      if (run.endedAt !== null && run.endedAt <= limit) return 'met';
      return limit.getTime() + visibleMs > run.now.getTime() ? { lookAgainAt: limit } : 'missed';
    }
  }
}

/** A run has started with the first attempt of any of its tasks: being given a place is not enough. */
async function hasStartedBy(context: StoreContext, runId: string, by: Date): Promise<boolean> {
  const task = await context.collections.tasks.findOne(
    // A miss is written down for good: a task that changes its state meanwhile is not to be passed over.
    { ...tasksOf(runId), 'attempts.0.startedAt': { $lte: by } },
    { projection: { _id: 1 } },
  );
  return task !== null;
}

async function isPaused(context: StoreContext, dagId: string): Promise<boolean> {
  const dag = await context.collections.dags.findOne(
    { _id: dagId },
    { projection: { pausedAt: 1 } },
  );
  return dag !== null && dag.pausedAt !== null;
}

async function record(
  context: StoreContext,
  run: WatchedRun,
  { kind, by, ms }: ExpectedDocument,
): Promise<boolean> {
  const known = await context.versions.get(run.dagId, run.version);
  const expectedBy =
    kind === 'duration' && run.startedAt !== null ? new Date(run.startedAt.getTime() + ms) : by;
  return recordMissed(
    context,
    {
      id: missedOfRun(run._id, kind),
      dagId: run.dagId,
      kind: kind as ExpectationKind,
      runId: run._id,
      logicalDate: run.logicalDate,
      count: 1,
      expectedBy,
    },
    known?.definition.retention.runsMs ?? 30 * dayMs,
  );
}
