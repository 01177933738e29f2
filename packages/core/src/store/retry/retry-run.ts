/**
 * Running tasks of a closed run again: the run is opened once more, under the same id, slot and version.
 *
 * Authority: `retrying` of the run, written by one compare-and-set on (state, openEpoch); it names the tasks and the generations
 * they had. Until the last step the run is closed for everybody else. Whoever finds the mark goes on from there: the caller,
 * another caller, the leader (finish-retries.ts). Each step names what it changes by epoch or generation, so that repeating
 * it changes nothing, not even long after the run has ended again.
 *
 *   1. `retrying` on the run, and its `expireAt` taken away. Dying before it: nothing happened.
 *   2. A backfill's run goes back into its backfill, which counts it as open again (backfill/count-backfill-run.ts). If that was
 *      cancelled meanwhile the mark is taken back, and nothing has happened.
 *   3. `expireAt` of the run's tasks is taken away. A day is left at step 1, so no task is gone by then.
 *   4. Each chosen task: closed -> `blocked`, generation + 1 (reset-task.ts). Reports of its earlier generation, and of the tasks
 *      that it waited for then, match nothing any more.
 *   5. The run: -> `queued`, openEpoch + 1, the mark removed, in one write. Then admission starts it like any other.
 *
 * Places and the counting of a backfill name the opening (operations/place-key.ts): a closer that stood still since the
 * earlier one changes nothing in this one. No overlap rule refuses it, and a pause of its DAG does not hold it up.
 */
