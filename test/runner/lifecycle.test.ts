/** A runner's life: stopped before it starts, while it waits, twice, during a claim; what it leaves and what it tells. */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { Job, type JobContext } from '@flowline/core';
import { type ConnectOptions, executableJobs } from '@flowline/core/internal';
import { Runner, type RunnerOptions } from '@flowline/runner';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSystem, type System } from '../support/system.ts';
import { gate, until } from '../support/until.ts';

let system: System;
beforeAll(async () => {
  system = await openSystem();
});
afterAll(() => system.close());

const nowhere = { uri: 'mongodb://127.0.0.1:1/x', serverSelectionTimeoutMs: 300 };

@Job({ id: 'many', maxActiveRuns: 1_000 })
class Many {
  async run() {
    return 1;
  }
}

function make(options: RunnerOptions & { connection?: ConnectOptions } = {}): Runner {
  return new Runner({
    connection: system.connection,
    jobs: executableJobs([Many]),
    pollMs: { busy: 5, idle: 20 },
    ...options,
  });
}

test('stopped before its start: it is over, and cannot be started', async () => {
  const runner = make({ connection: nowhere });
  expect(await runner.stop()).toEqual({ finished: 0, abandoned: [], forced: false });
  await expect(runner.start()).rejects.toMatchObject({ code: 'usage' });
  expect(await runner.health()).toMatchObject({ state: 'stopped', isAlive: false, isReady: false });
});

test('stopped while it waits for a database: both calls end', async () => {
  const waiting = gate();
  const runner = make({
    connection: nowhere,
    log: (_level, message) => message.includes('waiting for it') && waiting.open(),
  });
  const starting = runner.start();
  expect(runner.start()).toBe(starting);
  starting.catch(() => {});
  await waiting.opened;
  const stopping = runner.stop();
  expect(runner.stop()).toBe(stopping);
  await stopping;
  await expect(starting).rejects.toMatchObject({ code: 'store-unreachable' });
});

test('stopped as soon as it starts: nothing of it is left', async () => {
  const runner = make();
  const starting = runner.start().catch(() => {});
  await runner.stop();
  await starting;
  expect((await system.store.listRunners()).map(({ id }) => id)).not.toContain(runner.id);
});

test('stopped in the middle of claims: what it has taken is run or handed back, never left running', async () => {
  await system.deploy([Many]);
  for (let round = 0; round < 3; round += 1) {
    const runs = await Promise.all(Array.from({ length: 6 }, () => system.trigger('many')));
    const runner = make({ concurrency: 4 });
    const firstClaim = gate();
    let claims = 0;
    runner.events.on('claimed', () => {
      claims += 1;
      if (claims > round) firstClaim.open();
    });
    await runner.start();
    await firstClaim.opened;
    expect(await runner.stop()).toMatchObject({ abandoned: [], forced: false });
    for (const runId of runs) {
      const task = await system.store.getTask(`${runId}/many`);
      expect(['succeeded', 'ready']).toContain(task?.state);
      expect(task?.attempts.map(({ outcome }) => outcome)).not.toContain(null);
      expect(task).toMatchObject({ losses: 0, failures: 0 });
    }
  }
});

test('a task that ignores its end: the record of the runner stays, says how it ended, and tells the rescuer', async () => {
  const started = gate();
  const release = gate();
  @Job({ id: 'deaf' })
  class Deaf {
    async run(ctx: JobContext) {
      ctx.log.info(`at work, attempt ${ctx.attempt}`);
      if (ctx.attempt > 1) return;
      started.open();
      await release.opened;
    }
  }
  await system.deploy([Deaf]);
  const runner = make({ drainTimeoutMs: 0, settleMs: 50, jobs: executableJobs([Deaf]) } as object);
  await runner.start();
  const runId = await system.trigger('deaf');
  await started.opened;
  await until('its line', async () => (await system.store.readLogs({ runId })).lines.length > 0);
  const report = await runner.stop({ signal: 'SIGTERM' });
  expect(report.abandoned).toEqual([`${runId}/deaf`]);
  expect(await system.store.listRunners()).toMatchObject([
    { id: runner.id, state: 'stopped', exit: 'SIGTERM' },
  ]);
  await system.store.rescueRunner(runner.id);
  const [attempt] = (await system.store.getTask(`${runId}/deaf`))?.attempts ?? [];
  expect(attempt).toMatchObject({
    outcome: 'lost',
    runner: runner.id,
    loss: {
      reason: 'runner-dead',
      exit: 'SIGTERM',
      lastHeartbeatAt: expect.any(Date),
      lastLines: [{ level: 'info', message: 'at work, attempt 1' }],
    },
  });
  expect(attempt?.error?.message).toContain('SIGTERM');
  release.open();
  await system.store.removeRunner(runner.id);
});

test('a loop that ends for good is told at once: health, event and promise; stop still ends it', async () => {
  const runner = make({ health: { port: 0 } });
  const broken: Error[] = [];
  runner.events.on('broken', (error) => broken.push(error));
  await runner.start();
  const url = `http://127.0.0.1:${runner.healthPort}`;
  await until('ready', async () => (await fetch(`${url}/readyz`)).status === 200);
  // A listener that throws when it is told of a failure takes the loop with it.
  runner.events.on('failed', () => {
    throw new Error('the telling failed');
  });
  runner.events.on('idle', () => {
    throw new Error('a fault of ours');
  });
  const failure = await runner.failure;
  expect(failure).toMatchObject({ message: expect.stringContaining('"claim"') });
  expect(broken).toEqual([failure]);
  for (const path of ['healthz', 'readyz']) {
    const response = await fetch(`${url}/${path}`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ state: 'failed', isAlive: false });
  }
  await runner.stop();
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});

test('the health endpoint: other paths and methods; a port that is taken is an error of its own', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  const refused = make({ health: { port } });
  await expect(refused.start()).rejects.toMatchObject({ code: 'option', field: 'health.port' });
  taken.close();
  expect(() => make({ health: { port: 70_000 } })).toThrow(/health\.port/);
  const runner = make({ health: { port: 0 } });
  await runner.start();
  const url = `http://127.0.0.1:${runner.healthPort}`;
  expect((await fetch(`${url}/`)).status).toBe(404);
  expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(405);
  expect((await fetch(`${url}/healthz?x=1`, { method: 'HEAD' })).status).toBe(200);
  await runner.stop();
});

test('a clock that is off is said, and the offset is measured by the shortest of some round trips', async () => {
  const { offsetMs, roundTripMs } = await system.store.measureClockOffset(5);
  expect(Math.abs(offsetMs)).toBeLessThanOrEqual(60_000);
  expect(roundTripMs).toBeGreaterThan(0);
});
