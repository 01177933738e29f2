/** How the delay before the next attempt grows. */
export interface BackoffRule {
  readonly type: 'fixed' | 'linear' | 'exponential';
  /** Before the second attempt. */
  readonly delayMs: number;
  /** The delay never grows above it. */
  readonly maxMs: number;
  /** `exponential`: the growth from one retry to the next. */
  readonly factor: number;
  /** `full`: between 0 and the delay; `equal`: between half and all of it. */
  readonly jitter: 'none' | 'full' | 'equal';
}

/** No delay is longer than 30 days, whatever `max` says: an instant so far away is always a valid Date. */
export const MAX_BACKOFF_MS = 30 * 86_400_000;

/**
 * Milliseconds to wait before a retry. `retry` counts from 1: the wait between the first attempt and the second. The delays
 * are `delay` (fixed), `delay * k` (linear) and `delay * factor^(k - 1)` (exponential), cut at `maxMs` and at
 * {@link MAX_BACKOFF_MS} before jitter is taken, so jitter never lifts one above the cap. The result is whole, and 0 or more.
 *
 * `random` is a number in [0, 1); without jitter it is not used. Never overflows: a power that is too large is the cap.
 */
export function backoffDelayMs(rule: BackoffRule, retry: number, random: number): number {
  const cap = Math.max(0, Math.min(rule.maxMs, MAX_BACKOFF_MS));
  const k = Math.max(1, Math.floor(retry));
  const grown = rule.delayMs * growthOf(rule, k);
  // Infinity is cut as any large number is; NaN (0 * Infinity) means a delay of nothing.
  const delay = Math.round(Math.min(Number.isNaN(grown) ? 0 : Math.max(0, grown), cap));
  switch (rule.jitter) {
    case 'none':
      return delay;
    case 'full':
      return Math.floor(random * (delay + 1));
    case 'equal':
      return Math.ceil(delay / 2) + Math.floor(random * (Math.floor(delay / 2) + 1));
  }
}

function growthOf(rule: BackoffRule, k: number): number {
  switch (rule.type) {
    case 'fixed':
      return 1;
    case 'linear':
      return k;
    case 'exponential':
      return rule.factor ** (k - 1);
  }
}
