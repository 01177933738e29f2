/**
 * The end of an attempt. Authority: state, holder and token of the task, in one write that stores the outcome, ends the
 * attempt, gives the lease up and, if the task closes, owes its propagation. A stale holder matches nothing.
 *
 * When nothing matches, the task is read back: the attempt with this token and this outcome means that the write had been
 * applied and its answer was lost. Anything else is a lease that is lost. A lease that expired without a rescue is still
 * good: until someone takes the task, its holder may finish it.
 *
 * Dying before the write: the lease lapses. After it: the mark `propagated: false` stands, see propagate.ts.
 */
import type { ClientSession, Document, UpdateFilter } from 'mongodb';
import { LeaseLostError } from '../../errors.js';
import type { StoredError } from '../../model/run.js';
import type { AttemptOutcome, TaskState } from '../../model/states.js';
import type { AttemptDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { toPayload } from '../payload/payload.js';
import {
  attemptEnded,
  literal,
  NOW,
  settleStage,
  storedError,
  unlessFlagged,
} from '../task-transitions.js';
import type { FinishOutcome, FinishParams, FinishResult } from '../verbs/task-verbs.js';

/** What an outcome means for the task, when no cancellation was requested. */
interface Ending {
  readonly state: TaskState;
  readonly outcome: AttemptOutcome;
  /** Kept with the attempt; for a skip or a hand-back its reason. */
  readonly error: StoredError | null;
}

/** A delay beyond this is cut: later instants are not dates any more. About 1,000 years. */
const longestDelayMs = 1_000 * 365 * 24 * 3_600_000;

export async function finishAttempt(
  context: StoreContext,
  params: FinishParams,
): Promise<FinishResult> {
  return (await endAttempt(context, params)) ?? readBack(context, params, endingOf(params.outcome));
}

/** The fenced write itself, in a transaction when there is a session. Null when it matches nothing. */
export async function endAttempt(
  context: StoreContext,
  params: FinishParams,
  session?: ClientSession,
): Promise<FinishResult | null> {
  const ending = endingOf(params.outcome);
  const finished = await context.collections.tasks.findOneAndUpdate(
    {
      _id: params.taskId,
      state: 'running',
      token: params.token,
      'lease.runner': params.runnerId,
      'lease.token': params.token,
    },
    endingPipeline(context, params, ending) as unknown as UpdateFilter<TaskDocument>,
    {
      returnDocument: 'after',
      projection: { state: 1, attempts: { $slice: -1 } },
      ...(session === undefined ? {} : { session }),
    },
  );
  if (finished === null) return null;
  const outcome = finished.attempts.at(-1)?.outcome ?? ending.outcome;
  return { state: finished.state, outcome, repeated: false };
}

async function readBack(
  context: StoreContext,
  params: FinishParams,
  ending: Ending,
): Promise<FinishResult> {
  const task = await context.collections.tasks.findOne(
    { _id: params.taskId },
    { projection: { state: 1, attempts: 1, lease: 1 } },
  );
  const ours = task?.attempts.find(
    (one) =>
      one.n === params.attempt && one.token === params.token && one.runner === params.runnerId,
  );
  if (ours !== undefined && isOutcome(ours, ending)) {
    const state = ours.outcome === 'cancelled' ? 'cancelled' : ending.state;
    return { state, outcome: ours.outcome ?? ending.outcome, repeated: true };
  }
  const why =
    task === null
      ? 'the task does not exist any more'
      : ours?.outcome
        ? `the attempt has ended ${ours.outcome}`
        : task.lease
          ? `${task.lease.runner} holds it with token ${task.lease.token}`
          : `it is ${task.state}`;
  throw new LeaseLostError(
    `The ${params.outcome.kind} of attempt ${params.attempt} of ${params.taskId} was refused: ${why}.`,
  );
}

/** Under a cancel flag everything but a success was stored as `cancelled`. */
function isOutcome(attempt: AttemptDocument, ending: Ending): boolean {
  if (attempt.outcome === ending.outcome) return true;
  return attempt.outcome === 'cancelled' && ending.outcome !== 'succeeded';
}

function endingOf(outcome: FinishOutcome): Ending {
  switch (outcome.kind) {
    case 'succeeded':
      return { state: 'succeeded', outcome: 'succeeded', error: null };
    case 'failed':
      return { state: 'failed', outcome: 'failed', error: outcome.error };
    case 'retry':
      return {
        state: outcome.delayMs > 0 ? 'delayed' : 'ready',
        outcome: 'failed',
        error: outcome.error,
      };
    case 'skipped':
      return {
        state: 'skipped',
        outcome: 'skipped',
        error: { name: 'SkipTask', message: outcome.reason },
      };
    case 'returned':
      return {
        state: 'ready',
        outcome: 'returned',
        error: { name: 'Returned', message: outcome.reason },
      };
    case 'cancelled':
      return { state: 'cancelled', outcome: 'cancelled', error: outcome.error };
  }
}

function endingPipeline(
  context: StoreContext,
  { outcome, token }: FinishParams,
  ending: Ending,
): Document[] {
  const isSuccess = ending.outcome === 'succeeded';
  const state = isSuccess ? ending.state : unlessFlagged(ending.state);
  const attemptOutcome = isSuccess ? ending.outcome : unlessFlagged(ending.outcome);
  const counts = ending.outcome === 'failed' ? unlessFlaggedAdd('$failures') : '$failures';
  const delayMs = outcome.kind === 'retry' ? Math.min(outcome.delayMs, longestDelayMs) : 0;
  // A success clears the error of an earlier attempt: it stays in the history.
  const error = ending.outcome === 'returned' ? '$error' : literal(storedError(ending.error));
  return [
    {
      $set: {
        state,
        attempts: attemptEnded(token, attemptOutcome, ending.error),
        failures: counts,
        error,
        ...(outcome.kind === 'succeeded'
          ? { result: literal(toPayload(outcome.result, 'result', context.payloadLimitBytes)) }
          : {}),
        ...(delayMs > 0 ? { delayedUntil: { $add: [NOW, Math.round(delayMs)] } } : {}),
      },
    },
    settleStage(),
  ];
}

function unlessFlaggedAdd(field: string): Document {
  return { $cond: [{ $ne: ['$cancelRequestedAt', null] }, field, { $add: [field, 1] }] };
}
