import { once } from 'node:events';
import { StoreError } from '@flowline/core';
import type { Store } from '@flowline/core/internal';
import { describe, expect, it } from 'vitest';
import { RunnerEmitter } from '../events.js';
import { resolveRunnerOptions } from '../options.js';
import { Scheduler } from './scheduler.js';

const leaseMs = 20_000;

/** A scheduler on a store that writes down what it is asked, and a clock that goes on where the store takes its time. */
function system(
  take: (verb: string) => number,
  ofAnother: (acquired: number) => boolean,
  /** How long it sleeps between two ticks. */
  sleep: () => number = () => 0,
  /** What it answers, by verb, where that is not nothing. */
  more: Record<string, (...args: never[]) => unknown> = {},
) {
  let nowMs = 0;
  let acquired = 0;
  const asked: string[] = [];
  const events = new RunnerEmitter();
  const lease = { holder: 'me', epoch: 1, expiresAt: new Date(0) };
  const answers: Record<string, (...args: never[]) => unknown> = {
    acquireLeadership: () => {
      acquired += 1;
      return ofAnother(acquired) ? null : lease;
    },
    renewLeadership: () => lease,
    earliestFireAt: () => null,
    settleDue: () => ({ more: false, failed: [], broken: [], notAdmitted: [] }),
    settleDamaged: () => [],
    findDagsWithQueuedRuns: () => [],
    rescueExpired: () => [],
    noticeMissed: () => ({ more: false }),
    listUnannounced: () => [],
    ...more,
  };
  const store = new Proxy({} as Store, {
    get(_target, verb: string) {
      if (verb === 'estimateServerTime') return () => new Date(nowMs);
      return async (...args: never[]) => {
        if (!/Leadership|earliest|rehearse/.test(verb)) asked.push(verb);
        nowMs += take(verb);
        const answer = answers[verb];
        return answer === undefined ? 0 : answer(...args);
      };
    },
  });
  const waits: (() => void)[] = [];
  const waitedMs: number[] = [];
  const failures: unknown[] = [];
  const lines: string[] = [];
  events.on('failed', (_loop, error) => failures.push(error));
  const scheduler = new Scheduler({
    store,
    runnerId: 'me',
    settings: resolveRunnerOptions({
      leaseMs,
      log: (_level, message) => lines.push(message),
      clock: {
        monotonicMs: () => nowMs,
        after(ms, then) {
          waits.push(then);
          waitedMs.push(ms);
          return () => {};
        },
      },
    }),
    events,
    onReady: () => {},
    onDeath: () => {},
  });
  /** One tick; what it asked the store for. */
  async function tick(): Promise<string[]> {
    asked.length = 0;
    const over = once(events, 'ticked');
    if (waits.length === 0) scheduler.start();
    else {
      nowMs += sleep();
      for (const wait of waits.splice(0)) wait();
    }
    await over;
    // All answers are there already: after this the loop sleeps.
    await new Promise(setImmediate);
    return [...asked];
  }
  return { scheduler, tick, waitedMs, failures, lines };
}

describe('the duties of a leader', () => {
  it('begin with the rescue, also in the first tick of a new leader', async () => {
    const { tick, scheduler } = system(
      () => 0,
      () => false,
    );
    const asked = await tick();
    expect(asked.slice(0, 3)).toEqual(['rescueExpired', 'settleDue', 'findDagsWithQueuedRuns']);
    expect(asked.filter((verb) => verb === 'rescueExpired')).toHaveLength(1);
    await scheduler.stop();
  });

  it('do not keep the rescue waiting for more than one of them', async () => {
    const { tick, scheduler } = system(
      (verb) => (verb === 'rescueExpired' ? 0 : 1_500),
      () => false,
    );
    const asked = await tick();
    const others = asked.filter((verb) => verb !== 'rescueExpired');
    expect(others).toContain('feedBackfills');
    for (const [index, verb] of asked.entries()) {
      // Watching expectations is two questions.
      if (verb !== 'rescueExpired' && verb !== 'listUnannounced')
        expect(asked[index - 1]).toBe('rescueExpired');
    }
    await scheduler.stop();
  });

  it('let due fires go before a rescue whose time has just come, not before a late one', async () => {
    let tickMs = 0;
    const { tick, scheduler } = system(
      () => 0,
      () => false,
      () => tickMs,
    );
    await tick();
    tickMs = 1_500;
    expect((await tick()).slice(0, 2)).toEqual(['settleDue', 'rescueExpired']);
    tickMs = 2_500;
    expect((await tick()).slice(0, 2)).toEqual(['rescueExpired', 'settleDue']);
    await scheduler.stop();
  });

  it('let a fire that comes due while they are done go before the next of them, once', async () => {
    const { tick, scheduler } = system(
      (verb) => (verb === 'findDagsWithQueuedRuns' ? 500 : 0),
      () => false,
      () => 0,
      { earliestFireAt: () => new Date(300) },
    );
    const asked = await tick();
    expect(asked.slice(0, 6)).toEqual([
      'rescueExpired',
      'settleDue',
      'foresee',
      'findDagsWithQueuedRuns',
      'settleDue',
      'payPropagation',
    ]);
    expect(asked.filter((verb) => verb === 'settleDue')).toHaveLength(2);
    await scheduler.stop();
  });

  it('go on where they were when leadership was lost in one that took too long', async () => {
    // Settling takes longer than the lease, and another leads afterwards, every time.
    const { tick, scheduler } = system(
      (verb) => (verb === 'settleDue' ? 11_000 : 0),
      (acquired) => acquired % 2 === 0,
    );
    expect(await tick()).toEqual(['rescueExpired', 'settleDue']);
    const next = await tick();
    expect(next.slice(0, 3)).toEqual(['rescueExpired', 'findDagsWithQueuedRuns', 'payPropagation']);
    expect(next).toContain('feedBackfills');
    expect(next.at(-1)).toBe('settleDue');
    await scheduler.stop();
  });
});

