/** How runs come to be: deploys, triggers, fires, admission, backfills, pauses. */
import type { TestProcess } from '@flowline/core/testing';
import { expect } from 'vitest';
import { dateSlot, keySlot } from '../../packages/core/src/model/ids.js';
import { definitionOf, deployment } from '../store/scheduling.js';
import { Parts } from './parts.js';
import { dagIds, promisesOn, type Scenarios } from './promises.js';
import { type Scene, type Scenes, seldom, seldomMs } from './scenes.js';

/** As a client that wants one run, however often it asks. */
async function triggerWithKey(store: TestProcess['store'], scene: Scene): Promise<void> {
  const slot = keySlot('once');
  const { runId } = await store.createRun({ dagId: scene.id, cause: 'api', slot });
  await store.admitRuns(scene.id, runId);
}

export function scheduleScenarios(scenes: Scenes): Scenarios {
  const { bench, recover, work, allSucceeded } = promisesOn(scenes);
  const lead = (process: TestProcess) => new Parts(process).lead();
  const twoDates = async (scene: Scene) => {
    const { nextFireAt } = await bench.dag(scene.id);
    return { dagId: scene.id, from: new Date(nextFireAt!.getTime() - 2 * seldomMs) };
  };
  const changed = (scene: Scene) =>
    deployment({ ...scene.definition, schedule: definitionOf('x', { every: '1001d' }).schedule! });

  return {
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
  };
}
