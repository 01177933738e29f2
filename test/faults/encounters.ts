/** What meets what: several processes at the same DAG, in every order. */
import { isFlowError } from '@flowline/core';
import type { ClaimedTask, FinishOutcome, Store } from '@flowline/core/internal';
import type { Encounter, TestProcess } from '@flowline/core/testing';
import { expect } from 'vitest';
import { type Bench, deployment } from '../store/scheduling.js';
import { ScenePool } from './scene-pool.js';
import type { Scene, Scenes } from './scenes.js';

const succeeded: FinishOutcome = { kind: 'succeeded', result: null };
const failed: FinishOutcome = { kind: 'failed', error: { name: 'Error', message: 'asked to' } };

/** Ends an attempt and tells the dependents. False when the lease was lost: that is an answer, too. */
async function finish(
  store: Store,
  runnerId: string,
  task: ClaimedTask,
  outcome = succeeded,
): Promise<boolean> {
  const { taskId, token, attempt } = task;
  try {
    await store.finishAttempt({ taskId, runnerId, token, attempt, outcome });
  } catch (error) {
    if (isFlowError(error, 'lease-lost')) return false;
    throw error;
  }
  await store.propagate(taskId);
  return true;
}

interface EncounterScene extends Scene {
  /** Claimed before it begins. */
  readonly held: readonly ClaimedTask[];
  /** What must be true in the end, as the actors saw it. */
  readonly promises: (() => void)[];
}

type Meeting = Encounter<EncounterScene>;
type Part = Pick<Meeting, 'actors'> & { readonly prepare: () => Promise<EncounterScene> };