describe('the admission of queued runs', () => {
  it('comes to every DAG, however many have runs that must wait', async () => {
    const waiting = Array.from({ length: 450 }, (_, index) => `dag-${1_000 + index}`);
    const looks: string[][] = [];
    const { tick, scheduler } = system(
      () => 0,
      () => false,
      () => 1_000,
      {
        findDagsWithQueuedRuns: (limit: number, after = '') => {
          const from = waiting.findIndex((id) => id > after);
          const start = from === -1 ? 0 : from;
          return [...waiting.slice(start), ...waiting.slice(0, start)].slice(0, limit);
        },
        admitDags: (dagIds: readonly string[]) => {
          looks.push([...dagIds]);
          // One of them fails whenever it is looked at.
          if (dagIds.includes('dag-1003')) throw new StoreError('one of them');
          return [];
        },
      },
    );
    for (let ticks = 0; ticks < 3; ticks += 1) await tick();
    const seen = looks.flat();
    expect(new Set(seen)).toEqual(new Set(waiting));
    // The third tick came to the end and began again.
    expect(seen).toHaveLength(600);
    expect(seen.slice(450)).toEqual(waiting.slice(0, 150));
    await scheduler.stop();
  });
});

describe('a failure of one DAG', () => {
  /** Its cursor stays due: nobody marked it. */
  const stuck = {
    settleDue: () => ({
      more: false,
      failed: [{ dagId: 'bad', error: new Error('it cannot be settled') }],
      broken: [],
      notAdmitted: [],
    }),
    earliestFireAt: () => new Date(0),
  };

  it('does not make the loop wait as for a database that is away, and does not make it spin', async () => {
    const { tick, scheduler, waitedMs } = system(
      () => 0,
      () => false,
      () => 1_000,
      stuck,
    );
    for (let ticks = 0; ticks < 5; ticks += 1) await tick();
    expect(waitedMs).toEqual([100, 100, 100, 100, 100]);
    expect(scheduler.pulse).toMatchObject({ failures: 0 });
    await scheduler.stop();
  });

  it('in what is only to save time is no failure at all', async () => {
    let tries = 0;
    const { tick, scheduler, failures } = system(
      () => 0,
      () => false,
      () => 1_000,
      {
        earliestFireAt: () => new Date(0),
        foresee: () => {
          tries += 1;
          throw new Error('this DAG cannot be decided');
        },
      },
    );
    for (let ticks = 0; ticks < 3; ticks += 1) await tick();
    expect(tries).toBe(3);
    expect(failures).toEqual([]);
    expect(scheduler.pulse).toMatchObject({ failures: 0 });
    await scheduler.stop();
  });

  it('is told at once and then once a minute, a broken schedule once', async () => {
    let settled = 0;
    const { tick, scheduler, failures, lines } = system(
      () => 0,
      () => false,
      () => 1_000,
      {
        ...stuck,
        settleDue: () => {
          settled += 1;
          const broken = settled === 1 ? [{ dagId: 'gone', reason: 'no version' }] : [];
          return { ...stuck.settleDue(), broken };
        },
      },
    );
    for (let ticks = 0; ticks < 61; ticks += 1) await tick();
    expect(lines.filter((line) => line.includes('gone'))).toEqual([
      'the schedule of gone is broken until it is deployed again: no version',
    ]);
    expect(lines.filter((line) => line.includes('bad'))).toEqual([
      'the leader could not settle a due schedule (bad)',
      'the leader could not settle a due schedule (bad), 59 times since this was told last',
    ]);
    expect(failures).toHaveLength(2);
    await scheduler.stop();
  });

  it('is something else than a database that is away', async () => {
    const away = new StoreError('away', { retryable: true, unreachable: true });
    const { scheduler, failures } = system(
      () => 0,
      () => false,
      () => 0,
      {
        settleDue: () => {
          throw away;
        },
      },
    );
    scheduler.start();
    while (failures.length === 0) await new Promise(setImmediate);
    expect(failures).toEqual([away]);
    expect(scheduler.pulse).toMatchObject({ failures: 1 });
    await scheduler.stop();
  });
});
