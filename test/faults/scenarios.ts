/** Everything that Flowline does in several steps, as scenarios that are interrupted at every step. */
import { isFlowError } from '@flowline/core';
import type { FaultPlan, Scenario, TestProcess } from '@flowline/core/testing';
import { expect } from 'vitest';
import { dateSlot, keySlot } from '../../packages/core/src/model/ids.js';
import { definitionOf, deployment } from '../store/scheduling.js';
import { executable, type HandlerContext, Parts } from './parts.js';
import { ScenePool } from './scene-pool.js';
import { type Scene, type Scenes, seldom, seldomMs } from './scenes.js';

type Scened = Scenario<Scene>;

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

/** As a client that wants one run, however often it asks. */
async function triggerWithKey(store: TestProcess['store'], scene: Scene): Promise<void> {
  const slot = keySlot('once');
  const { runId } = await store.createRun({ dagId: scene.id, cause: 'api', slot });
  await store.admitRuns(scene.id, runId);
}

function refusedOnly(error: unknown): void {
  if (!isFlowError(error, 'conflict')) throw error;
}

const dagIds = (scene: Scene) => [scene.id];

/** By name; each is made for one database. */
export function scenariosOn(scenes: Scenes): Readonly<Record<string, Scened>> {
  const { bench } = scenes;
  const recover = (process: TestProcess, all: readonly Scene[]) => scenes.recover(process, all);
  const work = (process: TestProcess, scene: Scene) =>
    new Parts(process).work(scenes.jobsOf(scene));
  const lead = (process: TestProcess) => new Parts(process).lead();
  const stateOf = async (runId: string) =>
    (await bench.collections.runs.findOne({ _id: runId }))?.state;
  const runsOf = (scene: Scene) => bench.collections.runs.find({ dagId: scene.id }).toArray();
  const allSucceeded = async (scene: Scene, count: number, plan: FaultPlan = []) => {
    const states = (await runsOf(scene)).map((run) => run.state);
    // A task whose inputs can never be read has failed, and says why.
    const mayFail = plan.some((fault) => fault.kind === 'fail-for-good');
    const likes = mayFail
      ? states.map((state) => (state === 'failed' ? 'succeeded' : state))
      : states;
    expect(likes).toEqual(Array.from({ length: count }, () => 'succeeded'));
  };

  const twoDates = async (scene: Scene) => {
    const { nextFireAt } = await bench.dag(scene.id);
    return { dagId: scene.id, from: new Date(nextFireAt!.getTime() - 2 * seldomMs) };
  };
  const changed = (scene: Scene) =>
    deployment({ ...scene.definition, schedule: definitionOf('x', { every: '1001d' }).schedule! });

  const scenarios: Readonly<Record<string, Omit<Scened, 'name'>>> = {
    deploy: {
      dagIds,
      prepare: () => scenes.overdue(2),
      act: ({ store }, scene) => store.deployDag(changed(scene)),
      async askAgain(process, scene) {
        await process.store.deployDag(changed(scene));
      },
      recover,
      async check(scene, plan) {
        const { version, scheduleRev } = await bench.dag(scene.id);
        expect([version, scheduleRev]).toEqual([changed(scene).version, 2]);
        await allSucceeded(scene, 2, plan);
      },
    },
    trigger: {
      dagIds,
      prepare: () => scenes.deploy({ a: [] }),
      act: ({ store }, scene) => triggerWithKey(store, scene),
      async askAgain(process, scene) {
        await triggerWithKey(process.store, scene);
      },
      recover,
      check: (scene, plan) => allSucceeded(scene, 1, plan),
    },
    misfire: {
      dagIds,
      prepare: () => scenes.overdue(3),
      async act({ store }, scene) {
        await store.settleSchedule(scene.id);
      },
      recover,
      async check(scene, plan) {
        // The oldest is beyond maxCatchUp.
        await allSucceeded(scene, 2, plan);
        expect(await bench.store.countFires(scene.id)).toEqual({ capped: 1 });
      },
    },
    'leader tick': {
      dagIds,
      isAlone: true,
      prepare: () => scenes.overdue(1),
      act: lead,
      recover,
      check: (scene, plan) => allSucceeded(scene, 1, plan),
    },
    admission: {
      dagIds,
      isAlone: true,
      async prepare() {
        const scene = await scenes.deploy({ a: [] }, { dag: { maxActiveRuns: 1 } });
        await bench.store.createRun({ dagId: scene.id, cause: 'api' });
        await bench.store.createRun({ dagId: scene.id, cause: 'api' });
        return scene;
      },
      async act({ store }, scene) {
        await store.admitRuns(scene.id);
        await store.repairPlaces();
      },
      recover,
      check: (scene, plan) => allSucceeded(scene, 2, plan),
    },
    refusal: {
      dagIds,
      async prepare() {
        const { schedule } = definitionOf('x', seldom);
        const dag = { schedule: schedule!, overlap: 'skip', maxActiveRuns: 1 } as const;
        const scene = await scenes.started({ only: [] }, { dag });
        const logicalDate = new Date(0);
        const scheduled = { cause: 'schedule', slot: dateSlot(logicalDate), logicalDate } as const;
        await bench.store.createRun({ dagId: scene.id, ...scheduled });
        return scene;
      },
      act: ({ store }, scene) => store.admitRuns(scene.id),
      async askAgain(process, scene) {
        // It must be refused before the run that it would wait for is over.
        await process.store.admitRuns(scene.id);
      },
      recover,
      async check(scene, plan) {
        await allSucceeded(scene, 1, plan);
        expect(await bench.store.countFires(scene.id)).toEqual({ overlap: 1 });
      },
    },
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
    backfill: {
      dagIds,
      isAlone: true,
      prepare: () => scenes.overdue(0),
      async act(process, scene) {
        await process.store.createBackfill(await twoDates(scene));
        await process.store.feedBackfills();
        await work(process, scene);
        await process.store.feedBackfills();
      },
      async askAgain(process, scene) {
        const there = await process.store.listBackfills({ dagId: scene.id });
        if (there.length === 0) await process.store.createBackfill(await twoDates(scene));
      },
      recover,
      async check(scene, plan) {
        await allSucceeded(scene, 2, plan);
        const [only] = await bench.store.listBackfills({ dagId: scene.id });
        expect(only).toMatchObject({ total: 2, queued: 0, running: 0, skipped: 0, cancelled: 0 });
      },
    },
    pause: {
      dagIds,
      prepare: () => scenes.overdue(1),
      async act({ store }, scene) {
        await store.pauseDag(scene.id);
        await store.resumeDag(scene.id);
      },
      async askAgain(process, scene) {
        await process.store.resumeDag(scene.id);
      },
      recover,
      check: (scene, plan) => allSucceeded(scene, 1, plan),
    },
    prune: {
      dagIds,
      prepare: () => scenes.overdue(2),
      act: ({ store }, scene) => store.retireDag(scene.id, 'tests'),
      async askAgain(process, scene) {
        await process.store.retireDag(scene.id, 'tests');
      },
      recover,
      async check(scene, plan) {
        expect((await bench.dag(scene.id)).state).toBe('retired');
        await allSucceeded(scene, 0, plan);
        expect(await bench.store.countFires(scene.id)).toEqual({ skipped: 2 });
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
  return Object.fromEntries(
    Object.entries(scenarios).map(([name, scenario]) => {
      const pool = new ScenePool(bench, () => scenario.prepare());
      return [name, { name, ...scenario, prepare: () => pool.take() }];
    }),
  );
}
