import type { Clock } from '../clock.js';
import type { ActiveAttempt } from './active-attempt.js';

export type HandlerEnd =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown };

export interface HandlerOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly settleMs: number;
  /** Called once when the handler has not settled `settleMs` after its timeout. */
  readonly onStuck: () => void;
}

/**
 * Calls the user's handler and waits until its promise settles, however long that takes: an attempt never overlaps
 * with the next one in this process. At its timeout the signal is aborted; `settleMs` later the handler counts as
 * stuck. Never throws.
 */
export async function runHandler(
  attempt: ActiveAttempt,
  call: () => unknown,
  options: HandlerOptions,
): Promise<HandlerEnd> {
  let cancelStuck = () => {};
  const cancelTimeout = options.clock.after(options.timeoutMs, () => {
    attempt.abort(
      'timeout',
      `${attempt.claim.jobId} ran longer than its timeout of ${options.timeoutMs} ms`,
    );
    cancelStuck = options.clock.after(options.settleMs, options.onStuck);
  });
  try {
    return { kind: 'returned', value: await call() };
  } catch (error) {
    return { kind: 'threw', error };
  } finally {
    attempt.markSettled();
    cancelTimeout();
    cancelStuck();
  }
}
