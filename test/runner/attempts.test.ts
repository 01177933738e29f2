import { DependsOn, Job, type JobContext, NonRetryableError, SkipTask } from '@flowline/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSystem, type System } from '../support/system.ts';
import { gate } from '../support/until.ts';

let system: System;
beforeEach(async () => {
  system = await openSystem();
});
afterEach(() => system.close());

const outcomes = (run: Awaited<ReturnType<System['closed']>>) =>
  Object.fromEntries(
    run.tasks.map((task) => [
      task.jobId,
      [task.state, ...task.attempts.map(({ outcome }) => outcome)],
    ]),
  );

test('results arrive as arguments in the order of @DependsOn, with types that survive the trip', async () => {
  const seen: unknown[] = [];
  @Job({ id: 'typed' })
  class Root {
    async run() {
      return { at: new Date(0), big: 2n ** 70n, 'a.b': 1, $set: { x: [1] } };
    }
  }
  @Job()
  @DependsOn(Root)
  class Left {
    async run(_ctx: JobContext, root: { at: Date; big: bigint }) {
      seen.push(root);
      return 'left';
    }
  }
  @Job()
  @DependsOn(Left, Root)
  class Right {
    async run(_ctx: JobContext, left: string, root: object) {
      seen.push(left, Object.keys(root));
    }
  }
  await system.deploy([Root, Left, Right]);
  await system.startRunner([Root, Left, Right]);
  const run = await system.closed(await system.trigger('typed'));
  expect(run.state).toBe('succeeded');
  expect(seen).toEqual([
    { at: new Date(0), big: 2n ** 70n, 'a.b': 1, $set: { x: [1] } },
    'left',
    ['at', 'big', 'a.b', '$set'],
  ]);
});

