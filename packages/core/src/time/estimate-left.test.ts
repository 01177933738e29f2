import { expect, test } from 'vitest';
import { estimateLeftMs } from './estimate-left.js';

const batch = { queued: 10, running: 4, maxActive: 4, durationsMs: [1_000, 3_000], recentEnds: [] };

test('open runs are half done, the others take the mean, so many at once', () => {
  expect(estimateLeftMs(batch)).toBe(((10 + 2) / 4) * 2_000);
  expect(estimateLeftMs({ ...batch, maxActive: 1, running: 1 })).toBe(10.5 * 2_000);
});

test('the last ones take no less than one of them', () => {
  expect(estimateLeftMs({ ...batch, queued: 1, running: 3 })).toBe(2_000);
  expect(estimateLeftMs({ ...batch, queued: 0, running: 4 })).toBe(1_000);
  expect(estimateLeftMs({ ...batch, queued: 0, running: 1 })).toBe(1_000);
});

test('the pace counts where it is slower than the durations say', () => {
  const at = (seconds: number) => new Date(seconds * 1_000);
  const slow = [10, 20, 50, 30, 40].map(at);
  expect(estimateLeftMs({ ...batch, recentEnds: slow })).toBe(14 * 10_000);
  expect(estimateLeftMs({ ...batch, recentEnds: slow.slice(1) })).toBe(6_000);
  const quick = [1, 1.1, 1.2, 1.3, 1.4].map(at);
  expect(estimateLeftMs({ ...batch, recentEnds: quick })).toBe(6_000);
  expect(estimateLeftMs({ ...batch, durationsMs: [], recentEnds: slow })).toBe(140_000);
});

test('nothing left is no time at all; nothing known is unknown', () => {
  expect(estimateLeftMs({ ...batch, queued: 0, running: 0, durationsMs: [] })).toBe(0);
  expect(estimateLeftMs({ ...batch, durationsMs: [] })).toBeNull();
});
