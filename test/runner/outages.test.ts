/** The database goes away and comes back, refuses, or loses an answer: no crash, no busy loop, and the work goes on. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Job, type JobContext } from '@flowline/core';
import { executableJobs } from '@flowline/core/internal';
import { Runner, type RunnerOptions } from '@flowline/runner';
import { afterEach, describe, expect, test } from 'vitest';
import { openFailPoint } from '../support/fail-points.ts';
import { type OutageDatabase, openOutageDatabase } from '../support/outage.ts';
import { openSystem, type System } from '../support/system.ts';
import { gate, until } from '../support/until.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A system on a database that can go away. */
async function openShaky(
  options: Parameters<typeof openOutageDatabase>[0] = {},
): Promise<System & { readonly database: OutageDatabase }> {
  const database = await openOutageDatabase(options);
  const system = await openSystem(database);
  closers.push(() => database.comeBack().then(() => system.close()));
  return { ...system, database };
}

/** Gives up looking for a server sooner than usual, so that failures come sooner. */
const impatient = (system: System) => ({ ...system.connection, serverSelectionTimeoutMs: 500 });

/** A runner whose words are kept. */
function talkative(
  system: System,
  classes: readonly object[],
  options: RunnerOptions = {},
  appName = 'runner',
) {
  const said: string[] = [];
  const runner = new Runner({
    connection: { ...impatient(system), appName },
    jobs: executableJobs(classes),
    pollMs: { busy: 20, idle: 100 },
    settleMs: 500,
    log: (level, message) => said.push(`${level} ${message}`),
    ...options,
  });
  closers.push(() => runner.stop({ force: true }));
  return { runner, said };
}

const outcomes = (run: Awaited<ReturnType<System['closed']>>) =>
  run.tasks.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome));

@Job({ id: 'quick', maxActiveRuns: 10 })
class Quick {
  async run() {
    return 1;
  }
}

describe('the database is away', () => {
  test('at the start: the runner waits, without hurry, and works when it is there', async () => {
    const system = await openShaky();
    await system.deploy([Quick]);
    const runId = await system.trigger('quick');
    await system.database.goAway();
    const { runner, said } = talkative(system, [Quick], { health: { port: 0 } });
    const starting = runner.start();
    const waiting = () => said.filter((line) => line.includes('waiting for it')).length;
    await until('a word about it', () => waiting() > 0);
    expect(await runner.health()).toMatchObject({
      state: 'starting',
      isAlive: true,
      isReady: false,
    });
    // Each try looks for a server for half a second; so many words would be a busy loop.
    expect(waiting()).toBeLessThan(5);
    await system.database.comeBack();
    await starting;
    expect((await system.closed(runId)).state).toBe('succeeded');
    expect(await runner.health()).toMatchObject({ state: 'running', isReady: true, problems: [] });
  });

  test('in the middle, for less than a lease: no lease is lost, and both ready and new work goes on', async () => {
    const system = await openShaky();
    const started = gate();
    const release = gate();
    const aborted: unknown[] = [];
    @Job({ id: 'held' })
    class Held {
      async run(ctx: JobContext) {
        ctx.signal.addEventListener('abort', () => aborted.push(ctx.signal.reason));
        started.open();
        await release.opened;
        ctx.log.info('said while nobody listened');
        return 'kept';
      }
    }
    await system.deploy([Held, Quick]);
    const { runner, said } = talkative(system, [Held, Quick], {
      leaseMs: 60_000,
      health: { port: 0 },
    });
    await runner.start();
    const held = await system.trigger('held');
    const queued = await system.trigger('quick');
    await started.opened;
    await system.closed(queued);
    await system.database.goAway();
    await until('a failed look for work', () =>
      said.some((line) => line.includes('looking for work failed')),
    );
    const ready = await fetch(`http://127.0.0.1:${runner.healthPort}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({
      isDatabaseReachable: false,
      heldTasks: expect.any(Number),
    });
    expect((await fetch(`http://127.0.0.1:${runner.healthPort}/healthz`)).status).toBe(200);
    // The task ends while the database is away: its lines and its result wait.
    release.open();
    await until('a refused write', () => said.some((line) => line.includes('trying again')));
    await system.database.comeBack();
    const run = await system.closed(held);
    expect(outcomes(run)).toEqual(['succeeded']);
    expect(aborted).toEqual([]);
    const { lines } = await system.store.readLogs({ runId: held });
    expect(lines.map(({ message }) => message)).toEqual(['said while nobody listened']);
    expect(outcomes(await system.closed(await system.trigger('quick')))).toEqual(['succeeded']);
    await until('ready again', async () => (await runner.health()).isReady);
    expect(said.filter((line) => line.startsWith('error'))).toEqual([]);
  });

  test('for longer than a lease: the task is aborted in time, and handed back when the database is there again', async () => {
    const system = await openShaky();
    const started = gate();
    const reasons: unknown[] = [];
    @Job({ id: 'held' })
    class Held {
      async run(ctx: JobContext) {
        if (ctx.attempt > 1) return 'again';
        started.open();
        return new Promise((_resolve, reject) =>
          ctx.signal.addEventListener('abort', () => {
            reasons.push(ctx.signal.reason);
            reject(ctx.signal.reason);
          }),
        );
      }
    }
    await system.deploy([Held]);
    const { runner } = talkative(system, [Held], { leaseMs: 5_000 });
    await runner.start();
    const runId = await system.trigger('held');
    await started.opened;
    await system.database.goAway();
    await until('the abort', () => reasons[0]);
    await system.database.comeBack();

    const run = await system.closed(runId);
    expect(reasons).toMatchObject([{ code: 'task-lost' }]);
    expect(outcomes(run)).toEqual(['returned', 'succeeded']);
    expect(run.tasks[0]).toMatchObject({ failures: 0, losses: 0 });
  });

  test('while the runner drains: it ends all the same, and what it could not write is left to its lease', async () => {
    const system = await openShaky();
    const started = gate();
    const release = gate();
    @Job({ id: 'held' })
    class Held {
      async run() {
        started.open();
        await release.opened;
      }
    }
    await system.deploy([Held]);
    const { runner } = talkative(system, [Held], { drainTimeoutMs: 200, settleMs: 200 });
    await runner.start();
    const runId = await system.trigger('held');
    await started.opened;
    await system.database.goAway();
    release.open();
    expect(await runner.stop()).toMatchObject({ abandoned: [`${runId}/held`] });
    await system.database.comeBack();
    expect((await system.store.getTask(`${runId}/held`))?.state).toBe('running');
  });

  test('for it has no connection left: the runner waits for one', async () => {
    const limit = 40;
    const system = await openShaky({ maxConnections: limit });
    await system.deploy([Quick]);
    const runId = await system.trigger('quick');
    const { port } = new URL(system.connection.uri.replace('mongodb:', 'http:'));
    const sockets: Socket[] = [];
    closers.push(async () => {
      for (const socket of sockets) socket.destroy();
    });
    // Until one is refused; refused ones are closed at once.
    for (let open = 0; open < limit; open += 1) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      sockets.push(socket);
    }
    const { runner, said } = talkative(system, [Quick]);
    const starting = runner.start();
    await until('a word about it', () => said.some((line) => line.includes('waiting for it')));
    for (const socket of sockets) socket.destroy();
    await starting;
    expect(outcomes(await system.closed(runId))).toEqual(['succeeded']);
  });
});

