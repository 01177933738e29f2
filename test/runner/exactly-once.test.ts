import { Job, type JobContext } from '@flowline/core';
import { MongoClient } from 'mongodb';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSystem, type System } from '../support/system.ts';
import { gate } from '../support/until.ts';

let system: System;
let client: MongoClient;
beforeEach(async () => {
  system = await openSystem();
  client = await MongoClient.connect(system.connection.uri);
  await client.db(system.connection.database).createCollection('ledger');
});
afterEach(async () => {
  await client.close();
  await system.close();
});

const ledger = (from: MongoClient = client) =>
  from.db(system.connection.database).collection<{ entry: string }>('ledger');
const entries = async () => (await ledger().find().toArray()).map(({ entry }) => entry);
const outcomes = (run: Awaited<ReturnType<System['closed']>>) =>
  run.tasks[0]?.attempts.map(({ outcome }) => outcome);
const twice = { attempts: 2, backoff: { type: 'fixed', delay: '5ms' } } as const;

test('once: a later attempt gets the stored value and does not do the step again; what threw is done again', async () => {
  const done: string[] = [];
  const got: unknown[] = [];
  @Job({ id: 'steps', retry: twice })
  class Steps {
    async run(ctx: JobContext) {
      const pay = () => {
        done.push('pay');
        return { receipt: new Date(7), by: ctx.attempt };
      };
      // Asked for twice at once: one run.
      got.push(...(await Promise.all([ctx.once('pay', pay), ctx.once('pay', pay)])));
      await ctx.once('send', () => {
        done.push('send');
        if (ctx.attempt === 1) throw new Error('no post today');
      });
    }
  }
  await system.deploy([Steps]);
  await system.startRunner([Steps]);
  const run = await system.closed(await system.trigger('steps'));
  expect(outcomes(run)).toEqual(['failed', 'succeeded']);
  expect(done).toEqual(['pay', 'send', 'send']);
  expect(got).toEqual(Array.from({ length: 4 }, () => ({ receipt: new Date(7), by: 1 })));
});

test('once: a step that threw may be tried again in the same attempt; a bad name or value fails without a retry', async () => {
  let tries = 0;
  const seen: unknown[] = [];
  @Job({ id: 'again', retry: twice })
  class Again {
    async run(ctx: JobContext) {
      const flaky = () => {
        tries += 1;
        if (tries === 1) throw new Error('first');
        return tries;
      };
      seen.push(await ctx.once('flaky', flaky).catch((error: Error) => error.message));
      seen.push(await ctx.once('flaky', flaky));
      seen.push(await ctx.once('f', () => () => 1).catch((error: Error) => error.message));
      await ctx.once('', () => 1);
    }
  }
  await system.deploy([Again]);
  await system.startRunner([Again]);
  const run = await system.closed(await system.trigger('again'));
  expect(seen).toEqual(['first', 2, expect.stringContaining('once("f")')]);
  expect(outcomes(run)).toEqual(['failed']);
  expect(run.tasks[0]?.error).toMatchObject({ code: 'option' });
});

test('once and commit under a lease that another took: LeaseLostError, and no write of the deposed holder is left', async () => {
  const started = gate();
  const deposed = gate();
  const errors: unknown[] = [];
  const both = gate();
  @Job({ id: 'deposed' })
  class Deposed {
    async run(ctx: JobContext) {
      if (ctx.attempt > 1) return ctx.once('step', () => 'second');
      started.open();
      await deposed.opened;
      const keep = (error: unknown) => errors.push(error);
      await ctx.once('step', () => 'first').catch(keep);
      await ctx
        .commit((session, own) => ledger(own).insertOne({ entry: 'late' }, { session }))
        .catch(keep);
      both.open();
      return 'late';
    }
  }
  await system.deploy([Deposed]);
  const runner = await system.startRunner([Deposed]);
  const runId = await system.trigger('deposed');
  await started.opened;
  // What a rescuer does when it thinks that the runner is dead.
  await system.store.rescueRunner(runner.id);
  const run = await system.closed(runId);
  deposed.open();
  await both.opened;
  expect(errors.map((error) => (error as { code: string }).code)).toEqual([
    'lease-lost',
    'lease-lost',
  ]);
  expect(outcomes(run)).toEqual(['lost', 'succeeded']);
  expect(await entries()).toEqual([]);
  expect((await system.store.readInputs(runId, ['deposed'])).results).toEqual(['second']);
});

