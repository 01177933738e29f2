import { Job, type JobContext } from '@flowline/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSystem, type System } from '../support/system.ts';
import { gate, until } from '../support/until.ts';

let system: System;
beforeEach(async () => {
  system = await openSystem();
});
afterEach(() => system.close());

test('a handler that ignores its timeout is reported stuck, its lease lapses, another attempt runs, the late value is refused', async () => {
  const stuck = gate<string>();
  const release = gate();
  let starts = 0;
  @Job({ id: 'deaf', timeout: '100ms' })
  class Deaf {
    async run() {
      starts += 1;
      if (starts > 1) return 'second';
      await release.opened;
      return 'late';
    }
  }
  await system.deploy([Deaf]);
  const runner = await system.startRunner([Deaf], {
    leaseMs: 3_000,
    renewEveryMs: 300,
    settleMs: 100,
  });
  runner.events.once('stuck', (taskId) => stuck.open(taskId));
  const runId = await system.trigger('deaf');
  expect(await stuck.opened).toBe(`${runId}/deaf`);
  const run = await system.closed(runId);
  expect(run.tasks[0]?.attempts.map(({ outcome }) => outcome)).toEqual(['lost', 'succeeded']);
  const refused = gate<string>();
  runner.events.once('lost', (taskId) => refused.open(taskId));
  release.open();
  expect(await refused.opened).toBe(`${runId}/deaf`);
  const after = await system.store.viewRun(runId);
  expect(after?.tasks[0]?.attempts.map(({ outcome }) => outcome)).toEqual(['lost', 'succeeded']);
});

test('stop() lets a running task end; it claims nothing new; called twice or before start it ends as well', async () => {
  const started = gate();
  const release = gate();
  @Job({ id: 'drained', maxActiveRuns: 5 })
  class Drained {
    async run() {
      started.open();
      await release.opened;
    }
  }
  await system.deploy([Drained]);
  const runner = await system.startRunner([Drained], { concurrency: 1 });
  const first = await system.trigger('drained');
  await started.opened;
  const second = await system.trigger('drained');
  const stopping = runner.stop();
  expect(runner.stop()).toBe(stopping);
  release.open();
  expect(await stopping).toMatchObject({ finished: 1, abandoned: [], forced: false });
  expect((await system.store.viewRun(first))?.state).toBe('succeeded');
  expect((await system.store.viewRun(second))?.tasks[0]).toMatchObject({
    state: 'ready',
    attempts: [],
  });
  expect(await system.store.listRunners()).toEqual([]);
});

test('a drain that runs out of time aborts; a task that settles is handed back without costing an attempt', async () => {
  const started = gate();
  const aborted = gate<unknown>();
  let starts = 0;
  @Job({ id: 'returned' })
  class Returned {
    async run(ctx: JobContext) {
      starts += 1;
      if (starts > 1) return;
      started.open();
      await new Promise((_resolve, reject) =>
        ctx.signal.addEventListener('abort', () => {
          aborted.open(ctx.signal.reason);
          reject(ctx.signal.reason);
        }),
      );
    }
  }
  await system.deploy([Returned]);
  const first = await system.startRunner([Returned], { drainTimeoutMs: 50 });
  const runId = await system.trigger('returned');
  await started.opened;
  expect(await first.stop()).toMatchObject({ abandoned: [] });
  expect(await aborted.opened).toMatchObject({ code: 'task-lost' });
  await system.startRunner([Returned]);
  const run = await system.closed(runId);
  expect(run.state).toBe('succeeded');
  expect(run.tasks[0]).toMatchObject({ failures: 0, losses: 0 });
  expect(run.tasks[0]?.attempts.map(({ outcome }) => outcome)).toEqual(['returned', 'succeeded']);
});

test('one of several runners leads; when it stops, another one leads at once', async () => {
  @Job({ id: 'any' })
  class Any {
    async run() {}
  }
  const runners = await Promise.all([1, 2, 3].map(() => system.startRunner([Any])));
  const leader = await until('a leader', () => runners.find(({ isLeading }) => isLeading));
  expect(runners.filter(({ isLeading }) => isLeading)).toHaveLength(1);
  await leader.stop();
  const next = await until('another leader', () =>
    runners.find((runner) => runner !== leader && runner.isLeading),
  );
  expect(next.id).not.toBe(leader.id);
  expect((await system.store.getLeadership())?.holder).toBe(next.id);
});
