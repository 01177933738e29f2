import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LeaseKeeper } from './keeper.js';
import type { FromKeeper, KeeperData, ToKeeper } from './keeper-messages.js';

/** A stand-in for the thread: what it is told is kept, what it says is up to the test. */
class Thread extends EventEmitter {
  readonly told: ToKeeper[] = [];
  constructor(readonly data: KeeperData) {
    super();
  }
  postMessage(message: ToKeeper): void {
    this.told.push(message);
    if (message.type === 'stop') queueMicrotask(() => this.emit('exit', 0));
  }
  say(message: FromKeeper): void {
    this.emit('message', message);
  }
  async terminate(): Promise<number> {
    return 0;
  }
}

function system(leaseMs = 20_000) {
  let nowMs = 1_000;
  let timers: { at: number; call: () => void }[] = [];
  const told: string[] = [];
  const threads: Thread[] = [];
  const keeper = new LeaseKeeper({
    runnerId: 'me',
    connection: { uri: 'mongodb://nowhere' },
    leaseMs,
    renewEveryMs: leaseMs / 4,
    clock: {
      monotonicMs: () => nowMs,
      after: (ms, call) => {
        const timer = { at: nowMs + ms, call };
        timers.push(timer);
        return () => {
          timers = timers.filter((one) => one !== timer);
        };
      },
    },
    log: (level, message) => level === 'error' && told.push(message),
    listener: {
      lost: (taskId) => told.push(`lost ${taskId}`),
      doubtful: (taskId) => told.push(`doubtful ${taskId}`),
      cancelRequested: (taskId) => told.push(`cancel ${taskId}`),
      failed: (error) => told.push(`failed: ${(error as Error).message}`),
    },
    startThread: (data) => {
      const thread = new Thread(data);
      threads.push(thread);
      return thread as never;
    },
  });
  const jump = (ms: number) => {
    nowMs += ms;
    const due = timers.filter(({ at }) => at <= nowMs);
    timers = timers.filter(({ at }) => at > nowMs);
    for (const { call } of due) call();
  };
  /** Lets time pass step by step, so that every check has its turn. */
  const advance = async (ms: number) => {
    for (const end = nowMs + ms; nowMs < end; ) {
      jump(Math.min(50, end - nowMs));
      await new Promise(setImmediate);
    }
  };
  return { keeper, told, threads, advance, jump, now: () => nowMs };
}

const renewed = (sentAt: number, ...ids: string[]): FromKeeper => ({
  type: 'renewed',
  sentAt,
  renewed: ids.map((taskId) => ({ taskId, token: 1 })),
  lost: [],
  cancelRequested: [],
});

describe('the runner judges its own lease', () => {
  it('from before the claim was sent, less a margin, and says once that it is doubtful', async () => {
    const { keeper, told, advance, now } = system();
    keeper.start();
    // The answer took 3 s: the database's lease began somewhere in them.
    keeper.hold('t', 1, now() - 3_000, Number.MAX_SAFE_INTEGER);
    await advance(15_900);
    expect(keeper.isSureOf('t')).toBe(true);
    await advance(100);
    expect(keeper.isSureOf('t')).toBe(false);
    expect(told).toEqual([]);
    await advance(3_000);
    expect(told).toEqual(['doubtful t']);
    await keeper.stop();
  });

  it('from before the renewal was sent, however late its answer comes; an old answer takes nothing back', async () => {
    const { keeper, told, threads, advance, now } = system();
    keeper.start();
    keeper.hold('t', 1, now(), Number.MAX_SAFE_INTEGER);
    await advance(5_000);
    const sentAt = now();
    await advance(4_000);
    threads[0]?.say(renewed(sentAt, 't'));
    threads[0]?.say(renewed(sentAt - 5_000, 't'));
    await advance(14_900);
    expect(keeper.isSureOf('t')).toBe(true);
    await advance(100);
    expect(keeper.isSureOf('t')).toBe(false);
    await advance(2_000);
    expect(told).toEqual(['doubtful t']);
    await keeper.stop();
  });

  it('outlasts a database that is away for 12 s with the default lease', async () => {
    const { keeper, told, threads, advance, now } = system();
    keeper.start();
    keeper.hold('t', 1, now(), Number.MAX_SAFE_INTEGER);
    await advance(5_000);
    threads[0]?.say(renewed(now(), 't'));
    // Away from just before the next renewal on; back 12 s later, renewed in the second after that.
    await advance(5_000 + 12_000 + 1_000);
    threads[0]?.say(renewed(now(), 't'));
    await advance(1_000);
    expect(told).toEqual([]);
    expect(keeper.isSureOf('t')).toBe(true);
    await keeper.stop();
  });

  it('after it stood still itself reads first what the thread had to say', async () => {
    const { keeper, told, threads, jump, now } = system(2_000);
    keeper.start();
    keeper.hold('t', 1, now(), Number.MAX_SAFE_INTEGER);
    jump(2_500);
    // The check has found it doubtful; the renewal waits to be read.
    threads[0]?.say(renewed(now() - 200, 't'));
    await new Promise(setImmediate);
    expect(told).toEqual([]);
    await keeper.stop();
  });
});

