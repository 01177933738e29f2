/** Reading runs and tasks. Nothing here writes. */
import type { Filter } from 'mongodb';
import type { Run, RunView, Task } from '../../model/run.js';
import { openTaskStates, type RunState } from '../../model/states.js';
import type { RunDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { byId, tasksOf } from '../unmoving.js';
import type { RunFilter } from '../verbs/run-verbs.js';
import { runOf, taskOf } from './views.js';

const defaultLimit = 100;

/** A live runner was heard within this time. */
const liveMs = 60_000;

export async function getRun(context: StoreContext, runId: string): Promise<Run | null> {
  const run = await context.collections.runs.findOne({ _id: runId });
  return run === null ? null : runOf(run);
}

export async function viewRun(context: StoreContext, runId: string): Promise<RunView | null> {
  const { runs, tasks } = context.collections;
  const run = await runs.findOne({ _id: runId });
  if (run === null) return null;
  const found = await tasks.find(tasksOf(runId), { projection: { result: 0, steps: 0 } }).toArray();
  found.sort((one, other) => one.order - other.order);
  const openUpstream = openUpstreamOf(found);
  return { ...runOf(run), tasks: found.map((task) => taskOf(task, openUpstream.get(task.jobId))) };
}

/** For wide joins: their open upstream jobs. */
function openUpstreamOf(tasks: readonly TaskDocument[]): Map<string, string[]> {
  const open = new Map<string, string[]>();
  for (const task of tasks) {
    if (!(openTaskStates as readonly string[]).includes(task.state)) continue;
    for (const join of task.feeds ?? []) open.set(join, [...(open.get(join) ?? []), task.jobId]);
  }
  return open;
}

export async function listRuns(context: StoreContext, filter: RunFilter): Promise<Run[]> {
  const where: Filter<RunDocument> = { refused: null };
  if (filter.dagId !== undefined) where.dagId = filter.dagId;
  if (filter.state !== undefined) where.state = { $in: [...filter.state] };
  if (filter.cause !== undefined) where.cause = { $in: [...filter.cause] };
  if (filter.backfillId !== undefined) where.backfillId = filter.backfillId;
  if (filter.before !== undefined) where._id = { $lt: filter.before };
  if (filter.logicalFrom !== undefined || filter.logicalTo !== undefined) {
    where.logicalDate = {
      ...(filter.logicalFrom === undefined ? {} : { $gte: filter.logicalFrom }),
      ...(filter.logicalTo === undefined ? {} : { $lt: filter.logicalTo }),
    };
  }
  const found = await context.collections.runs
    .find(where)
    .sort({ _id: -1 })
    .limit(filter.limit ?? defaultLimit)
    .toArray();
  return found.map(runOf);
}

export async function countRuns(
  context: StoreContext,
  dagId: string,
): Promise<Partial<Record<RunState, number>>> {
  const counted = await context.collections.runs
    .aggregate<{ _id: RunState; count: number }>([
      { $match: { dagId } },
      { $group: { _id: '$state', count: { $sum: 1 } } },
    ])
    .toArray();
  return Object.fromEntries(counted.map(({ _id, count }) => [_id, count]));
}

/** See {@link RunVerbs.findDagsWithQueuedRuns}. */
export async function findDagsWithQueuedRuns(
  context: StoreContext,
  limit: number,
  after?: string,
): Promise<string[]> {
  const dueAt = { $lte: context.clock.estimate() };
  const idsIn = async (range: { $gt?: string; $lte?: string } | null) => {
    const where = { state: 'queued', ...(range === null ? {} : { dagId: range }) } as const;
    const { runs } = context.collections;
    return (await runs.distinct('dagId', { ...where, materialized: true, dueAt })).sort();
  };
  if (after === undefined) return (await idsIn(null)).slice(0, limit);
  const beyond = (await idsIn({ $gt: after })).slice(0, limit);
  if (beyond.length === limit) return beyond;
  const wrapped = await idsIn({ $lte: after });
  return [...beyond, ...wrapped.slice(0, limit - beyond.length)];
}

export async function getTask(context: StoreContext, taskId: string): Promise<Task | null> {
  const { tasks } = context.collections;
  const task = await tasks.findOne({ _id: taskId }, { projection: { result: 0, steps: 0 } });
  if (task === null) return null;
  if (task.state !== 'blocked' || task.pending !== null) return taskOf(task);
  const upstream = await tasks
    .find(
      { runId: task.runId, feeds: task.jobId, state: { $in: [...openTaskStates] } },
      { projection: { jobId: 1 } },
    )
    .limit(1_000)
    .toArray();
  return taskOf(
    task,
    upstream.map((one) => one.jobId),
  );
}

/** Ready tasks that no runner heard within a minute serves, by serve key. */
export async function findUnserved(
  context: StoreContext,
  limit: number,
): Promise<{ readonly serveKey: string; readonly count: number }[]> {
  const { runners, tasks } = context.collections;
  const since = new Date((await context.clock.fresh()).getTime() - liveMs);
  const live = await runners
    .find(
      { heartbeatAt: { $gt: since }, state: 'running' },
      // Runners that are heard meanwhile move in the index of heartbeats.
      { projection: { serveKeys: 1, concurrency: 1 }, hint: byId },
    )
    .toArray();
  const served = new Set(live.flatMap((one) => (one.concurrency > 0 ? one.serveKeys : [])));
  const ready = await tasks
    .aggregate<{ _id: string; count: number }>([
      { $match: { state: 'ready' } },
      { $group: { _id: '$serveKey', count: { $sum: 1 } } },
      { $sort: { count: -1, _id: 1 } },
    ])
    .toArray();
  return ready
    .filter(({ _id }) => !served.has(_id))
    .slice(0, limit)
    .map(({ _id, count }) => ({ serveKey: _id, count }));
}
