/** What becomes of tasks: claims, heartbeats, finishes, retries, cancels, rescues, drains. */
import { expect } from 'vitest';
import { executable, type HandlerContext, Parts } from './parts.js';
import { dagIds, promisesOn, refusedOnly, type Scenarios } from './promises.js';
import type { Scenes } from './scenes.js';

const soon = { type: 'fixed', delayMs: 1, maxMs: 1, factor: 1, jitter: 'none' } as const;

function fails(): never {
  throw new Error('asked to');
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

export function taskScenarios(scenes: Scenes): Scenarios {
  const { bench, recover, work, stateOf, allSucceeded } = promisesOn(scenes);
  return {
    claim: {
      dagIds,
      prepare: () => scenes.started({ a: [], b: [] }),
      act: ({ store }, scene) =>
        store.claimTasks({
          runnerId: 'claims',
          serveKeys: scene.definition.jobs.map((job) => job.serveKey),
          leaseMs: 1,
          limit: 2,
        }),
      recover,
      check: (scene, plan) => allSucceeded(scene, 1, plan),
    },
    heartbeat: {
      dagIds,
      async prepare() {
        const scene = await scenes.started({ a: [] });
        await scenes.claimOne(scene, 'holder');
        return scene;
      },
      async act({ store }, scene) {
        const held = { taskId: `${scene.runId}/a`, token: 1 };
        await store.heartbeatRunner('holder', 'running', 5_000);
        const { lost } = await store.renewLeases('holder', [held], 1);
        expect(lost).toEqual([]);
        await store.reportProgress(held, 'holder', 0.5);
        const mine = await store.acquireLeadership('holder', 60_000);
        if (mine !== null) await store.renewLeadership('holder', mine.epoch, 60_000);
      },
      recover,
      check: (scene, plan) => allSucceeded(scene, 1, plan),
    },
    finish: {
      dagIds,
      prepare: () =>
        scenes.started({ a: [] }, { handlers: { a: ({ log }) => log.info('at work') } }),
      act: work,
      recover,
      check: (scene, plan) => allSucceeded(scene, 1, plan),
    },
    'fan-in': {
      dagIds,
      prepare: () => scenes.started({ a: [], b: [], join: ['a', 'b'] }),
      act: work,
      recover,
      check: (scene, plan) => allSucceeded(scene, 1, plan),
    },
    failure: {
      dagIds,
      prepare: () => scenes.started({ a: [], b: ['a'], c: ['b'] }, { handlers: { a: fails } }),
      act: work,
      recover,
      async check(scene) {
        expect(await stateOf(scene.runId)).toBe('failed');
      },
    },
    retry: {
      dagIds,
      prepare: () =>
        scenes.started(
          { a: [] },
          {
            jobs: { a: { retry: { attempts: 9, backoff: soon }, maxLost: 9 } },
            handlers: { a: ({ attempt }) => (attempt === 1 ? fails() : 'done') },
          },
        ),
      act: work,
      recover,
      check: (scene, plan) => allSucceeded(scene, 1, plan),
    },
    rerun: {
      dagIds,
      async prepare() {
        const retention = { runsMs: 30 * 86_400_000, logsMs: 86_400_000 };
        const scene = await scenes.started({ a: [], b: ['a'] }, { dag: { retention } });
        const task = await scenes.claimOne(scene, 'fails', 60_000);
        const error = { name: 'Error', message: 'asked to' };
        await bench.store.finishAttempt({
          ...{ taskId: task.taskId, runnerId: 'fails', token: 1, attempt: 1 },
          outcome: { kind: 'failed', error },
        });
        await bench.store.propagate(task.taskId);
        return scene;
      },
      async act({ store }, scene) {
        await store.retryRun(scene.runId);
        await store.admitRuns(scene.id);
      },
      async askAgain(process, scene) {
        // Whoever did not hear that it was done asks again, once.
        if ((await stateOf(scene.runId)) === 'failed') {
          await process.store.retryRun(scene.runId).catch(refusedOnly);
        }
      },
      recover,
      check: (scene, plan) => allSucceeded(scene, 1, plan),
    },
    cancel: {
      dagIds,
      async prepare() {
        const scene = await scenes.started({ a: [], b: [], c: ['a'] });
        await scenes.claimOne(scene, 'holder');
        return scene;
      },
      act: ({ store }, scene) => store.cancelRun(scene.runId),
      async askAgain(process, scene) {
        await process.store.cancelRun(scene.runId);
      },
      recover,
      async check(scene) {
        expect(await stateOf(scene.runId)).toBe('cancelled');
      },
    },
    rescue: {
      dagIds,
      isAlone: true,
      async prepare() {
        const scene = await scenes.started(
          { a: [], b: ['a'] },
          { jobs: { a: { onLost: 'fail' } } },
        );
        await scenes.claimOne(scene, 'dead');
        return scene;
      },
      async act({ store }) {
        await bench.heardThroughout();
        await store.heartbeatRunner('living', 'running', 5_000);
        await store.rescueExpired(60_000);
      },
      recover,
      async check(scene) {
        expect(await stateOf(scene.runId)).toBe('failed');
      },
    },
    drain: {
      dagIds,
      prepare: () => scenes.started({ a: [], b: ['a'] }),
      async act(process, scene) {
        const parts = new Parts(process);
        const waits = { a: ({ signal }: HandlerContext) => untilAborted(signal) };
        const { claimer, executor } = parts.start(executable(scene.id, ['a', 'b'], waits));
        const seen = new Promise<void>((resolve) => {
          parts.events.once('claimed', () => resolve());
          // A fault may leave it without a claim.
          parts.events.once('failed', () => resolve());
        });
        await seen;
        await claimer.stop();
        await executor.drain(0, new AbortController().signal);
        await process.store.removeRunner(parts.runnerId);
      },
      recover,
      check: (scene, plan) => allSucceeded(scene, 1, plan),
    },
  };
}
