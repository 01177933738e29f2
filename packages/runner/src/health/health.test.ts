import { expect, it } from 'vitest';
import type { LoopPulse } from '../loop.js';
import { describeHealth, stalledAfterMs, type Vitals } from './health.js';

const nowMs = 100_000;
const pulse = (change: Partial<LoopPulse> = {}): LoopPulse => ({
  name: 'claim',
  isAlive: true,
  turnSince: null,
  succeededAt: nowMs - 500,
  failures: 0,
  ...change,
});
const vitals = (change: Partial<Vitals> = {}): Vitals => ({
  runnerId: 'r',
  state: 'running',
  nowMs,
  loops: [pulse()],
  isLeading: true,
  heldTasks: 2,
  freeSlots: 8,
  clockOffsetMs: 3,
  idlePollMs: 2_000,
  ...change,
});

it('is alive and ready when its loops turn and the database answers', () => {
  expect(describeHealth(vitals(), true)).toEqual({
    runner: 'r',
    state: 'running',
    isAlive: true,
    isReady: true,
    problems: [],
    isDatabaseReachable: true,
    lastPollAgeMs: 500,
    isLeading: true,
    heldTasks: 2,
    freeSlots: 8,
    clockOffsetMs: 3,
  });
});

it.each<[string, Partial<Vitals>, boolean | null, boolean, RegExp]>([
  ['the database is away', {}, false, true, /database does not answer/],
  ['a loop is dead', { loops: [pulse(), pulse({ isAlive: false })] }, true, false, /has ended/],
  [
    'a turn never comes back',
    { loops: [pulse({ turnSince: nowMs - stalledAfterMs - 1 })] },
    true,
    false,
    /stands still since 30 s/,
  ],
  [
    'every turn fails',
    { loops: [pulse({ succeededAt: 1, failures: 9 })] },
    true,
    true,
    /100 s ago/,
  ],
  ['no turn has worked yet', { loops: [pulse({ succeededAt: null })] }, true, true, /no look/],
  ['it waits for a database', { state: 'starting', loops: [] }, false, true, /starting/],
  ['it drains', { state: 'draining', loops: [pulse({ isAlive: false })] }, true, true, /draining/],
  ['it is stopped', { state: 'stopped', loops: [] }, false, false, /stopped/],
  ['a part has ended for good', { state: 'failed' }, true, false, /ended for good/],
])('is not ready when %s', (_what, change, database, isAlive, words) => {
  const health = describeHealth(vitals(change), database);
  expect(health).toMatchObject({ isReady: false, isAlive });
  expect(health.problems.join('; ')).toMatch(words);
});

it('takes the regular pauses of a slow poll for what they are', () => {
  const loops = [pulse({ succeededAt: nowMs - 60_000 })];
  expect(describeHealth(vitals({ loops, idlePollMs: 60_000 }), true).isReady).toBe(true);
  expect(describeHealth(vitals({ loops }), true).isReady).toBe(false);
});

it('is not ready where nobody asked the database, and is alive all the same', () => {
  expect(describeHealth(vitals(), null)).toMatchObject({ isReady: false, isAlive: true });
});
