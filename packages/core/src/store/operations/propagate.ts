/**
 * Fan-out of outcomes: what a closed task means for those that wait for it.
 *
 * Authority: the task's own state. Its mark `propagated: false` stands from the write that closed it until everything
 * below is done, so whoever finds the mark repeats all of it; each step repeated changes nothing:
 *   1. each dependent: remove me from its pending set, remember my outcome, decide (one pipeline, guarded by state and by
 *      the generation under which it expects me);
 *   2. dependents that this closed (`upstream-failed`, `skipped`, `cancelled`) tell their own dependents: level by level;
 *   3. the run is closed if nothing is open, and its place given back (close-run.ts);
 *   4. the marks of all levels are cleared.
 * Two parents that finish at once both write the join; whichever comes second finds the set empty and decides. Neither
 * needs to know of the other, and a parent that died before telling is told for by the leader.
 *
 * The rule, `all-succeeded`: one upstream failed -> `upstream-failed` at once; else, when all have reported, cancelled ->
 * `cancelled`, skipped -> `skipped`, else `ready`. The outcome does not depend on the order of the reports.
 */
import type { AnyBulkWriteOperation, Document, Filter } from 'mongodb';
import { taskId } from '../../model/ids.js';
import {
  closedTaskStates,
  isClosedRun,
  isClosedTask,
  openTaskStates,
  type TaskState,
} from '../../model/states.js';
import type { TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { isWideJoin } from '../fan-in.js';
import { portionsOf } from '../portions.js';
import { choose, moveTo, settleStage } from '../task-transitions.js';
import type { ClosedTask as ClosedByCaller } from '../verbs/task-verbs.js';
import type { KnownVersion } from '../version-cache.js';
import { closeRun } from './close-run.js';
import { knownVersion } from './known-version.js';
import type { RunPart } from './leave-out-tasks.js';

type ClosedTask = Pick<
  TaskDocument,
  '_id' | 'runId' | 'dagId' | 'version' | 'jobId' | 'state' | 'generation' | 'propagated'
>;

const fields = {
  runId: 1,
  dagId: 1,
  version: 1,
  jobId: 1,
  state: 1,
  generation: 1,
  propagated: 1,
} as const;

const idsPerQuery = 1_000;

export async function propagate(
  context: StoreContext,
  id: string,
  closed?: ClosedByCaller,
): Promise<{ readonly ready: readonly string[]; readonly runClosed: boolean }> {
  const { tasks, runs } = context.collections;
  const [task, run] = await Promise.all([
    closed === undefined || !isClosedTask(closed.state)
      ? tasks.findOne({ _id: id }, { projection: fields })
      : { ...closed, _id: id, propagated: false },
    runs.findOne({ _id: id.slice(0, id.indexOf('/')) }),
  ]);
  if (task === null || !isClosedTask(task.state)) return { ready: [], runClosed: false };
  if (task.propagated) return { ready: [], runClosed: run === null || isClosedRun(run.state) };
  const version = await knownVersion(context, task.dagId, task.version);
  const isCancelling = run !== null && run.cancelRequestedAt !== null;
  const told = new Map<string, ClosedTask>();
  const ready = new Set<string>();
  let isOpen = false;
  let level: ClosedTask[] = [task];
  while (level.length > 0) {
    for (const one of level) told.set(one._id, one);
    const next = await tellDependents(context, version, level, { isCancelling, part: run?.part });
    for (const one of next.ready) ready.add(one);
    isOpen ||= next.isOpen;
    level = next.closed.filter((one) => !told.has(one._id));
  }
  // Where a dependent is open the run stays open, and that dependent's own end asks again.
  const runClosed = isOpen ? false : await closeRun(context, task.runId, run);
  await clearMarks(context, [...told.values()]);
  return { ready: [...ready], runClosed };
}

/** What is seen of the dependents of some closed tasks after they were told. */
interface Told {
  readonly ready: readonly string[];
  /** Closed, and they have not told their own dependents. */
  readonly closed: readonly ClosedTask[];
  /** At least one is open. */
  readonly isOpen: boolean;
}

/** What telling has to know of the run. */
interface ToldRun {
  readonly isCancelling: boolean;
  readonly part: RunPart | undefined;
}

/** Tells the dependents of closed tasks of one run. */
async function tellDependents(
  context: StoreContext,
  version: KnownVersion,
  level: readonly ClosedTask[],
  { isCancelling, part }: ToldRun,
): Promise<Told> {
  const { tasks } = context.collections;
  const runId = level[0]!.runId;
  const waiting = new Set<string>();
  const wide = new Set<string>();
  const writes: AnyBulkWriteOperation<TaskDocument>[] = [];
  for (const task of level) {
    const narrow: string[] = [];
    for (const jobId of version.dependents.get(task.jobId) ?? []) {
      waiting.add(taskId(runId, jobId));
      if (isWideJoin(version.jobs.get(jobId)!)) wide.add(jobId);
      else narrow.push(taskId(runId, jobId));
    }
    for (const ids of portionsOf(narrow, idsPerQuery)) {
      writes.push({
        updateMany: {
          filter: {
            _id: ids.length === 1 ? ids[0]! : { $in: ids },
            state: 'blocked',
            pending: { $elemMatch: { job: task.jobId, generation: task.generation } },
          },
          update: reported(task, isCancelling) as never,
        },
      });
    }
  }
  if (waiting.size === 0) return { ready: [], closed: [], isOpen: false };
  if (writes.length > 0) await tasks.bulkWrite(writes, { ordered: false });
  for (const jobId of wide) {
    const upstream = new Set(version.jobs.get(jobId)!.dependsOn);
    for (const id of upstream) if (part?.jobs.includes(id) === false) upstream.delete(id);
    await decideWideJoin(context, { runId, jobId, upstream: upstream.size }, level, isCancelling);
  }
  const seen: ClosedTask[] = [];
  for (const ids of portionsOf([...waiting], idsPerQuery)) {
    const found = await tasks.find({ _id: { $in: ids } }, { projection: fields }).toArray();
    seen.push(...found);
  }
  return {
    ready: seen.filter((one) => one.state === 'ready').map((one) => one._id),
    closed: seen.filter((one) => isClosedTask(one.state) && !one.propagated),
    isOpen: seen.some((one) => !isClosedTask(one.state)),
  };
}

/** The pipeline of step 1, for the report of `task`. */
function reported(task: ClosedTask, isCancelling: boolean): Document[] {
  const says = flagsOf(task.state);
  return [
    {
      $set: {
        pending: {
          $filter: {
            input: '$pending',
            as: 'one',
            cond: {
              $not: [
                {
                  $and: [
                    { $eq: ['$$one.job', { $literal: task.jobId }] },
                    { $eq: ['$$one.generation', task.generation] },
                  ],
                },
              ],
            },
          },
        },
        upstream: {
          failed: { $or: ['$upstream.failed', says.failed] },
          skipped: { $or: ['$upstream.skipped', says.skipped] },
          cancelled: { $or: ['$upstream.cancelled', says.cancelled] },
        },
      },
    },
    {
      $set: {
        state: choose(
          [
            ['$upstream.failed', 'upstream-failed'],
            [{ $gt: [{ $size: '$pending' }, 0] }, '$state'],
            ['$upstream.cancelled', 'cancelled'],
            ['$upstream.skipped', 'skipped'],
          ],
          isCancelling ? 'cancelled' : 'ready',
        ),
      },
    },
    settleStage(),
  ];
}

function flagsOf(state: TaskState): { failed: boolean; skipped: boolean; cancelled: boolean } {
  return {
    failed: state === 'failed' || state === 'upstream-failed',
    skipped: state === 'skipped',
    cancelled: state === 'cancelled',
  };
}

/** A join without a pending set, and how many tasks it waits for. */
interface WideJoin {
  readonly runId: string;
  readonly jobId: string;
  readonly upstream: number;
}

/**
 * Asks whether any upstream is open, after the upstreams' own writes. Of two that finish last at the same time, the later one to
 * ask sees both. The generation read first guards against a rerun in between.
 *
 * That none was found open does not say that none is: an open task that changes its state while the server goes through the index
 * can be passed over. Closed ones stay where they are, so the join goes on only when all are found closed; whoever was passed over
 * asks again at its own end.
 */
async function decideWideJoin(
  context: StoreContext,
  { runId, jobId, upstream }: WideJoin,
  level: readonly ClosedTask[],
  isCancelling: boolean,
): Promise<void> {
  const { tasks } = context.collections;
  const join = await tasks.findOne(
    { _id: taskId(runId, jobId), state: 'blocked' },
    { projection: { generation: 1 } },
  );
  if (join === null) return;
  const upstreamIn = (states: readonly TaskState[]): Filter<TaskDocument> => ({
    runId,
    feeds: jobId,
    state: { $in: [...states] },
  });
  const anyUpstream = async (states: readonly TaskState[]) =>
    (await tasks.findOne(upstreamIn(states), { projection: { _id: 1 } })) !== null;
  let state: TaskState;
  if (
    level.some((one) => flagsOf(one.state).failed) &&
    (await anyUpstream(['failed', 'upstream-failed']))
  ) {
    state = 'upstream-failed';
  } else {
    if (await anyUpstream(openTaskStates)) return;
    const groups = await tasks
      .aggregate<{ _id: TaskState; count: number }>([
        { $match: upstreamIn(closedTaskStates) },
        { $group: { _id: '$state', count: { $sum: 1 } } },
      ])
      .toArray();
    const closed = new Map(groups.map(({ _id, count }) => [_id, count]));
    if ([...closed.values()].reduce((sum, count) => sum + count, 0) < upstream) return;
    if (closed.has('failed') || closed.has('upstream-failed')) state = 'upstream-failed';
    else if (closed.has('cancelled')) state = 'cancelled';
    else if (closed.has('skipped')) state = 'skipped';
    else state = isCancelling ? 'cancelled' : 'ready';
  }
  await tasks.updateOne(
    { _id: join._id, state: 'blocked', generation: join.generation },
    moveTo(state) as never,
  );
}

/** Step 4. A rerun in between has raised the generation, and then the mark is no longer this one's to clear. */
async function clearMarks(context: StoreContext, told: readonly ClosedTask[]): Promise<void> {
  const byGeneration = new Map<number, string[]>();
  for (const task of told) {
    const ids = byGeneration.get(task.generation);
    if (ids) ids.push(task._id);
    else byGeneration.set(task.generation, [task._id]);
  }
  for (const [generation, ids] of byGeneration) {
    for (const some of portionsOf(ids, idsPerQuery)) {
      await context.collections.tasks.updateMany(
        {
          _id: some.length === 1 ? some[0]! : { $in: some },
          propagated: false,
          generation,
          state: { $in: [...closedTaskStates] },
        },
        { $set: { propagated: true } },
      );
    }
  }
}
