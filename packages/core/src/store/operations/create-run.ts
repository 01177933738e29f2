/**
 * Making a run. Authority: the unique index on (DAG, slot), and `slots`, which remembers slots whose runs are gone.
 *
 * States: nothing -> run with `materialized: false` -> its tasks, all `blocked` -> `materialized: true`. Only then can it
 * be admitted. Dying
 *   before the run is there: nothing happened;
 *   between run and mark: whoever asks for the slot again completes it, and so does the leader after five seconds
 *   (finish-half-made-runs.ts); task ids follow from the run's and the jobs', so what is there already is ignored;
 *   after the mark: the run waits for admission.
 */
import type { UpdateFilter } from 'mongodb';
import { ConflictError, NotFoundError } from '../../errors.js';
import { poolOf, taskId, uniqueSlot } from '../../model/ids.js';
import { type RunDocument, type TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { isDuplicateKey } from '../driver-errors.js';
import { expectedOfRun } from '../expectations/expected-of-run.js';
import { feedsOf, isWideJoin } from '../fan-in.js';
import { toPayload } from '../payload/payload.js';
import { literal, NOW } from '../task-transitions.js';
import type { CreateRunParams, CreateRunResult } from '../verbs/run-verbs.js';
import type { KnownVersion } from '../version-cache.js';
import { leaveOutTasks } from './leave-out-tasks.js';

/** Backfill runs stand behind all live work; a job's own priority is from -100 to 100. */
export const backfillPriority = -1_000;

const tasksPerInsert = 1_000;

export async function createRun(
  context: StoreContext,
  params: CreateRunParams,
): Promise<CreateRunResult> {
  const { collections } = context;
  const runId = context.newId();
  const slot = params.slot ?? uniqueSlot(runId);
  const payload = toPayload(params.params, 'params', context.payloadLimitBytes);
  // The run of a used slot may be pruned, or refused by an overlap rule: the slot stays used.
  const used =
    params.slot === undefined
      ? null
      : await collections.slots.findOne({ _id: `${params.dagId}/${slot}` });
  if (used !== null) return { runId: used.runId, created: false };
  const version = params.version ?? (await currentVersion(context, params.dagId));
  const known = await knownVersion(context, params.dagId, version);
  const run: Omit<RunDocument, '_id' | 'createdAt' | 'dueAt' | 'notBefore'> = {
    dagId: params.dagId,
    version,
    slot,
    state: 'queued',
    cause: params.cause,
    logicalDate: params.logicalDate ?? null,
    dataInterval: params.dataInterval ?? null,
    generation: params.generation ?? 0,
    coalesced: params.coalesced ?? 1,
    backfillId: params.backfillId ?? null,
    params: payload,
    priority: params.backfillId === undefined ? 0 : backfillPriority,
    materialized: false,
    started: false,
    refused: null,
    startedAt: null,
    endedAt: null,
    cancelRequestedAt: null,
    cancelling: false,
    reason: params.reason ?? null,
    openEpoch: 0,
    expireAt: null,
    ...(params.part === undefined ? {} : { part: params.part }),
  };
  const expects = expectedOfRun(known.definition, params.cause, params.expectFrom);
  try {
    // A new id, so the upsert always inserts; as a pipeline it takes the instants from the database.
    await collections.runs.updateOne(
      { _id: runId },
      [
        { $set: { notBefore: startOf(params), createdAt: NOW } },
        { $set: { dueAt: { $ifNull: ['$notBefore', NOW] } } },
        ...(expects === null ? [] : [{ $set: { expects } }]),
        { $replaceWith: { $mergeObjects: ['$$ROOT', literal(run)] } },
      ] as unknown as UpdateFilter<RunDocument>,
      { upsert: true },
    );
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return takenSlot(context, params.dagId, slot, error);
  }
  await materialize(context, { _id: runId, ...run }, known);
  return { runId, created: true };
}

/** When the run may start, as an expression of the database. */
function startOf(params: CreateRunParams): unknown {
  if (params.delayMs !== undefined && params.delayMs > 0) {
    return { $add: [NOW, Math.round(params.delayMs)] };
  }
  return params.notBefore === undefined ? null : literal(params.notBefore);
}

/** Another call has the slot: complete its run if it died, and answer with it. */
async function takenSlot(
  context: StoreContext,
  dagId: string,
  slot: string,
  cause: unknown,
): Promise<CreateRunResult> {
  const { runs, slots } = context.collections;
  const run = await runs.findOne({ dagId, slot });
  if (run !== null) {
    if (!run.materialized) {
      await materialize(context, run, await knownVersion(context, dagId, run.version));
    }
    return { runId: run._id, created: false };
  }
  // It was turned into a line of `fires` in between; its slot says so.
  const used = await slots.findOne({ _id: `${dagId}/${slot}` });
  if (used !== null) return { runId: used.runId, created: false };
  throw new ConflictError(`The slot ${slot} of ${dagId} was taken and given up at once.`, {
    cause,
    retryable: true,
  });
}

/** The fields of a run that its tasks are made from. */
export type RunSeed = Pick<
  RunDocument,
  '_id' | 'dagId' | 'version' | 'cause' | 'logicalDate' | 'dataInterval' | 'priority' | 'part'
>;

/** Inserts the tasks that are missing and marks the run. Repeatable, by several processes at once. */
export async function materialize(
  context: StoreContext,
  run: RunSeed,
  version: KnownVersion,
): Promise<void> {
  const { runs, tasks } = context.collections;
  const whole = version.definition.jobs.map((_, order) => newTask(run, version, order));
  const documents =
    run.part === undefined ? whole : await leaveOutTasks(context, run.part, version, whole);
  for (let from = 0; from < documents.length; from += tasksPerInsert) {
    try {
      await tasks.insertMany(documents.slice(from, from + tasksPerInsert), { ordered: false });
    } catch (error) {
      if (!isOnlyDuplicates(error)) throw error;
    }
  }
  const marked = await runs.updateOne({ _id: run._id }, { $set: { materialized: true } });
  // An overlap rule refused and removed the run while this process stood still: leave no orphans.
  if (marked.matchedCount === 0) await tasks.deleteMany({ runId: run._id, state: 'blocked' });
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
    pool: poolOf(job.queue, run.dagId),
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

function isOnlyDuplicates(error: unknown): boolean {
  const all = (error as { writeErrors?: unknown }).writeErrors;
  if (!Array.isArray(all)) return isDuplicateKey(error);
  return all.length > 0 && all.every((one: { code?: unknown }) => one.code === 11000);
}

async function currentVersion(context: StoreContext, dagId: string): Promise<string> {
  const dag = await context.collections.dags.findOne({ _id: dagId });
  if (dag === null) {
    throw new NotFoundError(`There is no DAG ${dagId}.`, {
      hint: 'Deploy it first, with flow deploy.',
    });
  }
  if (dag.state === 'retired') {
    throw new ConflictError(`The DAG ${dagId} is retired: it left the code it was deployed from.`, {
      hint: 'Deploy it again to run it.',
    });
  }
  return dag.version;
}

/** Throws NotFoundError when the version is not stored. */
export async function knownVersion(
  context: StoreContext,
  dagId: string,
  version: string,
): Promise<KnownVersion> {
  const known = await context.versions.get(dagId, version);
  if (known !== null) return known;
  throw new NotFoundError(`There is no version ${version} of the DAG ${dagId}.`, {
    hint: 'Deploy it first, with flow deploy.',
  });
}