export function encountersOn(scenes: Scenes): Readonly<Record<string, Meeting>> {
  const { bench } = scenes;
  const keysOf = (scene: Scene) => scene.definition.jobs.map((job) => job.serveKey);
  const claim = ({ store }: TestProcess, scene: Scene, runnerId: string, limit = 1) =>
    store.claimTasks({ runnerId, serveKeys: keysOf(scene), leaseMs: 60_000, limit });
  const scened = (scene: Scene, held: readonly ClaimedTask[] = []): EncounterScene =>
    Object.assign(scene, { held, promises: [] });
  /** A run of which the first tasks are claimed, each by a runner of its own name. */
  const claimed = async (
    edges: Readonly<Record<string, readonly string[]>>,
    holders: readonly string[],
    options = {},
  ) => {
    const scene = await scenes.started(edges, { jobs: lenient(edges), ...options });
    const held: ClaimedTask[] = [];
    for (const holder of holders) held.push(await scenes.claimOne(scene, nameOf(scene, holder)));
    return scened(scene, held);
  };
  const fire = async ({ store }: TestProcess, scene: Scene) => {
    while ((await store.settleSchedule(scene.id)).more);
    await store.admitRuns(scene.id);
  };
  /** Claims whatever there is and finishes it, a few times. */
  const works =
    (runner: string, outcome = succeeded) =>
    async (process: TestProcess, scene: Scene) => {
      const runnerId = nameOf(scene, runner);
      for (let look = 0; look < 2; look += 1) {
        for (const task of await claim(process, scene, runnerId, 2)) {
          await finish(process.store, runnerId, task, outcome);
        }
      }
    };

  const meetings: Readonly<Record<string, Part>> = {
    'two leaders': {
      prepare: async () => scened(await scenes.overdue(2)),
      actors: (scene) => ({
        one: (process) => fire(process, scene),
        other: (process) => fire(process, scene),
      }),
    },
    'two rescuers': {
      prepare: () => claimed({ a: [], b: ['a'] }, ['lost']),
      actors: (scene) => ({
        one: ({ store }) => store.rescueRunner(nameOf(scene, 'lost')),
        other: ({ store }) => store.rescueRunner(nameOf(scene, 'lost')),
        worker: (process) => works('worker')(process, scene),
      }),
    },
    'finisher against rescuer': {
      prepare: () => claimed({ a: [], b: ['a'] }, ['w1']),
      actors: (scene) => ({
        finisher: ({ store }) => finish(store, nameOf(scene, 'w1'), scene.held[0]!),
        rescuer: ({ store }) => store.rescueRunner(nameOf(scene, 'w1')),
        // The same runner takes it again while its first attempt is still on its way.
        again: (process) => works('w1')(process, scene),
      }),
    },
    'renewal against rescuer': {
      prepare: () => claimed({ a: [] }, ['w1']),
      actors: (scene) => ({
        async holder({ store }) {
          const [task] = scene.held;
          const { lost } = await store.renewLeases(nameOf(scene, 'w1'), [task!], 600_000);
          // Once it was told that the lease is good, and long before that is over, nobody takes it.
          const isGood = lost.length === 0;
          const isTaken = !(await finish(store, nameOf(scene, 'w1'), task!));
          scene.promises.push(() => expect([isGood, isTaken]).not.toEqual([true, true]));
        },
        async rescuer({ store }) {
          await bench.heardThroughout();
          await store.rescueExpired(60_000);
        },
      }),
    },
    'two claimers': {
      prepare: () => claimed({ a: [], b: [], c: [] }, []),
      actors: (scene) => ({
        one: (process) => works('one')(process, scene),
        other: (process) => works('other')(process, scene),
      }),
    },
    'finisher against canceller': {
      prepare: () => claimed({ a: [], b: ['a'], c: [] }, ['w1']),
      actors: (scene) => ({
        finisher: ({ store }) => finish(store, nameOf(scene, 'w1'), scene.held[0]!),
        async canceller({ store }) {
          const { closed } = await store.cancelRun(scene.runId);
          const run = await bench.store.getRun(scene.runId);
          scene.promises.push(() => expect(closed || run?.cancelRequestedAt !== null).toBe(true));
        },
        worker: (process) => works('worker')(process, scene),
      }),
    },
    'both parents of a join': {
      prepare: () => claimed({ a: [], b: [], join: ['a', 'b'], last: ['join'] }, ['w1', 'w2']),
      actors: (scene) => ({
        one: ({ store }) => finish(store, nameOf(scene, 'w1'), scene.held[0]!),
        other: ({ store }) => finish(store, nameOf(scene, 'w2'), scene.held[1]!),
        leader: ({ store }) => store.payPropagation(0),
      }),
    },
    'deploy against trigger': {
      prepare: async () => scened(await scenes.overdue(1)),
      actors: (scene) => ({
        deployer: ({ store }) => store.deployDag(nextVersion(scene)),
        trigger: ({ store }) => trigger(store, scene),
        leader: (process) => fire(process, scene),
      }),
    },
    'pause against fire': {
      prepare: async () => scened(await scenes.overdue(2)),
      actors: (scene) => ({
        async pauser({ store }) {
          await store.pauseDag(scene.id);
          await store.resumeDag(scene.id);
        },
        leader: (process) => fire(process, scene),
        other: (process) => fire(process, scene),
      }),
    },
    'leader against prune': {
      prepare: async () => scened(await scenes.overdue(2)),
      actors: (scene) => ({
        pruner: ({ store }) => store.retireDag(scene.id, 'tests'),
        leader: (process) => fire(process, scene),
      }),
    },
    'retry against closers': {
      prepare: () => claimed({ a: [], b: [] }, ['w1', 'w2'], { dag: kept }),
      actors: (scene) => ({
        one: ({ store }) => finish(store, nameOf(scene, 'w1'), scene.held[0]!, failed),
        other: ({ store }) => finish(store, nameOf(scene, 'w2'), scene.held[1]!),
        leader: ({ store }) => store.payPropagation(0),
        async retrier(process) {
          for (let look = 0; look < 6; look += 1) {
            const run = await process.store.getRun(scene.runId);
            if (run?.state !== 'failed') continue;
            await process.store.retryRun(scene.runId);
            await process.store.admitRuns(scene.id);
            break;
          }
        },
      }),
    },
  };

  const dagIds = (scene: Scene) => [scene.id];
  const recover = (process: TestProcess, all: readonly Scene[]) => scenes.recover(process, all);
  const check = async (scene: EncounterScene) => {
    for (const promise of scene.promises) promise();
  };
  return Object.fromEntries(
    Object.entries(meetings).map(([name, one]) => [
      name,
      { name, dagIds, recover, check, ...one, prepare: pooled(bench, one.prepare) },
    ]),
  );
}

/** Each scene with promises of its own. */
function pooled(bench: Bench, make: () => Promise<EncounterScene>): () => Promise<EncounterScene> {
  const pool = new ScenePool(bench, make);
  return async () => ({ ...(await pool.take()), promises: [] });
}

const kept = { retention: { runsMs: 30 * 86_400_000, logsMs: 86_400_000 } };

/** Runners are called by the scene, too: a rescue of one is no rescue of another scene's. */
function nameOf(scene: Scene, runner: string): string {
  return `${runner}-of-${scene.id}`;
}

/** Losses are no failures here. */
function lenient(edges: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.keys(edges).map((job) => [job, { maxLost: 99 }]));
}

function nextVersion(scene: Scene) {
  return deployment({ ...scene.definition, maxActiveRuns: 5, description: 'the next one' });
}

async function trigger(store: Store, scene: Scene): Promise<void> {
  await store.createRun({ dagId: scene.id, cause: 'manual' });
  await store.admitRuns(scene.id);
}