describe('what the thread says', () => {
  it('counts for the token that we hold, and for no earlier attempt of the task', async () => {
    const { keeper, told, threads, now } = system();
    keeper.start();
    keeper.hold('t', 2, now(), Number.MAX_SAFE_INTEGER);
    const about = (token: number, lost = [{ taskId: 't', token }]): FromKeeper => ({
      type: 'renewed',
      sentAt: now(),
      renewed: [],
      lost,
      cancelRequested: [{ taskId: 't', token }],
    });
    threads[0]?.say(about(1));
    expect(told).toEqual([]);
    threads[0]?.say(about(2, []));
    threads[0]?.say(about(2));
    expect(told).toEqual(['cancel t', 'lost t']);
    threads[0]?.say(about(2));
    expect(told).toEqual(['cancel t', 'lost t']);
    await keeper.stop();
  });

  it('about a task that commits is left to the transaction; it is renewed again afterwards', async () => {
    const { keeper, told, threads, now } = system();
    keeper.start();
    keeper.hold('t', 1, now(), 99_000);
    keeper.pause('t');
    threads[0]?.say({ ...renewed(now()), lost: [{ taskId: 't', token: 1 }] } as FromKeeper);
    expect(told).toEqual([]);
    keeper.resume('t');
    expect(threads[0]?.told).toEqual([
      { type: 'hold', taskId: 't', token: 1, renewUntil: 99_000 },
      { type: 'drop', taskId: 't' },
      { type: 'hold', taskId: 't', token: 1, renewUntil: 99_000 },
    ]);
    keeper.drop('t');
    keeper.resume('t');
    expect(threads[0]?.told.at(-1)).toEqual({ type: 'drop', taskId: 't' });
    await keeper.stop();
  });
});

describe('the thread', () => {
  it('is started again with all that is held when it ends, and what it was told meanwhile is not lost', async () => {
    const { keeper, threads, advance, now } = system();
    keeper.start();
    threads[0]?.say({ type: 'ready' });
    await keeper.ready;
    keeper.hold('a', 1, now(), 99_000);
    threads[0]?.emit('exit', 1);
    keeper.hold('b', 1, now(), 99_000);
    keeper.setState('draining');
    await advance(600);
    expect(threads).toHaveLength(2);
    expect(threads[1]?.data).toMatchObject({
      held: [{ taskId: 'a' }, { taskId: 'b' }],
      state: 'draining',
    });
    await keeper.stop();
  });

  it('that ends again and again without a word is given up, and that is said once', async () => {
    const { keeper, told, threads, advance } = system();
    keeper.start();
    for (let start = 0; start < 8; start += 1) {
      threads.at(-1)?.emit('error', new Error('no such file'));
      threads.at(-1)?.emit('exit', 1);
      await advance(600);
    }
    expect(threads).toHaveLength(5);
    expect(told.filter((line) => line.startsWith('failed'))).toEqual(['failed: no such file']);
    await keeper.stop();
  });

  it('is not started again after stop, and stop may be called twice and without a start', async () => {
    const { keeper, threads, advance } = system();
    keeper.start();
    await Promise.all([keeper.stop(), keeper.stop()]);
    await keeper.ready;
    await advance(2_000);
    expect(threads).toHaveLength(1);
    const never = system();
    await never.keeper.stop();
    expect(never.threads).toEqual([]);
  });
});
