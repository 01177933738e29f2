import { NonRetryableError, PayloadError, RetryAfterError, SkipTask } from '@flowline/core';
import type { JobDefinition } from '@flowline/core/internal';
import { describe, expect, it } from 'vitest';
import { decideEnd } from './decide-end.js';
import { type FailureContext, outcomeOfError, storeError } from './outcome.js';

class Transient extends Error {}
class Permanent extends Error {}

function context(
  failures: number,
  attempts: number,
  more: Partial<FailureContext> = {},
): FailureContext {
  const backoff = {
    type: 'exponential',
    delayMs: 1_000,
    maxMs: 60_000,
    factor: 2,
    jitter: 'none',
  } as const;
  const job = { retry: { attempts, backoff } } as unknown as JobDefinition;
  return { job, failures, retryOn: [], abortOn: [], random: () => 0.5, ...more };
}

describe('the outcome of an error', () => {
  it('is a retry with 1 s, 2 s, 4 s between four attempts, then a failure', () => {
    const outcomes = [0, 1, 2, 3].map((failures) =>
      outcomeOfError(new Error('no'), context(failures, 4)),
    );
    expect(
      outcomes.map((outcome) => ('delayMs' in outcome ? outcome.delayMs : outcome.kind)),
    ).toEqual([1_000, 2_000, 4_000, 'failed']);
  });

  it('is a failure at once with one attempt', () => {
    expect(outcomeOfError(new Error('no'), context(0, 1)).kind).toBe('failed');
  });

  it('is a failure at once for NonRetryableError, also from another copy of the package', () => {
    expect(outcomeOfError(new NonRetryableError('404'), context(0, 6))).toMatchObject({
      kind: 'failed',
      error: { name: 'NonRetryableError', message: '404' },
    });
    const foreign = Object.assign(new Error('404'), {
      code: 'non-retryable',
      [Symbol.for('flowline.error')]: true,
    });
    expect(outcomeOfError(foreign, context(0, 6)).kind).toBe('failed');
  });

  it('is a failure at once for a result that cannot be stored', () => {
    expect(outcomeOfError(new PayloadError('result', 'too large'), context(0, 6)).kind).toBe(
      'failed',
    );
  });

  it('goes by abortOn before retryOn, by class or by the name of a class', () => {
    const lists = { retryOn: [Error], abortOn: [Permanent] };
    expect(outcomeOfError(new Permanent('x'), context(0, 6, lists)).kind).toBe('failed');
    expect(outcomeOfError(new Transient('x'), context(0, 6, lists)).kind).toBe('retry');
    const otherCopy = new (class Permanent extends Error {})('x');
    expect(outcomeOfError(otherCopy, context(0, 6, lists)).kind).toBe('failed');
    expect(outcomeOfError(new Error('x'), context(0, 6, { retryOn: [Transient] })).kind).toBe(
      'failed',
    );
  });

  it('takes the delay of RetryAfterError, and the backoff where that cannot be read', () => {
    expect(outcomeOfError(new RetryAfterError('90s'), context(0, 2))).toMatchObject({
      kind: 'retry',
      delayMs: 90_000,
    });
    expect(outcomeOfError(new RetryAfterError('90s'), context(1, 2)).kind).toBe('failed');
    expect(outcomeOfError(new RetryAfterError('soon'), context(0, 2))).toMatchObject({
      kind: 'retry',
      delayMs: 1_000,
      error: { message: expect.stringContaining('backoff was used') },
    });
  });

  it('is a skip for SkipTask', () => {
    expect(outcomeOfError(new SkipTask('nothing today'), context(0, 3))).toEqual({
      kind: 'skipped',
      reason: 'nothing today',
    });
  });
});

describe('what is kept of an error', () => {
  it('is short, whatever was thrown', () => {
    const hostile = {
      toString() {
        throw new Error('never');
      },
    };
    for (const thrown of [undefined, null, 'text', 5n, Symbol('s'), hostile, () => 1]) {
      expect(storeError(thrown).message).toContain('not an error was thrown');
    }
    const long = storeError(new Error('x'.repeat(10_000)));
    expect(long.message.length).toBeLessThanOrEqual(2_048);
    expect(long.stack?.length).toBeLessThanOrEqual(4_096);
  });
});

describe('the end of an attempt', () => {
  const returned = { kind: 'returned', value: 7 } as const;
  const threw = { kind: 'threw', error: new Error('no') } as const;
  const reason = new Error('why');

  it('records a value, also under a cancel request, a drain or a doubtful lease', () => {
    for (const cause of [undefined, 'cancelled', 'draining', 'lost'] as const) {
      expect(decideEnd(returned, cause, reason, context(0, 1))).toEqual({
        kind: 'succeeded',
        result: 7,
      });
    }
  });

  it('drops a value that came after the timeout', () => {
    expect(decideEnd(returned, 'timeout', reason, context(0, 1))).toMatchObject({
      kind: 'failed',
      error: { message: 'why' },
    });
  });

  it('hands back on drain, cancels on cancel, writes nothing when the lease is lost', () => {
    expect(decideEnd(threw, 'draining', reason, context(0, 1))?.kind).toBe('returned');
    expect(decideEnd(threw, 'cancelled', reason, context(0, 9))?.kind).toBe('cancelled');
    expect(decideEnd(threw, 'lost', reason, context(0, 9))).toBeNull();
  });
});
