/**
 * Rescue: ending attempts whose holder is gone.
 *
 * Authority: the task's lease. An attempt is `lost` by one write that names state, holder and token, and for an expired
 * lease its expiry by the database's clock, so that of two rescuers one counts, and a holder that renewed in time keeps it.
 * What becomes of the task: `cancelled` under a cancel flag; `failed` where it must not start twice (`onLost`) or was lost
 * too often (`maxLost`); else `ready`. The fence has grown with the grant and never goes back, so the late holder is refused.
 *
 * When the database itself was away, all leases expire together although their holders live. So nothing is rescued while no
 * heartbeat is younger than a lease; and when heartbeats have only just come back after a gap in which leases could expire,
 * with no runner that was heard all the time, the living get one lease of time to renew. One runner that was suspended
 * while another was heard holds nobody up; nor does a new one, after the whole fleet died.
 *
 * Dying between the write and the propagation: the mark `propagated: false` stands.
 */
import type { Filter, UpdateFilter } from 'mongodb';
import type { AttemptLoss } from '../../model/run.js';
import { isClosedTask } from '../../model/states.js';
import type { RunnerDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { narrowTo } from '../server-time.js';
import { attemptEnded, literal, NOW, settleStage, unlessFlagged } from '../task-transitions.js';
import type { RescuedTask } from '../verbs/task-verbs.js';
import { propagate } from './propagate.js';
import { workThrough } from './work-through.js';

const tasksAtOnce = 500;
const inParallel = 8;

/** What a lost attempt keeps of its log. */
const keptLines = 5;
const longestLine = 300;

/** Leases are renewed, and heartbeats sent, at least twice a lease: a pause beyond this share of it is none of theirs. */
const gapShare = 0.6;

export async function rescueExpired(
  context: StoreContext,
  leaseMs: number,
): Promise<RescuedTask[]> {
  const isExpired = { $expr: { $lte: ['$lease.expiresAt', NOW] } };
  const expired = await findRunning(context, {
    'lease.expiresAt': { $lte: await narrowTo(context.clock) },
    ...isExpired,
  });
  if (expired.length === 0) return [];
  if (await wasDatabaseAway(context, leaseMs)) return [];
  return rescueAll(context, expired, isExpired, 'lease-expired');
}

export async function rescueRunner(
  context: StoreContext,
  runnerId: string,
): Promise<RescuedTask[]> {
  const held = await findRunning(context, { 'lease.runner': runnerId });
  return rescueAll(context, held, {}, 'runner-dead');
}

type Held = Pick<TaskDocument, '_id' | 'runId' | 'jobId' | 'token' | 'lease' | 'attempts'>;

const heldFields = { runId: 1, jobId: 1, token: 1, lease: 1, attempts: { $slice: -1 } } as const;

function findRunning(context: StoreContext, where: Filter<TaskDocument>): Promise<Held[]> {
  return context.collections.tasks
    .find({ state: 'running', ...where }, { projection: heldFields })
    .limit(tasksAtOnce)
    .toArray();
}

/** See the head of this file. */
async function wasDatabaseAway(context: StoreContext, leaseMs: number): Promise<boolean> {
  const { runners } = context.collections;
  const since = { $subtract: [NOW, leaseMs] };
  const young = await runners
    .find(
      {
        heartbeatAt: {
          $gt: new Date((await narrowTo(context.clock)).getTime() - 2 * leaseMs - 60_000),
        },
        state: { $ne: 'stopped' },
        $expr: { $gt: ['$heartbeatAt', since] },
      },
      { projection: { startedAt: 1, resumedAt: 1, gapMs: 1 } },
    )
    .toArray();
  if (young.length === 0) return true;
  const aLeaseAgo = context.clock.estimate().getTime() - leaseMs;
  const wasAway = (one: (typeof young)[number]) =>
    one.resumedAt !== null && one.resumedAt.getTime() > aLeaseAgo && one.gapMs > leaseMs * gapShare;
  const wasHeardThroughout = young.some(
    (one) => one.startedAt.getTime() <= aLeaseAgo && !wasAway(one),
  );
  return !wasHeardThroughout && young.some(wasAway);
}

async function rescueAll(
  context: StoreContext,
  held: readonly Held[],
  guard: Filter<TaskDocument>,
  reason: AttemptLoss['reason'],
): Promise<RescuedTask[]> {
  const rescued: RescuedTask[] = [];
  const holders = await findHolders(context, held);
  const queue = [...held];
  const worker = async () => {
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
      const loss = await lossOf(context, task, holders, reason);
      const one = await rescueOne(context, task, guard, loss);
      if (one !== null) rescued.push(one);
    }
  };
  await Promise.all(Array.from({ length: Math.min(inParallel, queue.length) }, worker));
  const closed = rescued.filter((task) => isClosedTask(task.state));
  // What fails here is owed, and paid by the leader; the caller has to hear of the rescue.
  await workThrough(closed, (task) => propagate(context, task.taskId)).catch(() => {});
  return rescued;
}