test('a job that fails twice is retried with one idempotency key and growing fences, and the run succeeds', async () => {
  const contexts: JobContext[] = [];
  @Job({ id: 'flaky', retry: { attempts: 3, backoff: { type: 'fixed', delay: '10ms' } } })
  class Flaky {
    async run(ctx: JobContext) {
      contexts.push(ctx);
      if (ctx.attempt < 3) throw new Error(`no ${ctx.attempt}`);
      return 1;
    }
  }
  await system.deploy([Flaky]);
  await system.startRunner([Flaky]);
  const run = await system.closed(await system.trigger('flaky'));
  expect(outcomes(run)).toEqual({ flaky: ['succeeded', 'failed', 'failed', 'succeeded'] });
  expect(contexts.map(({ attempt, maxAttempts }) => [attempt, maxAttempts])).toEqual([
    [1, 3],
    [2, 3],
    [3, 3],
  ]);
  expect(new Set(contexts.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  const fences = contexts.map(({ fence }) => fence);
  expect([...fences].sort((a, b) => a - b)).toEqual(fences);
  expect(new Set(fences).size).toBe(3);
  expect(run.tasks[0]?.attempts[0]?.error).toMatchObject({ message: 'no 1' });
});

test('attempts exhausted: the task fails, what depends on it is upstream-failed, the run fails, nothing is left open', async () => {
  @Job({ id: 'chain', retry: { attempts: 2, backoff: { type: 'fixed', delay: '5ms' } } })
  class A {
    async run() {
      throw new Error('always');
    }
  }
  @Job()
  @DependsOn(A)
  class B {
    async run() {}
  }
  @Job()
  @DependsOn(B)
  class C {
    async run() {}
  }
  await system.deploy([A, B, C]);
  await system.startRunner([A, B, C]);
  const run = await system.closed(await system.trigger('chain'));
  expect(run.state).toBe('failed');
  expect(outcomes(run)).toEqual({
    chain: ['failed', 'failed', 'failed'],
    b: ['upstream-failed'],
    c: ['upstream-failed'],
  });
  expect(run.endedAt).not.toBeNull();
  expect(run.tasks.every(({ endedAt }) => endedAt !== null)).toBe(true);
});

test('NonRetryableError fails at once whatever retry says; SkipTask skips what follows and the run succeeds', async () => {
  @Job({ id: 'permanent', retry: { attempts: 6 } })
  class Permanent {
    async run() {
      throw new NonRetryableError('404');
    }
  }
  @Job({ id: 'nothing' })
  class Nothing {
    async run() {
      throw new SkipTask('no data today');
    }
  }
  @Job()
  @DependsOn(Nothing)
  class After {
    async run() {}
  }
  const classes = [Permanent, Nothing, After];
  await system.deploy(classes);
  await system.startRunner(classes);
  const failed = await system.closed(await system.trigger('permanent'));
  expect(outcomes(failed)).toEqual({ permanent: ['failed', 'failed'] });
  expect(failed.tasks[0]?.error?.message).toBe('404');
  const skipped = await system.closed(await system.trigger('nothing'));
  expect(outcomes(skipped)).toEqual({ nothing: ['skipped', 'skipped'], after: ['skipped'] });
  expect(skipped.state).toBe('succeeded');
});

test('a timeout aborts the signal with a TaskTimeoutError, drops the late value, and the next attempt starts after it settled', async () => {
  const events: string[] = [];
  const reasons: unknown[] = [];
  @Job({
    id: 'slow',
    timeout: '100ms',
    retry: { attempts: 2, backoff: { type: 'fixed', delay: '1ms' } },
  })
  class Slow {
    async run(ctx: JobContext) {
      events.push(`start ${ctx.attempt}`);
      if (ctx.attempt === 2) return 'second';
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
      reasons.push(ctx.signal.reason);
      // Ignores the abort for a moment, then returns a value that comes too late.
      await new Promise((resolve) => setTimeout(resolve, 100));
      events.push('settle 1');
      return 'late';
    }
  }
  await system.deploy([Slow]);
  await system.startRunner([Slow]);
  const run = await system.closed(await system.trigger('slow'));
  expect(events).toEqual(['start 1', 'settle 1', 'start 2']);
  expect(reasons[0]).toMatchObject({ code: 'task-timeout' });
  expect(outcomes(run)).toEqual({ slow: ['succeeded', 'failed', 'succeeded'] });
  expect(run.tasks[0]?.attempts[0]?.error).toMatchObject({ code: 'task-timeout' });
});

test('cancelling aborts the running attempt and starts no further one', async () => {
  const started = gate();
  let starts = 0;
  @Job({ id: 'long', retry: { attempts: 10 } })
  class Long {
    async run(ctx: JobContext) {
      starts += 1;
      started.open();
      await new Promise((_resolve, reject) =>
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)),
      );
    }
  }
  @Job()
  @DependsOn(Long)
  class Next {
    async run() {}
  }
  await system.deploy([Long, Next]);
  await system.startRunner([Long, Next], { leaseMs: 20_000, renewEveryMs: 100 });
  const runId = await system.trigger('long');
  await started.opened;
  await system.store.cancelRun(runId, 'not needed');
  const run = await system.closed(runId);
  expect(run.state).toBe('cancelled');
  expect(outcomes(run)).toEqual({ long: ['cancelled', 'cancelled'], next: ['cancelled'] });
  expect(starts).toBe(1);
});

test('a result that cannot be stored fails the attempt without a retry and names the path', async () => {
  @Job({ id: 'bad-result', retry: { attempts: 5 } })
  class BadResult {
    async run() {
      return { list: [1, () => 2] };
    }
  }
  await system.deploy([BadResult]);
  await system.startRunner([BadResult]);
  const run = await system.closed(await system.trigger('bad-result'));
  expect(outcomes(run)).toEqual({ 'bad-result': ['failed', 'failed'] });
  expect(run.tasks[0]?.error?.message).toContain('result.list[1]');
});

test('a runner claims only what it has the code of; what nobody knows stays ready and is told', async () => {
  @Job({ id: 'known' })
  class Known {
    async run() {}
  }
  @Job({ id: 'unknown' })
  class Unknown {
    async run() {}
  }
  await system.deploy([Known, Unknown]);
  const runner = await system.startRunner([Known]);
  const foreign = await system.trigger('unknown');
  const own = await system.closed(await system.trigger('known'));
  expect(own.state).toBe('succeeded');
  await new Promise<void>((resolve) => runner.events.once('idle', () => resolve()));
  const waiting = await system.store.viewRun(foreign);
  expect(waiting?.tasks.map(({ state, attempts }) => [state, attempts.length])).toEqual([
    ['ready', 0],
  ]);
  expect(
    (await system.store.findUnserved(10)).map(({ serveKey }) => serveKey.split('/').slice(0, 2)),
  ).toEqual([['unknown', 'unknown']]);
});
