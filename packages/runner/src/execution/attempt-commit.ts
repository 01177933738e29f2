/**
 * `ctx.commit` of one attempt: the task's success together with writes of the user's.
 *
 *   open --commit()--> underway --applied--> committed (the attempt is over)
 *     ^                   |
 *     +---- refused, aborted, or thrown by the user's work
 *
 * The lease is not renewed while it is underway: a renewal would be a write conflict with the transaction, again and
 * again. So the work has to be over within the lease; past it the fence refuses the commit.
 *
 * Dies underway: the server aborts the transaction or has applied it whole. After it: see execute-attempt.ts.
 */
import { isFlowError, LeaseLostError, type TransactionWork, UsageError } from '@flowline/core';
import type { Store } from '@flowline/core/internal';
import type { LeaseKeeper } from '../lease/keeper.js';
import { type PatienceOptions, patiently } from '../patiently.js';
import type { ActiveAttempt } from './active-attempt.js';

export interface CommitEnvironment {
  readonly store: Pick<Store, 'commitAttempt'>;
  readonly keeper: Pick<LeaseKeeper, 'pause' | 'resume' | 'drop'>;
  readonly runnerId: string;
  readonly patience: PatienceOptions;
}

export class AttemptCommit {
  readonly #attempt: ActiveAttempt;
  readonly #env: CommitEnvironment;
  #state: 'open' | 'underway' | 'committed' = 'open';
  #isInDoubt = false;

  constructor(attempt: ActiveAttempt, env: CommitEnvironment) {
    this.#attempt = attempt;
    this.#env = env;
  }

  /** The task has succeeded: nothing that the attempt does now is recorded. */
  get isCommitted(): boolean {
    return this.#state === 'committed';
  }

  /** No write to the task may come in the way of the transaction. */
  get isUnderway(): boolean {
    return this.#state === 'underway';
  }

  /** A commit was sent and nothing came back: the task may have succeeded. */
  get isInDoubt(): boolean {
    return this.#isInDoubt && this.#state !== 'committed';
  }

  /** See JobContext.commit. */
  async run<T>(work: TransactionWork<T>): Promise<T> {
    if (this.#state !== 'open') {
      throw new UsageError(
        `ctx.commit was called ${this.isCommitted ? 'after the attempt had committed' : 'while a commit of this attempt is under way'}`,
        { hint: 'An attempt commits once, and it is its last act: put all writes into one call.' },
      );
    }
    if (typeof work !== 'function') {
      throw new UsageError('ctx.commit: expected a function that takes a session');
    }
    const { store, keeper, runnerId, patience } = this.#env;
    const { taskId, token, attempt } = this.#attempt.claim;
    this.#state = 'underway';
    keeper.pause(taskId);
    try {
      const { value } = await patiently(
        () =>
          store.commitAttempt(
            { taskId, runnerId, token, attempt, beforeEach: () => this.#refuseWhenOver() },
            async (session, client) => work(session, client),
          ),
        {
          ...patience,
          onRetry: (error) => {
            this.#isInDoubt = true;
            patience.onRetry(error);
          },
        },
      );
      this.#state = 'committed';
      // Nothing is left to renew, and a renewal that finds it closed is no loss.
      keeper.drop(taskId);
      return value;
    } catch (error) {
      this.#state = 'open';
      if (isFlowError(error) && error.retryable) this.#isInDoubt = true;
      keeper.resume(taskId);
      throw error;
    }
  }

  /** A success after the timeout is refused like a late value; under a cancel request or a drain it counts. */
  #refuseWhenOver(): void {
    const { abortCause, signal, claim } = this.#attempt;
    if (abortCause === 'timeout') throw signal.reason;
    if (abortCause !== 'lost' && abortCause !== 'doubtful') return;
    throw new LeaseLostError(
      `The commit of attempt ${claim.attempt} of ${claim.taskId} was refused.`,
      {
        cause: signal.reason,
      },
    );
  }
}
