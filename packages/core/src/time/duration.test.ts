import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, MAX_DURATION_MS, parseDuration } from './duration.js';

describe('parseDuration', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['1w', 604_800_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['0s', 0],
    ['PT5M', 300_000],
    ['PT1H30M', 5_400_000],
    ['P2D', 172_800_000],
    ['P1DT12H', 129_600_000],
    ['P1W', 604_800_000],
    ['PT0.25S', 250],
    ['PT90S', 90_000],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text, 'timeout')).toBe(ms);
  });

  it.each([
    [
      30,
      "timeout: expected a duration such as '250ms', '30s', '5m', '1h30m', '2d' or 'PT5M', found 30",
      "Write '30ms' or '30s'",
    ],
    ['30', 'found "30"', "'30s'"],
    ['', 'found ""', undefined],
    ['1.5h', 'found "1.5h"', '1h30m'],
    ['5 m', 'found "5 m"', 'without blanks'],
    ['-5m', 'found "-5m"', 'never negative'],
    ['30m1h', 'found "30m1h"', 'largest first'],
    ['1m1m', 'found "1m1m"', 'once'],
    ['5min', 'found "5min"', undefined],
    ['P1M', 'found "P1M"', 'write days'],
    ['P', 'found "P"', undefined],
    ['PT', 'found "PT"', undefined],
    [Number.NaN, 'found NaN', undefined],
    [null, 'found null', undefined],
    [undefined, 'found nothing', undefined],
    [{ minutes: 5 }, 'found {"minutes":5}', undefined],
    ['999999d', 'at most 36500d', undefined],
    [`${'9'.repeat(400)}d`, 'at most 36500d', undefined],
  ])('refuses %j', (text, message, hint) => {
    let thrown: { message: string; hint?: string; field?: string } | undefined;
    try {
      parseDuration(text, 'timeout');
    } catch (error) {
      thrown = error as typeof thrown;
    }
    expect(thrown?.field).toBe('timeout');
    expect(thrown?.message).toContain(message);
    if (hint !== undefined) expect(thrown?.hint).toContain(hint);
  });

  it('keeps to the limits of the field', () => {
    expect(() => parseDuration('1s', 'lease', { minMs: 5_000 })).toThrow(
      'lease: expected at least 5s',
    );
    expect(() => parseDuration('2h', 'lease', { maxMs: 60_000 })).toThrow(
      'lease: expected at most 1m',
    );
    expect(parseDuration('5s', 'lease', { minMs: 5_000, maxMs: 5_000 })).toBe(5_000);
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0ms'],
    [90_000, '1m30s'],
    [86_400_000, '1d'],
    [604_800_000, '7d'],
    [93_784_005, '1d2h3m4s5ms'],
    [1.4, '1ms'],
  ])('writes %d as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('is read back as the same number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_DURATION_MS }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});
