/** The tasks of new runs: see create-run.ts for the protocol that this is a step of. */
import { poolOf, taskId } from '../../model/ids.js';
import type { RunDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { duplicatesOf } from '../driver-errors.js';
import { feedsOf, isWideJoin } from '../fan-in.js';
import type { KnownVersion } from '../version-cache.js';
import { leaveOutTasks } from './leave-out-tasks.js';

const tasksPerInsert = 1_000;

/** The fields of a run that its tasks are made from. */
export type RunSeed = Pick<
  RunDocument,
  '_id' | 'dagId' | 'version' | 'cause' | 'logicalDate' | 'dataInterval' | 'priority' | 'part'
>;

/** A run with the version that it runs. */
export interface Seeded {
  readonly run: RunSeed;
  readonly version: KnownVersion;
}

/** Inserts the tasks that are missing and marks the runs. Repeatable, by several processes at once. */
export async function materializeRuns(
  context: StoreContext,
  seeded: readonly Seeded[],
): Promise<void> {
  if (seeded.length === 0) return;
  await insertTasks(context, seeded);
  await markMaterialized(
    context,
    seeded.map(({ run }) => run._id),
  );
}

/** The first half of {@link materializeRuns}. */
export async function insertTasks(context: StoreContext, seeded: readonly Seeded[]): Promise<void> {
  let documents: TaskDocument[] = [];
  const flush = async () => {
    if (documents.length > 0) await insertMissing(context, documents);
    documents = [];
  };
  for (const { run, version } of seeded) {
    if (run.part === undefined) {
      for (let order = 0; order < version.definition.jobs.length; order++) {
        documents.push(newTask(run, version, order));
        if (documents.length === tasksPerInsert) await flush();
      }
    } else {
      const whole = version.definition.jobs.map((_, order) => newTask(run, version, order));
      documents.push(...(await leaveOutTasks(context, run.part, version, whole)));
    }
  }
  await flush();
}

/** The second half of {@link materializeRuns}, when all tasks are there. */
export async function markMaterialized(
  context: StoreContext,
  ids: readonly string[],
): Promise<void> {
  const { runs, tasks } = context.collections;
  // The driver tries a write of one document again when its answer is lost.
  const marked =
    ids.length === 1
      ? await runs.updateOne({ _id: ids[0]! }, { $set: { materialized: true } })
      : await runs.updateMany({ _id: { $in: ids } }, { $set: { materialized: true } });
  if (marked.matchedCount === ids.length) return;
  // An overlap rule refused and removed a run while this process stood still: leave no orphans.
  const left = await runs.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
  const there = new Set(left.map((run) => run._id));
  const gone = ids.filter((id) => !there.has(id));
  await tasks.deleteMany({ runId: { $in: gone }, state: 'blocked' });
}

async function insertMissing(
  context: StoreContext,
  documents: readonly TaskDocument[],
): Promise<void> {
  try {
    await context.collections.tasks.insertMany(documents, { ordered: false });
  } catch (error) {
    duplicatesOf(error);
  }
}

function newTask(run: RunSeed, version: KnownVersion, order: number): TaskDocument {
  const job = version.definition.jobs[order]!;
  const feeds = feedsOf(job.id, version);
  return {
    _id: taskId(run._id, job.id),
    runId: run._id,
    dagId: run.dagId,
    version: run.version,
    jobId: job.id,
    order,
    state: 'blocked',
    serveKey: job.serveKey,
    pool: poolOf(job.queue, run.dagId, run.cause === 'backfill'),
    priority: job.priority + run.priority,
    cause: run.cause,
    logicalDate: run.logicalDate,
    dataInterval: run.dataInterval,
    root: job.dependsOn.length === 0,
    pending: isWideJoin(job) ? null : job.dependsOn.map((id) => ({ job: id, generation: 0 })),
    ...(feeds.length === 0 ? {} : { feeds }),
    upstream: { failed: false, skipped: false, cancelled: false },
    readyAt: null,
    delayedUntil: null,
    lease: null,
    token: 0,
    attempts: [],
    failures: 0,
    losses: 0,
    onLost: job.onLost,
    maxLost: job.maxLost,
    allowFailure: job.allowFailure,
    cancelRequestedAt: null,
    propagated: true,
    result: null,
    error: null,
    progress: null,
    startedAt: null,
    endedAt: null,
    generation: 0,
    expireAt: null,
  };
}
