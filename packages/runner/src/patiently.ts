import { isFlowError } from '@flowline/core';
import type { Clock } from './clock.js';

export interface PatienceOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Ends the waiting: the last error is thrown. */
  readonly signal: AbortSignal;
  readonly onRetry: (error: unknown) => void;
  /** Longest pause between two tries, in ms. Default 2,000. */
  readonly longestRetryMs?: number;
}

/**
 * Repeats a call to the store while its error says that the same call may succeed later. For writes that the store
 * recognises when they are repeated.
 */
export async function patiently<T>(call: () => Promise<T>, options: PatienceOptions): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isFlowError(error) || !error.retryable || options.signal.aborted) throw error;
      options.onRetry(error);
      const bound = Math.min(options.longestRetryMs ?? 2_000, 100 * 2 ** Math.min(tries, 10));
      await pause(bound / 2 + (bound / 2) * options.random(), options);
    }
  }
}

function pause(ms: number, { clock, signal }: PatienceOptions): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