/** Records of the runners that held the tasks, as they were last heard. */
async function findHolders(
  context: StoreContext,
  held: readonly Held[],
): Promise<Map<string, RunnerDocument>> {
  const ids = [...new Set(held.flatMap((task) => (task.lease ? [task.lease.runner] : [])))];
  const found = await context.collections.runners
    .find({ _id: { $in: ids } }, { projection: { heartbeatAt: 1, exit: 1 } })
    .toArray();
  return new Map(found.map((runner) => [runner._id, runner]));
}

/** What is known of the loss, for the attempt's record. Read before it is written; only told, never decided on. */
async function lossOf(
  context: StoreContext,
  task: Held,
  holders: ReadonlyMap<string, RunnerDocument>,
  reason: AttemptLoss['reason'],
): Promise<AttemptLoss> {
  const holder = holders.get(task.lease?.runner ?? '');
  const lines = await context.collections.logs
    .find(
      { runId: task.runId, jobId: task.jobId },
      { projection: { attempt: 1, at: 1, level: 1, message: 1 } },
    )
    .sort({ storedAt: -1, _id: -1 })
    .limit(keptLines)
    .toArray();
  const attempt = task.attempts.at(-1)?.n;
  return {
    reason,
    lastHeartbeatAt: holder?.heartbeatAt ?? null,
    exit: holder?.exit ?? null,
    lastLines: lines
      .filter((line) => line.attempt === attempt)
      .reverse()
      .map(({ at, level, message }) => ({ at, level, message: message.slice(0, longestLine) })),
  };
}

const inWords = { 'lease-expired': 'its lease expired', 'runner-dead': 'its runner is dead' };

function describeLoss(runnerId: string, { reason, exit, lastHeartbeatAt }: AttemptLoss): string {
  const how = exit ?? (lastHeartbeatAt && `last heard ${lastHeartbeatAt.toISOString()}`);
  return `The runner ${runnerId} was lost: ${inWords[reason]}${how ? ` (${how})` : ''}.`;
}

async function rescueOne(
  context: StoreContext,
  task: Held,
  guard: Filter<TaskDocument>,
  loss: AttemptLoss,
): Promise<RescuedTask | null> {
  if (task.lease === null) return null;
  const runnerId = task.lease.runner;
  const error = {
    name: 'TaskLostError',
    message: describeLoss(runnerId, loss),
    code: 'task-lost',
  };
  const isFinal = {
    $or: [{ $eq: ['$onLost', 'fail'] }, { $gte: [{ $add: ['$losses', 1] }, '$maxLost'] }],
  };
  const after = await context.collections.tasks.findOneAndUpdate(
    {
      _id: task._id,
      state: 'running',
      token: task.token,
      'lease.runner': runnerId,
      'lease.token': task.token,
      ...guard,
    },
    [
      {
        $set: {
          state: unlessFlagged({ $cond: [isFinal, 'failed', 'ready'] }),
          losses: { $add: ['$losses', 1] },
          attempts: attemptEnded(task.token, 'lost', error, { loss: literal(loss) }),
          error: literal(error),
        },
      },
      settleStage(),
    ] as unknown as UpdateFilter<TaskDocument>,
    { returnDocument: 'after', projection: { state: 1 } },
  );
  return after === null ? null : { taskId: task._id, runnerId, state: after.state };
}
