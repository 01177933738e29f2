/**
 * The parts of update pipelines that several transitions share, so that each rule about a task's state stands once:
 * every write to a closed state ends the task and owes propagation; every text from outside is a literal.
 */
import type { Document } from 'mongodb';
import type { StoredError } from '../model/run.js';
import { closedTaskStates, type TaskState } from '../model/states.js';
import type { StoredErrorDocument } from './collections.js';

/** The database's clock, inside pipelines and `$expr`. */
export const NOW = '$$NOW';

/** A value that is never read as a field path or an operator. */
export function literal(value: unknown): Document {
  return { $literal: value };
}

/** True when cancellation was requested for the task. */
export const isFlagged: Document = { $ne: ['$cancelRequestedAt', null] };

/** The value of the first condition that holds, else `otherwise`. */
export function choose(branches: readonly (readonly [unknown, unknown])[], otherwise: unknown) {
  return branches.reduceRight<unknown>(
    (rest, [condition, value]) => ({ $cond: [condition, value, rest] }),
    otherwise,
  );
}

/** `state`, unless cancellation was requested: then `cancelled`. */
export function unlessFlagged(state: unknown): Document {
  return { $cond: [isFlagged, 'cancelled', state] };
}

/**
 * The stage that follows every change of state, reading the new state: what is closed has ended, holds no lease and owes
 * propagation; what is ready has its age.
 */
export function settleStage(): Document {
  const isClosed = { $in: ['$state', [...closedTaskStates]] };
  return {
    $set: {
      endedAt: { $cond: [isClosed, NOW, null] },
      propagated: { $not: [isClosed] },
      readyAt: { $cond: [{ $eq: ['$state', 'ready'] }, NOW, '$readyAt'] },
      delayedUntil: { $cond: [{ $eq: ['$state', 'delayed'] }, '$delayedUntil', null] },
      lease: { $cond: [{ $eq: ['$state', 'running'] }, '$lease', null] },
    },
  };
}

/** The stages that take a task that does not run to `state`. */
export function moveTo(state: TaskState): Document[] {
  return [{ $set: { state } }, settleStage()];
}

/** The history with the attempt of this token ended. `outcome` is an expression, `more` are further fields of the end. */
export function attemptEnded(
  token: unknown,
  outcome: unknown,
  error: StoredError | null,
  more: Document = {},
): Document {
  const end = { endedAt: NOW, outcome, error: literal(storedError(error)), ...more };
  return {
    $map: {
      input: '$attempts',
      as: 'one',
      in: { $cond: [{ $eq: ['$$one.token', token] }, { $mergeObjects: ['$$one', end] }, '$$one'] },
    },
  };
}

/** So many attempts keep their stacks and whole messages: a task that is tried a thousand times stays small. */
const detailedAttempts = 20;

/** The history with one more attempt. */
export function attemptAdded(attempt: Document): Document {
  const older = { $subtract: [{ $size: '$attempts' }, detailedAttempts] };
  const shortened = {
    $map: {
      input: { $slice: ['$attempts', older] },
      as: 'one',
      in: {
        $mergeObjects: [
          '$$one',
          {
            error: {
              $cond: [
                { $eq: ['$$one.error', null] },
                null,
                {
                  name: '$$one.error.name',
                  message: { $substrCP: ['$$one.error.message', 0, 200] },
                },
              ],
            },
          },
        ],
      },
    },
  };
  return {
    $concatArrays: [
      { $cond: [{ $gt: [older, 0] }, shortened, []] },
      { $slice: ['$attempts', -detailedAttempts] },
      [attempt],
    ],
  };
}

/** An error with the fields that history keeps, and no others. */
export function storedError(error: StoredError | null): StoredErrorDocument | null {
  if (error === null) return null;
  return {
    name: error.name,
    message: error.message,
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(error.stack === undefined ? {} : { stack: error.stack.slice(0, 4_096) }),
  };
}
