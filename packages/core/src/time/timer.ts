/** The longest delay that a JavaScript timer keeps: 2^31 - 1 ms, about 24.8 days. A longer one fires after 1 ms. */
export const MAX_TIMER_MS = 2_147_483_647;

/**
 * A delay that is safe to give to `setTimeout`: `ms` rounded up, never below 0, never above {@link MAX_TIMER_MS}.
 * When the timer ends, compare the clock again and set the rest: the delay may have been cut. NaN gives 0.
 */
export function boundedTimerMs(ms: number): number {
  if (!(ms > 0)) return 0;
  return Math.min(Math.ceil(ms), MAX_TIMER_MS);
}