test('commit: writes and success together, the attempt is over, later words of run change nothing', async () => {
  const second: unknown[] = [];
  @Job({ id: 'pays' })
  class Pays {
    async run(ctx: JobContext) {
      ctx.progress(0.5);
      const value = await ctx.commit(async (session, own) => {
        await ledger(own).insertOne({ entry: 'paid' }, { session });
        return { entry: 'paid' };
      });
      second.push(value, await ctx.commit(async () => 1).catch((error) => error));
      throw new Error('too late to matter');
    }
  }
  await system.deploy([Pays]);
  await system.startRunner([Pays]);
  const runId = await system.trigger('pays');
  const run = await system.closed(runId);
  expect(run.state).toBe('succeeded');
  expect(outcomes(run)).toEqual(['succeeded']);
  expect(await entries()).toEqual(['paid']);
  expect(second).toEqual([{ entry: 'paid' }, expect.objectContaining({ code: 'usage' })]);
  expect((await system.store.readInputs(runId, ['pays'])).results).toEqual([{ entry: 'paid' }]);
  const { lines } = await system.store.readLogs({ runId });
  expect(lines.map(({ message }) => message)).toEqual([
    'thrown after ctx.commit, so it has no effect: too late to matter',
  ]);
});

test('commit: a failure before it leaves no write, and the next attempt commits once', async () => {
  @Job({ id: 'retries', retry: twice })
  class Retries {
    async run(ctx: JobContext) {
      await ctx.commit(async (session, own) => {
        await ledger(own).insertOne({ entry: `attempt ${ctx.attempt}` }, { session });
        if (ctx.attempt === 1) throw new Error('in the middle');
      });
    }
  }
  await system.deploy([Retries]);
  await system.startRunner([Retries]);
  const run = await system.closed(await system.trigger('retries'));
  expect(outcomes(run)).toEqual(['failed', 'succeeded']);
  expect(await entries()).toEqual(['attempt 2']);
});

test('commit: a lease is renewed up to it and not during it, so that it is no conflict with itself', async () => {
  let runs = 0;
  @Job({ id: 'long' })
  class Long {
    async run(ctx: JobContext) {
      await ctx.commit(async (session, own) => {
        runs += 1;
        await ledger(own).insertOne({ entry: 'long' }, { session });
        // Several renewals would have come by now.
        await new Promise((resolve) => setTimeout(resolve, 700));
      });
    }
  }
  await system.deploy([Long]);
  await system.startRunner([Long], { leaseMs: 20_000, renewEveryMs: 100 });
  const run = await system.closed(await system.trigger('long'));
  expect(outcomes(run)).toEqual(['succeeded']);
  // A renewal that was under way when it began may cost one more run, not each of them.
  expect(runs).toBeLessThanOrEqual(2);
  expect(await entries()).toEqual(['long']);
});

test('commit after the timeout is refused like a late value', async () => {
  @Job({ id: 'late', timeout: '100ms' })
  class Late {
    async run(ctx: JobContext) {
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()));
      await ctx.commit((session, own) => ledger(own).insertOne({ entry: 'late' }, { session }));
    }
  }
  await system.deploy([Late]);
  await system.startRunner([Late]);
  const run = await system.closed(await system.trigger('late'));
  expect(outcomes(run)).toEqual(['failed']);
  expect(run.tasks[0]?.error).toMatchObject({ code: 'task-timeout' });
  expect(await entries()).toEqual([]);
});
