import { StoreError } from '@flowline/core';
import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.js';
import { Loop } from './loop.js';

/** A clock whose timers fire when the test says so. */
function manualClock() {
  const waiting: { ms: number; fire: () => void }[] = [];
  const asked: number[] = [];
  let tell: (() => void) | undefined;
  const clock: Clock = {
    monotonicMs: () => 0,
    after(ms, fire) {
      const entry = { ms, fire };
      waiting.push(entry);
      asked.push(ms);
      tell?.();
      return () => {
        const at = waiting.indexOf(entry);
        if (at >= 0) waiting.splice(at, 1);
      };
    },
  };
  const sleeping = () =>
    waiting.length > 0 ? Promise.resolve() : new Promise<void>((resolve) => (tell = resolve));
  return { clock, asked, sleeping, fire: () => waiting[0]?.fire() };
}

describe('a loop', () => {
  it('goes on after a turn that throws, with growing bounded delays', async () => {
    const { clock, asked, sleeping, fire } = manualClock();
    const errors: number[] = [];
    let turns = 0;
    const loop = new Loop({
      name: 'test',
      clock,
      random: () => 1,
      turn: async () => {
        turns += 1;
        throw new StoreError('away', { retryable: true });
      },
      onError: (_error, failures) => errors.push(failures),
    });
    loop.start();
    for (let turn = 1; turn <= 8; turn += 1) {
      await sleeping();
      expect(turns).toBe(turn);
      fire();
      await Promise.resolve();
    }
    await sleeping();
    expect(asked.slice(0, 6)).toEqual([250, 500, 1_000, 2_000, 2_000, 2_000]);
    expect(errors).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await loop.stop();
  });

  it('takes the next turn at once when it is woken, also during a turn', async () => {
    const { clock, sleeping } = manualClock();
    let turns = 0;
    const loop = new Loop({
      name: 'test',
      clock,
      random: () => 0,
      turn: async () => {
        turns += 1;
        if (turns === 1) loop.wake();
        return 60_000;
      },
      onError: () => {},
    });
    loop.start();
    await sleeping();
    expect(turns).toBe(2);
    loop.wake();
    await Promise.resolve();
    await sleeping();
    expect(turns).toBe(3);
    await loop.stop();
    expect(turns).toBe(3);
  });

  it('says how it is: a turn under way, the last that worked, failures in a row, and its death', async () => {
    const { clock, sleeping, fire } = manualClock();
    const deaths: unknown[] = [];
    let outcome: () => Promise<number> = async () => 60_000;
    let isDeaf = true;
    const loop = new Loop({
      name: 'test',
      clock,
      random: () => 0,
      turn: () => outcome(),
      onError: () => {
        if (!isDeaf) throw new Error('even the telling fails');
      },
      onDeath: (error) => deaths.push(error),
    });
    expect(loop.pulse).toMatchObject({ isAlive: false, succeededAt: null });
    loop.start();
    expect(loop.pulse).toMatchObject({ isAlive: true, turnSince: 0 });
    await sleeping();
    expect(loop.pulse).toMatchObject({ turnSince: null, succeededAt: 0, failures: 0 });
    outcome = async () => {
      throw new StoreError('away', { retryable: true });
    };
    loop.wake();
    await Promise.resolve();
    await sleeping();
    expect(loop.pulse).toMatchObject({ isAlive: true, failures: 1 });
    expect(deaths).toEqual([]);
    isDeaf = false;
    fire();
    await new Promise(setImmediate);
    expect(loop.pulse.isAlive).toBe(false);
    expect(deaths).toEqual([expect.objectContaining({ message: 'even the telling fails' })]);
    await loop.stop();
  });
});
