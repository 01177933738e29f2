/**
 * The claim. Authority: the task's state; `ready -> running` is one guarded write, so one of many claimers gets it.
 *
 * One query shape, one index (`claim`), no `$or`: equality on state, DAG and pool, points on serve keys, then priority and
 * age. A pool is a queue of a DAG. What a runner cannot serve costs it nothing: pools are asked for by its DAGs, serve keys
 * are points of the index, and where a DAG has many jobs only those keys are asked for that hold work.
 *
 * Live work comes first: the tasks of backfills stand in pools of their own, which are looked into when the others give no more.
 * Fairness: a runner takes its share of each pool that holds work and starts the next round one pool further. The list of
 * pools is asked for again when it is a second old, or when a pool that stood in it was empty.
 *
 * Dying after the write and before its answer is used: the lease lapses, and the attempt counts as lost. A batch names its
 * call in the lease, so that what was taken is read back by that name.
 */
import type { Filter, Sort, UpdateFilter } from 'mongodb';
import { isBackfillPool } from '../../model/ids.js';
import type { TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { attemptAdded, literal, NOW } from '../task-transitions.js';
import type { ClaimedTask, ClaimParams, FreshTask } from '../verbs/task-verbs.js';

/** More serve keys than this in one DAG are narrowed to those that hold work. */
const manyServeKeys = 16;

/** More points than this are not merged by every server. */
const mostServeKeys = 100;

const poolsKeptMs = 1_000;

const byPriorityAndAge: Sort = { priority: -1, readyAt: 1 };

const claimedFields = {
  runId: 1,
  dagId: 1,
  version: 1,
  jobId: 1,
  serveKey: 1,
  token: 1,
  attempts: { $slice: -1 },
  failures: 1,
  losses: 1,
  generation: 1,
  cause: 1,
  logicalDate: 1,
  dataInterval: 1,
  lease: 1,
} as const;

export async function claimTasks(
  context: StoreContext,
  params: ClaimParams,
): Promise<ClaimedTask[]> {
  if (params.limit <= 0 || params.serveKeys.length === 0) return [];
  if (params.fresh !== undefined) {
    return takeFresh(context, params, params.fresh.slice(0, params.limit));
  }
  const keysOfDag = groupByDag(params.serveKeys);
  const claimed: ClaimedTask[] = [];
  for (const isFresh of [false, true]) {
    const list = await poolsWithWork(context, [...keysOfDag.keys()], isFresh);
    const live = list.pools.filter((pool) => !isBackfillPool(pool));
    await claimFromPools(context, params, { ...list, pools: live }, keysOfDag, claimed);
    // Backfills get what live work leaves, by a list that is sure to name all live work.
    if (list.wasRead && claimed.length < params.limit) {
      const pools = list.pools.filter(isBackfillPool);
      await claimFromPools(context, params, { ...list, pools }, keysOfDag, claimed);
    }
    // A list that was just read and did not suffice is all there is.
    if (claimed.length >= params.limit || list.wasRead) break;
  }
  return claimed;
}

/** How many pools are looked into side by side. */
const poolsAtOnce = 16;

/** Pools of a list just read that others may have emptied before the rest is left for the next time. */
const mostMisses = 16;

/**
 * Takes shares of the pools, one round after the other, until the limit is reached or they give no more: candidates are
 * looked up pool by pool, side by side, and taken in one write.
 */
async function claimFromPools(
  context: StoreContext,
  params: ClaimParams,
  list: PoolList,
  keysOfDag: ReadonlyMap<string, string[]>,
  claimed: ClaimedTask[],
): Promise<void> {
  const pools = list.pools.filter((pool) => keysOfDag.has(dagOf(pool)));
  const start = context.rotation.turn++ % Math.max(1, pools.length);
  const open = [...pools.slice(start), ...pools.slice(0, start)];
  // An empty pool in a list from the last time: it has to be read again.
  let missesLeft = list.wasRead ? mostMisses : 0;
  while (open.length > 0 && claimed.length < params.limit && missesLeft >= 0) {
    const missing = params.limit - claimed.length;
    const share = Math.ceil(missing / open.length);
    const some = open.splice(0, Math.min(poolsAtOnce, missing));
    if (missing === 1) {
      const task = await takeFirst(context, params, some[0]!, keysOfDag);
      if (task === null) missesLeft -= 1;
      else claimed.push(task);
      continue;
    }
    const found = await Promise.all(
      some.map((pool) => candidatesOf(context, pool, keysOfDag, share)),
    );
    const taken = await takeCandidates(context, params, found.flat().slice(0, missing));
    claimed.push(...taken);
    for (const [index, candidates] of found.entries()) {
      if (candidates.length === 0) missesLeft -= 1;
      // It may hold more. Where another claimer took everything, that one is at work here.
      else if (candidates.length === share && taken.length > 0) open.push(some[index]!);
    }
  }
}

function dagOf(pool: string): string {
  return pool.slice(pool.lastIndexOf('/') + 1);
}

interface PoolList {
  readonly pools: readonly string[];
  /** False: from the last time. */
  readonly wasRead: boolean;
}

/** One indexed query over the DAGs that the runner serves; a key for each pool that holds work. */
async function poolsWithWork(
  context: StoreContext,
  dagIds: readonly string[],
  isFresh: boolean,
): Promise<PoolList> {
  const { rotation } = context;
  const age = context.monotonicMs() - rotation.readAtMs;
  if (!isFresh && rotation.pools.length > 0 && age < poolsKeptMs) {
    return { pools: rotation.pools, wasRead: false };
  }
  const found = await context.collections.tasks.distinct('pool', {
    state: 'ready',
    dagId: { $in: [...dagIds] },
  });
  rotation.pools = found;
  rotation.readAtMs = context.monotonicMs();
  return { pools: found, wasRead: true };
}

/** The claim of one task: the first of the pool, in one operation. Null when the pool is empty. */
async function takeFirst(
  context: StoreContext,
  params: ClaimParams,
  pool: string,
  keysOfDag: ReadonlyMap<string, string[]>,
): Promise<ClaimedTask | null> {
  const where = await whereOf(context, pool, keysOfDag);
  if (where === null) return null;
  const task = await context.collections.tasks.findOneAndUpdate(
    { state: 'ready', ...where },
    claimPipeline(params, context.newId()) as unknown as UpdateFilter<TaskDocument>,
    { sort: byPriorityAndAge, returnDocument: 'after', projection: claimedFields },
  );
  return task === null ? null : claimedTask(task);
}

/** Ready tasks of one pool in order of their claim. */
async function candidatesOf(
  context: StoreContext,
  pool: string,
  keysOfDag: ReadonlyMap<string, string[]>,
  limit: number,
): Promise<string[]> {
  const where = await whereOf(context, pool, keysOfDag);
  return where === null ? [] : findCandidates(context, where, limit);
}

/** What of a pool the claimer can serve; null for nothing. */
async function whereOf(
  context: StoreContext,
  pool: string,
  keysOfDag: ReadonlyMap<string, string[]>,
): Promise<Filter<TaskDocument> | null> {
  const dagId = dagOf(pool);
  let keys = keysOfDag.get(dagId) ?? [];
  if (keys.length > manyServeKeys) {
    keys = await context.collections.tasks.distinct('serveKey', {
      state: 'ready',
      dagId,
      pool,
      serveKey: { $in: keys },
    });
  }
  if (keys.length > mostServeKeys) {
    const from = context.rotation.turn % keys.length;
    keys = [...keys.slice(from), ...keys.slice(0, from)].slice(0, mostServeKeys);
  }
  return keys.length === 0 ? null : { dagId, pool, serveKey: { $in: keys } };
}

async function findCandidates(
  context: StoreContext,
  where: Filter<TaskDocument>,
  limit: number,
): Promise<string[]> {
  const found = await context.collections.tasks
    .find({ state: 'ready', ...where }, { projection: { _id: 1 } })
    .sort(byPriorityAndAge)
    .limit(limit)
    .toArray();
  return found.map((task) => task._id);
}

/**
 * Takes tasks whose first claim this is: what that makes of them is known, so that nothing is read where all are taken. The fence
 * stands at 0 until the first grant and never comes back to it.
 */
async function takeFresh(
  context: StoreContext,
  params: ClaimParams,
  fresh: readonly FreshTask[],
): Promise<ClaimedTask[]> {
  const ids = fresh.map((task) => task.taskId);
  const claim = context.newId();
  const { modifiedCount } = await context.collections.tasks.updateMany(
    { _id: { $in: ids }, state: 'ready', token: 0 },
    claimPipeline(params, claim) as unknown as UpdateFilter<TaskDocument>,
  );
  if (modifiedCount < fresh.length) return readClaimed(context, ids, claim);
  return fresh.map((task) => ({
    ...task,
    token: 1,
    attempt: 1,
    failures: 0,
    losses: 0,
    generation: 0,
  }));
}

/** Takes those of the candidates that are still ready: another claimer may have been faster for some of them. */
async function takeCandidates(
  context: StoreContext,
  params: ClaimParams,
  ids: readonly string[],
): Promise<ClaimedTask[]> {
  if (ids.length === 0) return [];
  const { tasks } = context.collections;
  const claim = context.newId();
  const take = claimPipeline(params, claim) as unknown as UpdateFilter<TaskDocument>;
  if (ids.length === 1) {
    const task = await tasks.findOneAndUpdate({ _id: ids[0]!, state: 'ready' }, take, {
      returnDocument: 'after',
      projection: claimedFields,
    });
    return task === null ? [] : [claimedTask(task)];
  }
  await tasks.updateMany({ _id: { $in: [...ids] }, state: 'ready' }, take);
  return readClaimed(context, ids, claim);
}

/** What a batch has taken, by the name of its call. */
async function readClaimed(
  context: StoreContext,
  ids: readonly string[],
  claim: string,
): Promise<ClaimedTask[]> {
  const taken = await context.collections.tasks
    .find(
      { _id: { $in: [...ids] }, state: 'running', 'lease.claim': claim },
      { projection: claimedFields },
    )
    .toArray();
  const byId = new Map(taken.map((task) => [task._id, task]));
  return ids.flatMap((id) => {
    const task = byId.get(id);
    return task === undefined ? [] : [claimedTask(task)];
  });
}

function claimPipeline({ runnerId, leaseMs }: ClaimParams, claim: string) {
  const token = { $add: ['$token', 1] };
  // The server's now is that of the command, which may have waited or begun anew since: what it finds can be younger than that.
  const startedAt = { $max: [NOW, '$readyAt'] };
  return [
    {
      $set: {
        state: 'running',
        token,
        startedAt: { $ifNull: ['$startedAt', startedAt] },
        progress: null,
        lease: {
          runner: literal(runnerId),
          token,
          grant: { $concat: ['$_id', '#', { $toString: token }] },
          claim,
          expiresAt: { $add: [NOW, leaseMs] },
        },
        attempts: attemptAdded({
          n: { $add: [{ $size: '$attempts' }, 1] },
          token,
          runner: literal(runnerId),
          startedAt,
          endedAt: null,
          outcome: null,
          error: null,
        }),
      },
    },
  ];
}

function claimedTask(task: TaskDocument): ClaimedTask {
  return {
    taskId: task._id,
    runId: task.runId,
    dagId: task.dagId,
    version: task.version,
    jobId: task.jobId,
    serveKey: task.serveKey,
    token: task.token,
    attempt: task.attempts.at(-1)!.n,
    failures: task.failures,
    losses: task.losses,
    generation: task.generation,
    cause: task.cause,
    logicalDate: task.logicalDate,
    dataInterval: task.dataInterval,
  };
}

/** Serve keys by DAG: they begin with its id. */
function groupByDag(serveKeys: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const key of serveKeys) {
    const dagId = key.slice(0, key.indexOf('/'));
    const group = groups.get(dagId);
    if (group) group.push(key);
    else groups.set(dagId, [key]);
  }
  return groups;
}
