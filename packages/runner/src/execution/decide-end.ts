/** Pure: from how the handler ended and why it was aborted to what is written. */
import type { FinishOutcome } from '@flowline/core/internal';
import type { AbortCause } from './active-attempt.js';
import { type FailureContext, outcomeOfError, storeError } from './outcome.js';
import type { HandlerEnd } from './run-handler.js';

/**
 * Null: nothing is to be written, the task is not ours any more.
 *
 * A value that came after the timeout is dropped. A value under a cancel request, a drain or a doubtful lease is
 * offered: the store's fence accepts it only from the valid holder.
 */
export function decideEnd(
  end: HandlerEnd,
  aborted: AbortCause | undefined,
  abortReason: unknown,
  context: FailureContext,
): FinishOutcome | null {
  if (aborted === 'timeout') return outcomeOfError(abortReason, context);
  if (end.kind === 'returned') return { kind: 'succeeded', result: end.value };
  switch (aborted) {
    case 'lost':
      return null;
    case 'cancelled':
      return { kind: 'cancelled', error: storeError(abortReason) };
    case 'doubtful':
      // It has settled, so nothing of it runs on: if the task is still ours, nobody need wait for its lease to end.
      return { kind: 'returned', reason: 'the lease could not be confirmed in time' };
    case 'draining':
      return { kind: 'returned', reason: 'the runner shut down before the attempt was over' };
    case undefined:
      return outcomeOfError(end.error, context);
  }
}
