import { StoreError } from '@flowline/core';
import { describe, expect, it } from 'vitest';
import { LeadershipHolder } from './leadership.js';

type Answer = { epoch: number } | null | Error;

function holder(answers: { acquire?: Answer[]; renew?: Answer[] }) {
  let nowMs = 0;
  const told: string[] = [];
  const calls: string[] = [];
  const next = (list: Answer[] | undefined, verb: string) => {
    calls.push(verb);
    const answer = list?.shift() ?? null;
    if (answer instanceof Error) return Promise.reject(answer);
    return Promise.resolve(
      answer === null ? null : { holder: 'me', epoch: answer.epoch, expiresAt: new Date(0) },
    );
  };
  const leadership = new LeadershipHolder({
    store: {
      acquireLeadership: () => next(answers.acquire, 'acquire'),
      renewLeadership: () => next(answers.renew, 'renew'),
      releaseLeadership: async (_id, epoch) => void calls.push(`release ${epoch}`),
    },
    runnerId: 'me',
    leaseMs: 9_000,
    clock: { monotonicMs: () => nowMs, after: () => () => {} },
    onWon: (epoch) => told.push(`won ${epoch}`),
    onLost: (reason) => told.push(`lost: ${reason}`),
  });
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return { leadership, told, calls, advance };
}

describe('leadership', () => {
  it('is trusted from before the acquisition was sent until the lease is over, less a margin', async () => {
    const { leadership, advance } = holder({ acquire: [{ epoch: 4 }] });
    expect(await leadership.keep()).toBe(true);
    advance(8_099);
    expect(leadership.isLeading()).toBe(true);
    advance(1);
    expect(leadership.isLeading()).toBe(false);
  });

  it('is renewed when a third of the lease is over, and not before', async () => {
    const { leadership, calls, advance } = holder({
      acquire: [{ epoch: 4 }],
      renew: [{ epoch: 4 }],
    });
    await leadership.keep();
    advance(2_999);
    await leadership.keep();
    expect(calls).toEqual(['acquire']);
    advance(1);
    await leadership.keep();
    expect(calls).toEqual(['acquire', 'renew']);
    advance(8_099);
    expect(leadership.isLeading()).toBe(true);
  });

  it('is renewed early when it would have to be soon', async () => {
    const { leadership, calls, advance } = holder({
      acquire: [{ epoch: 4 }],
      renew: [{ epoch: 4 }],
    });
    await leadership.keep();
    advance(1_999);
    await leadership.keep(1_000);
    expect(calls).toEqual(['acquire']);
    advance(1);
    await leadership.keep(1_000);
    expect(calls).toEqual(['acquire', 'renew']);
  });

  it('ends when another has it: no second renewal, the next call competes', async () => {
    const { leadership, calls, told, advance } = holder({
      acquire: [{ epoch: 4 }, null],
      renew: [null],
    });
    await leadership.keep();
    advance(3_000);
    expect(await leadership.keep()).toBe(false);
    expect(await leadership.keep()).toBe(false);
    expect(calls).toEqual(['acquire', 'renew', 'acquire']);
    expect(told).toEqual(['won 4', 'lost: another runner has it']);
  });

  it('lasts to the end of the trust window when the database is away, and no longer', async () => {
    const away = () => new StoreError('away', { retryable: true, unreachable: true });
    const { leadership, advance } = holder({ acquire: [{ epoch: 4 }], renew: [away(), away()] });
    await leadership.keep();
    advance(4_000);
    expect(await leadership.keep()).toBe(true);
    advance(4_100);
    expect(leadership.isLeading()).toBe(false);
  });

  it('is given back on release, once', async () => {
    const { leadership, calls } = holder({ acquire: [{ epoch: 4 }] });
    await leadership.keep();
    await leadership.release();
    await leadership.release();
    expect(calls).toEqual(['acquire', 'release 4']);
  });
});
