import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BackoffRule, backoffDelayMs, MAX_BACKOFF_MS } from './backoff.js';

const base: BackoffRule = {
  type: 'exponential',
  delayMs: 300_000,
  maxMs: 3_600_000,
  factor: 2,
  jitter: 'none',
};
const delays = (rule: BackoffRule, count: number, random = 0) =>
  Array.from({ length: count }, (_, index) => backoffDelayMs(rule, index + 1, random));

describe('backoffDelayMs', () => {
  it('grows by the factor up to the cap and stays there for ever', () => {
    const all = delays(base, 1_100);
    expect(all.slice(0, 5)).toEqual([300_000, 600_000, 1_200_000, 2_400_000, 3_600_000]);
    expect(new Set(all.slice(4))).toEqual(new Set([3_600_000]));
  });

  it('is cut at 30 days when nothing else cuts it', () => {
    const all = delays({ ...base, maxMs: Number.POSITIVE_INFINITY }, 5_000);
    expect(all[3]).toBe(2_400_000);
    expect(Math.max(...all)).toBe(MAX_BACKOFF_MS);
    for (const delay of all) expect(new Date(Date.UTC(2026, 0) + delay).getTime()).not.toBeNaN();
  });

  it('waits the plain delay before the first retry', () => {
    const rule = { ...base, delayMs: 1_000 };
    expect(delays(rule, 3)).toEqual([1_000, 2_000, 4_000]);
    expect(delays({ ...rule, type: 'linear' }, 3)).toEqual([1_000, 2_000, 3_000]);
    expect(delays({ ...rule, type: 'fixed' }, 3)).toEqual([1_000, 1_000, 1_000]);
  });

  it('keeps jitter inside its band, below the cap', () => {
    const rules = fc.record({
      type: fc.constantFrom('fixed' as const, 'linear' as const, 'exponential' as const),
      delayMs: fc.integer({ min: 0, max: 1e10 }),
      maxMs: fc.integer({ min: 0, max: 1e10 }),
      factor: fc.double({ min: 1, max: 1e6, noNaN: true }),
    });
    const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(rules, fc.integer({ min: 1, max: 2_000 }), randoms, (rule, retry, random) => {
        const plain = backoffDelayMs({ ...rule, jitter: 'none' }, retry, random);
        const full = backoffDelayMs({ ...rule, jitter: 'full' }, retry, random);
        const equal = backoffDelayMs({ ...rule, jitter: 'equal' }, retry, random);
        for (const delay of [plain, full, equal]) {
          expect(Number.isSafeInteger(delay)).toBe(true);
          expect(delay).toBeGreaterThanOrEqual(0);
          expect(delay).toBeLessThanOrEqual(Math.min(plain, rule.maxMs, MAX_BACKOFF_MS));
        }
        expect(equal).toBeGreaterThanOrEqual(plain / 2);
      }),
    );
  });

  it('uses the whole band', () => {
    const fixed = { ...base, type: 'fixed' as const, delayMs: 1_000 };
    expect(delays({ ...fixed, jitter: 'full' }, 1, 0)).toEqual([0]);
    expect(delays({ ...fixed, jitter: 'full' }, 1, 0.9999)).toEqual([1_000]);
    expect(delays({ ...fixed, jitter: 'equal' }, 1, 0)).toEqual([500]);
    expect(delays({ ...fixed, jitter: 'equal' }, 1, 0.9999)).toEqual([1_000]);
  });
});
