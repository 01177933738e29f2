import { expect, it } from 'vitest';
import { boundedTimerMs, MAX_TIMER_MS } from './timer.js';

it('never gives a timer more than it can keep, nor less than nothing', () => {
  const fortyDays = 40 * 86_400_000;
  expect(boundedTimerMs(fortyDays)).toBe(MAX_TIMER_MS);
  expect(boundedTimerMs(Number.POSITIVE_INFINITY)).toBe(MAX_TIMER_MS);
  expect(boundedTimerMs(1_500.2)).toBe(1_501);
  expect(boundedTimerMs(-1)).toBe(0);
  expect(boundedTimerMs(Number.NaN)).toBe(0);
});
