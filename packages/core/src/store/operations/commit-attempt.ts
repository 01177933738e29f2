/**
 * The success of an attempt and writes of the user's, in one transaction.
 *
 * Authority: the same fenced write as in finish-attempt.ts, sent last, so that the task is locked for a moment only. A
 * holder that was deposed since the transaction began meets a write conflict, is run again, matches nothing, and the
 * transaction is aborted: its writes and its success appear together or not at all.
 *
 * The lease must not be renewed meanwhile: the renewal would be that conflict. The caller sees to it.
 *
 * Dying before the commit: the server aborts the transaction, the lease lapses. After it: the mark `propagated: false`
 * stands. When the answer of the commit is lost, the driver repeats it; when that does not help, the task is read back: an attempt
 * that has succeeded under this token is this commit, with the result that is stored. So the verb may be repeated.
 */
import { MongoError } from 'mongodb';
import type { TransactionWork } from '../../definition/transaction-work.js';
import { isFlowError, LeaseLostError, NoTransactionsError } from '../../errors.js';
import { hello, type StoreContext } from '../context.js';
import { convertDriverError, converting } from '../driver-errors.js';
import { fromPayload } from '../payload/payload.js';
import type { CommitParams, CommitResult } from '../verbs/task-verbs.js';
import { endAttempt } from './finish-attempt.js';

/** Stores that were seen to have transactions. A deployment does not lose them while we are connected. */
const capable = new WeakSet<StoreContext>();

export async function commitAttempt<T>(
  context: StoreContext,
  params: CommitParams,
  work: TransactionWork<T>,
): Promise<CommitResult<T>> {
  await requireTransactions(context);
  const { client } = context;
  /** What `work` threw last: the user's own, to be passed on as it is. */
  let thrown: { readonly error: unknown } | undefined;
  /** A commit may be under way. */
  let wasOffered = false;
  try {
    const value = await client.withSession((session) =>
      session.withTransaction(
        async () => {
          thrown = undefined;
          params.beforeEach?.();
          const value = await work(session, client).catch((error: unknown) => {
            thrown = { error };
            throw error;
          });
          const { taskId, runnerId, token, attempt } = params;
          const ended = await endAttempt(
            context,
            { taskId, runnerId, token, attempt, outcome: { kind: 'succeeded', result: value } },
            session,
          );
          if (ended === null) throw leaseLost(params);
          wasOffered = true;
          return value;
        },
        {
          readConcern: { level: 'snapshot' },
          writeConcern: { w: 'majority' },
          readPreference: 'primary',
        },
      ),
    );
    return { value, repeated: false };
  } catch (error) {
    if (thrown !== undefined && error === thrown.error) throw error;
    // Refused, or the answer is lost: in both cases an earlier commit of this attempt may have been applied.
    if (isFlowError(error, 'lease-lost') || (wasOffered && error instanceof MongoError)) {
      const committed = await findCommitted<T>(context, params).catch(() => null);
      if (committed !== null) {
        await converting(() => makeSafe(context, params));
        return committed;
      }
    }
    throw convertDriverError(error);
  }
}

async function requireTransactions(context: StoreContext): Promise<void> {
  if (capable.has(context)) return;
  const { setName, msg } = await converting(() => hello(context.db));
  if (setName === undefined && msg !== 'isdbgrid') {
    throw new NoTransactionsError(
      'ctx.commit needs transactions: expected a replica set or a sharded cluster, found a standalone server.',
      {
        hint: 'Start the server with --replSet (one member is enough), or use ctx.idempotencyKey and ctx.fence instead.',
      },
    );
  }
  capable.add(context);
}

/** The result that this attempt has committed before, if it has. */
async function findCommitted<T>(
  context: StoreContext,
  params: CommitParams,
): Promise<CommitResult<T> | null> {
  const task = await context.collections.tasks.findOne(
    { _id: params.taskId },
    { projection: { attempts: 1, result: 1 } },
  );
  const isCommitted = task?.attempts.some(
    (one) => one.token === params.token && one.outcome === 'succeeded',
  );
  return isCommitted ? { value: fromPayload(task?.result) as T, repeated: true } : null;
}

/**
 * What was read may be lost with this primary. A write that matches nothing is answered when a majority of the servers has
 * everything before it.
 */
async function makeSafe(context: StoreContext, { taskId }: CommitParams): Promise<void> {
  await context.collections.tasks.updateOne(
    { _id: taskId, token: { $lt: 0 } },
    { $set: { progress: null } },
  );
}

function leaseLost({ taskId, attempt }: CommitParams): LeaseLostError {
  return new LeaseLostError(
    `The commit of attempt ${attempt} of ${taskId} was refused: the task is not this attempt's any more. None of its writes was kept.`,
  );
}