import type { UpdateFilter } from 'mongodb';
import { ConflictError, NotFoundError } from '../../errors.js';
import { isClosedRun, type RunState } from '../../model/states.js';
import { takeBackRun } from '../backfill/count-backfill-run.js';
import type { RunDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { knownVersion } from '../operations/known-version.js';
import { literal, NOW } from '../task-transitions.js';
import type { RetryResult } from '../verbs/run-verbs.js';
import { chooseTasks, type RetrySelection } from './choose-tasks.js';
import { resetTask } from './reset-task.js';

/** A run that is about to be removed is not opened again. */
const leastLeftMs = 24 * 3_600_000;

const tasksPerWrite = 1_000;

export async function retryRun(
  context: StoreContext,
  runId: string,
  selection: RetrySelection = {},
): Promise<RetryResult> {
  const { runs, tasks } = context.collections;
  const run = await runs.findOne({ _id: runId });
  if (run === null) {
    throw new NotFoundError(`There is no run ${runId}.`, {
      hint: 'flow runs lists the runs that are kept.',
    });
  }
  if (run.retrying !== undefined && (await carryOut(context, run))) throw isOpen(runId, 'queued');
  if (!isClosedRun(run.state)) throw isOpen(runId, run.state);
  await refuseWithBackfill(context, run);
  const version = await knownVersion(context, run.dagId, run.version);
  const found = await tasks
    .find({ runId }, { projection: { jobId: 1, state: 1, generation: 1 } })
    .toArray();
  // Of a run of a part of its graph the rest was never meant to run.
  const states = new Map(
    found.filter((task) => isPartOf(run, task.jobId)).map((task) => [task.jobId, task.state]),
  );
  const jobs = chooseTasks(version, states, selection);
  const generations = new Map(found.map((task) => [task.jobId, task.generation]));
  const marked = await runs.findOneAndUpdate(
    {
      _id: runId,
      state: run.state,
      openEpoch: run.openEpoch,
      retrying: { $exists: false },
      $expr: { $gt: [{ $ifNull: ['$expireAt', farAhead] }, { $add: [NOW, leastLeftMs] }] },
    },
    [
      {
        $set: {
          retrying: {
            at: NOW,
            tasks: literal(jobs.map((job) => ({ job, generation: generations.get(job)! }))),
          },
          expireAt: null,
        },
      },
    ] as unknown as UpdateFilter<RunDocument>,
    { returnDocument: 'after' },
  );
  if (marked === null) throw await whyNot(context, run);
  if (!(await carryOut(context, marked))) throw backfillCancelled(run);
  return { runId, dagId: run.dagId, backfillId: run.backfillId, jobs };
}

/** `$ifNull` of a run that is never removed. */
const farAhead = new Date(8.64e15);

/** Steps 2 to 5. False when the mark was taken back. */
export async function carryOut(context: StoreContext, run: RunDocument): Promise<boolean> {
  const { retrying, _id, openEpoch } = run;
  if (retrying === undefined) return false;
  const { runs, tasks } = context.collections;
  const version = await knownVersion(context, run.dagId, run.version);
  const { runsMs } = version.definition.retention;
  if (run.backfillId !== null && !(await takeBackRun(context, run))) {
    await runs.updateOne({ _id, openEpoch, 'retrying.at': retrying.at }, [
      { $set: { expireAt: { $add: [NOW, runsMs] } } },
      { $unset: 'retrying' },
    ] as unknown as UpdateFilter<RunDocument>);
    return false;
  }
  // No later than this stands what the closing before the mark has written; a later closing's own is left alone.
  const latest = new Date(retrying.at.getTime() + runsMs);
  await tasks.updateMany({ runId: _id, expireAt: { $lte: latest } }, { $set: { expireAt: null } });
  const found = await tasks.find({ runId: _id }, { projection: { jobId: 1, state: 1 } }).toArray();
  const generations = new Map(retrying.tasks.map((task) => [task.job, task.generation]));
  const staying = new Map(
    found
      .filter((task) => !generations.has(task.jobId) && isPartOf(run, task.jobId))
      .map((task) => [task.jobId, task.state]),
  );
  const writes = retrying.tasks.map(({ job }) =>
    resetTask(run, version, job, { generations, staying }),
  );
  for (let from = 0; from < writes.length; from += tasksPerWrite) {
    await tasks.bulkWrite(writes.slice(from, from + tasksPerWrite), { ordered: false });
  }
  await runs.updateOne({ _id, openEpoch, 'retrying.at': retrying.at }, [
    {
      $set: {
        state: 'queued',
        openEpoch: openEpoch + 1,
        dueAt: NOW,
        notBefore: null,
        started: false,
        startedAt: null,
        endedAt: null,
        cancelRequestedAt: null,
        cancelling: false,
        expireAt: null,
      },
    },
    { $unset: 'retrying' },
  ] as unknown as UpdateFilter<RunDocument>);
  return true;
}

function isPartOf(run: RunDocument, job: string): boolean {
  return run.part === undefined || run.part.jobs.includes(job);
}

/** A backfill that was cancelled takes nothing up; one that did not come to the run yet may still want to. */
async function refuseWithBackfill(context: StoreContext, run: RunDocument): Promise<void> {
  if (run.backfillId === null) return;
  const backfill = await context.collections.backfills.findOne(
    { _id: run.backfillId },
    { projection: { state: 1 } },
  );
  if (backfill === null || backfill.state === 'cancelled') throw backfillCancelled(run);
  if (backfill.state !== 'succeeded' && backfill.state !== 'failed' && run.startedAt === null) {
    throw new ConflictError(
      `The run ${run._id} never started, and its backfill ${run.backfillId} is still ${backfill.state}.`,
      { hint: `Wait for its end, then ${redoHint(run)}` },
    );
  }
}

function backfillCancelled(run: RunDocument): ConflictError {
  return new ConflictError(
    `The run ${run._id} belongs to the backfill ${run.backfillId}, which was cancelled.`,
    { hint: `Instead, ${redoHint(run)}` },
  );
}

function redoHint(run: RunDocument): string {
  const at = run.logicalDate?.toISOString() ?? '';
  return `redo its date: flow run ${run.dagId} --backfill --from ${at} --reprocess all, with --to after it.`;
}

function isOpen(runId: string, state: RunState): ConflictError {
  return new ConflictError(
    `The run ${runId} is ${state}: only a run that has ended can be retried.`,
    {
      hint: `flow show ${runId} tells how far it is.`,
    },
  );
}

async function whyNot(context: StoreContext, seen: RunDocument): Promise<Error> {
  const run = await context.collections.runs.findOne({ _id: seen._id });
  if (run === null) return new NotFoundError(`There is no run ${seen._id}.`);
  const isUnchanged = run.state === seen.state && run.openEpoch === seen.openEpoch;
  if (isUnchanged && run.retrying === undefined && run.expireAt !== null) {
    return new ConflictError(
      `The run ${run._id} is removed at ${run.expireAt.toISOString()}, in less than a day: it cannot be opened again.`,
      { hint: 'Start a new run; a longer "retention" keeps runs for longer.' },
    );
  }
  if (!isClosedRun(run.state)) return isOpen(run._id, run.state);
  return new ConflictError(`The run ${run._id} is being retried by somebody else.`, {
    hint: `flow show ${run._id} tells how far it is.`,
  });
}
