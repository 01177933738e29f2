import type { Dag, Run, RunnerRecord, RunView, Task } from '@flowline/core/internal';
import { expect, test } from 'vitest';
import { type Surroundings, whyRunWaits, whyTaskWaits } from './why-it-waits.js';

const now = new Date('2026-03-08T07:30:00Z');
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000);
const ahead = (seconds: number) => ago(-seconds);

const task = (given: Partial<Task>) =>
  ({
    dagId: 'sales',
    jobId: 'b',
    serveKey: 'sales/b/1',
    attempts: [],
    waitingFor: [],
    error: null,
    lease: null,
    progress: null,
    ...given,
  }) as Task;
const runner = (given: Partial<RunnerRecord>) =>
  ({
    id: 'r1',
    serveKeys: ['sales/b/1'],
    concurrency: 1,
    state: 'running',
    heartbeatAt: ago(5),
    ...given,
  }) as RunnerRecord;

/** A run that waits in its queue, and what is around it, but for what is given. */
function facts(
  given: Partial<Omit<Surroundings, 'run' | 'dag'>> & {
    run?: Partial<RunView>;
    dag?: Partial<Dag> | null;
  } = {},
): Surroundings {
  const run = {
    id: 'me',
    dagId: 'sales',
    state: 'queued',
    cause: 'schedule',
    tasks: [],
    notBefore: null,
    backfillId: null,
    cancelRequestedAt: null,
  } as unknown as Run;
  const dag = { id: 'sales', pausedAt: null, activeRunIds: [] as string[] } as unknown as Dag;
  return {
    limits: { overlap: 'queue', maxActiveRuns: 1 },
    backfill: null,
    runners: [runner({})],
    leadership: { holder: 'r1', epoch: 1, expiresAt: ahead(5) },
    now,
    ...given,
    run: { ...run, ...given.run } as RunView,
    dag: given.dag === null ? null : { ...dag, ...given.dag },
  };
}

const backfill = { id: 'bf', state: 'running', maxActive: 2, running: 2 } as const;

test.each<[string, Surroundings, RegExp]>([
  [
    'a later start',
    facts({ run: { notBefore: ahead(60) } }),
    /no earlier than 2026-03-08 07:31:00Z$/,
  ],
  ['a later start that has come', facts({ run: { notBefore: ago(60) } }), /about to get a place/],
  [
    'a pause',
    facts({ dag: { pausedAt: ago(60) } }),
    /paused since 2026-03-08 07:29:00Z.*"flow resume sales"$/,
  ],
  [
    'a pause, for a manual run',
    facts({ run: { cause: 'manual' }, dag: { pausedAt: ago(60) } }),
    /about to get a place/,
  ],
  [
    'no place',
    facts({ dag: { activeRunIds: ['other'] } }),
    /may have 1 active run, and has other$/,
  ],
  [
    'no place needed',
    facts({ dag: { activeRunIds: ['other'] }, limits: { overlap: 'allow', maxActiveRuns: 1 } }),
    /about to get a place/,
  ],
  ['nobody leads', facts({ leadership: null }), /; but no runner leads: start one/],
  [
    'the leader is gone',
    facts({ leadership: { holder: 'r1', epoch: 1, expiresAt: ago(1) } }),
    /; but no runner leads/,
  ],
  [
    'a full backfill',
    facts({ run: { backfillId: 'bf' }, backfill }),
    /2 runs may be active, and 2 are$/,
  ],
  [
    'a paused backfill',
    facts({ run: { backfillId: 'bf' }, backfill: { ...backfill, state: 'paused' } }),
    /"flow backfill resume bf"$/,
  ],
  [
    'a cancellation',
    facts({ run: { state: 'running', cancelRequestedAt: ago(1) } }),
    /is being cancelled since/,
  ],
  [
    'its tasks',
    facts({
      run: { state: 'running', tasks: [task({ state: 'succeeded' }), task({ state: 'ready' })] },
    }),
    /running: 1 task of 2 to go$/,
  ],
  ['nothing', facts({ run: { state: 'failed', endedAt: ago(1) } }), /^it is over: failed at/],
])('a run waits for %s', (_what, given, words) => {
  expect(whyRunWaits(given)).toMatch(words);
});

const running = { run: { state: 'running' as const } };
const failed = {
  n: 1,
  outcome: 'failed',
  error: { name: 'Error', message: 'no file\nat x' },
} as Task['attempts'][number];
const lease = { runner: 'r1', token: 1, expiresAt: ahead(5) };

test.each<[string, Task, Surroundings, RegExp]>([
  ['its run', task({ state: 'blocked' }), facts(), /^its run is queued$/],
  [
    'other jobs',
    task({ state: 'blocked', waitingFor: ['a', 'c'] }),
    facts({
      run: {
        state: 'running',
        tasks: [task({ jobId: 'a', state: 'delayed' }), task({ jobId: 'c', state: 'ready' })],
      },
    }),
    /^it waits for a \(delayed\), c \(ready\)$/,
  ],
  [
    'a decision',
    task({ state: 'blocked' }),
    facts({ ...running, leadership: null }),
    /about to be decided; but no runner leads/,
  ],
  [
    'the next attempt',
    task({ state: 'delayed', delayedUntil: ahead(10), attempts: [failed] }),
    facts(running),
    /^attempt 2 starts at 2026-03-08 07:30:10Z, after attempt 1 failed: no file$/,
  ],
  [
    'any runner',
    task({ state: 'ready' }),
    facts({ ...running, runners: [] }),
    /no runner is alive/,
  ],
  [
    'a runner that is heard',
    task({ state: 'ready' }),
    facts({ ...running, runners: [runner({ heartbeatAt: ago(120) })] }),
    /no runner is alive/,
  ],
  [
    'a runner that knows it',
    task({ state: 'ready' }),
    facts({ ...running, runners: [runner({ serveKeys: [] })] }),
    /none of 1 live runner knows sales\/b /,
  ],
  [
    'a runner that takes tasks',
    task({ state: 'ready' }),
    facts({ ...running, runners: [runner({ concurrency: 0 })] }),
    /none of 1 live runner knows/,
  ],
  [
    'a runner that stays',
    task({ state: 'ready' }),
    facts({ ...running, runners: [runner({ state: 'draining' })] }),
    /is draining$/,
  ],
  ['a slot', task({ state: 'ready' }), facts(running), /1 live runner can take it/],
  [
    'its own end',
    task({
      state: 'running',
      lease,
      attempts: [{ ...failed, outcome: null, startedAt: ago(9) }],
      progress: { fraction: 0.5, note: null },
    }),
    facts(running),
    /^attempt 1 runs on r1 since 2026-03-08 07:29:51Z, 50% done$/,
  ],
  [
    'its rescue',
    task({ state: 'running', lease: { ...lease, expiresAt: ago(3) } }),
    facts({ ...running, runners: [] }),
    /lease on r1, which is gone expired at .*takes it back/,
  ],
  [
    'nothing',
    task({ state: 'failed', endedAt: ago(1), error: { name: 'Error', message: 'no file' } }),
    facts(running),
    /^it is over: failed at .*: no file$/,
  ],
])('a task waits for %s', (_what, one, given, words) => {
  expect(whyTaskWaits(one, given)).toMatch(words);
});
