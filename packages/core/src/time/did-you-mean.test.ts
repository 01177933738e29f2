import { expect, it } from 'vitest';
import { didYouMean } from './did-you-mean.js';

it('finds a slip of the pen and nothing farther', () => {
  const known = ['cron', 'every', 'timeZone', 'startAt'];
  expect(didYouMean('timezone', known)).toBe('timeZone');
  expect(didYouMean('evry', known)).toBe('every');
  expect(didYouMean('starAt', known)).toBe('startAt');
  expect(didYouMean('retries', known)).toBeUndefined();
  expect(didYouMean('at', known)).toBeUndefined();
});