describe('the database refuses', () => {
  const mishaps = [
    ['a primary steps down', { errorCode: 10107, errorLabels: ['RetryableWriteError'] }],
    ['a step-down interrupts', { errorCode: 11602, errorLabels: ['RetryableWriteError'] }],
    ['the server shuts down', { errorCode: 91, errorLabels: ['RetryableWriteError'] }],
    ['every connection breaks', { closeConnection: true }],
  ] as const;

  test('step-downs, shut-downs, broken connections: nothing crashes, and the work goes on afterwards', async (context) => {
    const system = await openSystem();
    closers.push(() => system.close());
    const failPoint = await openFailPoint(system.connection.uri);
    closers.push(() => failPoint.close());
    context.skip(failPoint.refused !== null, failPoint.refused ?? '');
    const starts = mishaps.map(() => gate());
    const releases = mishaps.map(() => gate());
    @Job({ id: 'held' })
    class Held {
      async run(ctx: JobContext<number>) {
        starts[ctx.params]?.open();
        await releases[ctx.params]?.opened;
      }
    }
    await system.deploy([Held, Quick]);
    const appName = `runner-${system.connection.database}`;
    const { runner, said } = talkative(system, [Held, Quick], { leaseMs: 60_000 }, appName);
    await runner.start();
    for (const [turn, [name, mishap]] of mishaps.entries()) {
      const held = await system.trigger('held', turn);
      await starts[turn]?.opened;
      said.length = 0;
      await failPoint.set({
        mode: 'alwaysOn',
        data: {
          failCommands: ['find', 'findAndModify', 'update', 'insert', 'aggregate', 'distinct'],
          appName,
          ...mishap,
        },
      });
      releases[turn]?.open();
      await until(
        `${name}: failed looks for work`,
        () => said.filter((line) => line.includes('looking for work failed')).length >= 3,
      );
      // Three failed turns take at least the pauses between them: no busy loop.
      expect(said.length).toBeLessThan(60);
      await failPoint.off();
      expect(outcomes(await system.closed(held)), name).toEqual(['succeeded']);
      const quick = await system.closed(await system.trigger('quick'));
      expect(outcomes(quick), name).toEqual(['succeeded']);
    }
  });

  test('the finish is applied and its answer lost: one attempt, one success', async (context) => {
    const system = await openSystem();
    closers.push(() => system.close());
    const failPoint = await openFailPoint(system.connection.uri);
    closers.push(() => failPoint.close());
    context.skip(failPoint.refused !== null, failPoint.refused ?? '');
    const started = gate();
    const release = gate();
    @Job({ id: 'held' })
    class Held {
      async run() {
        started.open();
        await release.opened;
        return 'once';
      }
    }
    await system.deploy([Held]);
    const appName = `runner-${system.connection.database}`;
    const runner = new Runner({
      connection: { ...impatient(system), appName },
      jobs: executableJobs([Held]),
      lead: false,
    });
    closers.push(() => runner.stop({ force: true }));
    await runner.start();
    const runId = await system.trigger('held');
    await started.opened;
    // The driver repeats a write once by itself; this goes on for longer.
    await failPoint.set({
      mode: { times: 3 },
      data: {
        failCommands: ['findAndModify'],
        appName,
        writeConcernError: { code: 91, codeName: 'ShutdownInProgress', errmsg: 'going down' },
      },
    });
    release.open();
    const run = await system.closed(runId);
    expect(outcomes(run)).toEqual(['succeeded']);
    expect((await system.store.readInputs(runId, ['held'])).results).toEqual(['once']);
  });
});
