/**
 * Rescue: ending attempts whose holder is gone.
 *
 * Authority: the task's lease. An attempt is `lost` by one write that names state, holder and token, and for an expired
 * lease its expiry by the database's clock, so that of two rescuers one counts, and a holder that renewed in time keeps it.
 * What becomes of the task: `cancelled` under a cancel flag; `failed` where it must not start twice (`onLost`) or was lost
 * too often (`maxLost`); else `ready`. The fence has grown with the grant and never goes back, so the late holder is refused.
 *
 * When the database itself was away, leases expire though their holders live. So a lease lasts for its length of time *in
 * which the database was there*. What is known of that is when runners were heard, of whom it does not matter
 * (presence.ts); each lets itself be heard, and renews, every quarter of a lease. Let L be a lease's last renewal (its expiry
 * less a lease), q that quarter. A silence of more than 1.5 q, up to now or closed, is an outage, and all of it that is
 * after L puts off the rescue, less the q that is a pause as usual. The rescue is guarded by expiry + that, by the
 * database's clock.
 *
 * - Nobody who lives is robbed. An outage from A to B, a holder that renewed at L >= A - q: where it is counted, the silence
 *   is at least the outage, so the rescue comes at L + 4q + (B - A) - q at the earliest, which is B + 2q; where it is not, it
 *   is at most 1.5 q long, and the lease ends at A + 3q, which is B + 1.5 q. So there is always a time of more than a third
 *   of a lease for the holder to find the database again.
 * - Nobody who is dead is held for long. Without a silence: not at all. Otherwise at most for the sum of the silences that
 *   touched his lease, whoever else comes, goes, or was cut off by himself; and never longer than one lease after the
 *   last of them, since a lease of presence is a lease. Where all heartbeats are late (a starved machine) each still counts q.
 * - A silence is none of the database's when the fleet itself was dead: nobody who was there before it is heard after it,
 *   and those who could have been had `newcomerMs` to come back, which is more than the keeping threads take between two tries.
 *
 * Who leads does not matter: the judgement needs nothing that a leader would have to remember, so a new one rescues in its
 * first tick what died together with the old one.
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
import { byId } from '../unmoving.js';
import type { RescuedTask } from '../verbs/task-verbs.js';
import { excessMs, putOffMs } from './outages.js';
import { readPresence, type Silence } from './presence.js';
import { propagate } from './propagate.js';
import { workThrough } from './work-through.js';

/** How long those who lived through an outage may take to be heard again, when a newcomer was heard first; half a lease at most. */
const newcomerMs = 5_000;

const tasksAtOnce = 500;
const inParallel = 8;

/** What a lost attempt keeps of its log. */
const keptLines = 5;
const longestLine = 300;

export async function rescueExpired(
  context: StoreContext,
  leaseMs: number,
): Promise<RescuedTask[]> {
  const expired = await findRunning(context, {
    'lease.expiresAt': { $lte: await narrowTo(context.clock) },
    $expr: { $lte: ['$lease.expiresAt', NOW] },
  });
  if (expired.length === 0) return [];
  const outages = await findOutages(context, leaseMs);
  return rescueAll(context, expired, 'lease-expired', (task) => {
    const heldBackMs = putOffMs(task.lease?.expiresAt ?? new Date(), leaseMs, outages);
    return { $expr: { $lte: [{ $add: ['$lease.expiresAt', heldBackMs] }, NOW] } };
  });
}

export async function rescueRunner(
  context: StoreContext,
  runnerId: string,
): Promise<RescuedTask[]> {
  const held = await findRunning(context, { 'lease.runner': runnerId });
  return rescueAll(context, held, 'runner-dead', () => ({}));
}

type Held = Pick<TaskDocument, '_id' | 'runId' | 'jobId' | 'token' | 'lease' | 'attempts'>;

const heldFields = { runId: 1, jobId: 1, token: 1, lease: 1, attempts: { $slice: -1 } } as const;

function findRunning(context: StoreContext, where: Filter<TaskDocument>): Promise<Held[]> {
  return context.collections.tasks
    .find({ state: 'running', ...where }, { projection: heldFields })
    .limit(tasksAtOnce)
    .toArray();
}

/** Silences that were the database's, the one that lasts included: see the head of this file. */
async function findOutages(context: StoreContext, leaseMs: number): Promise<Silence[]> {
  const presence = await readPresence(context);
  if (presence === null) return [];
  const { now, heardAt, silences } = presence;
  const closed = silences.filter((silence) => excessMs(silence, leaseMs) > 0);
  const open = { from: heardAt, to: now };
  const [first] = closed;
  if (first === undefined) return [open];
  const heardAfter = await context.collections.runners
    .find(
      { heartbeatAt: { $gte: first.to } },
      // By ids: one that is heard at this moment moves in the index of heartbeats, and must not be passed over.
      { projection: { _id: 0, startedAt: 1, heartbeatAt: 1 }, hint: byId },
    )
    .toArray();
  const couldStillComeMs = Math.min(newcomerMs, leaseMs / 2);
  const wasOutage = ({ from, to }: Silence) =>
    now.getTime() - to.getTime() < couldStillComeMs ||
    heardAfter.some((runner) => runner.startedAt <= from && runner.heartbeatAt >= to);
  return [...closed.filter(wasOutage), open];
}

async function rescueAll(
  context: StoreContext,
  held: readonly Held[],
  reason: AttemptLoss['reason'],
  guardOf: (task: Held) => Filter<TaskDocument>,
): Promise<RescuedTask[]> {
  const rescued: RescuedTask[] = [];
  const holders = await findHolders(context, held);
  const queue = [...held];
  const worker = async () => {
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
      const loss = await lossOf(context, task, holders, reason);
      const one = await rescueOne(context, task, guardOf(task), loss);
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
