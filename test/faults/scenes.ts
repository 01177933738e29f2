/** Scenes for faults and encounters: a DAG of its own each, and what survivors do until nothing is left to do. */
import type { TestProcess } from '@flowline/core/testing';
import type { DagDefinition, JobDefinition } from '../../packages/core/src/model/definition.js';
import { graphOf } from '../store/graphs.js';
import { type Bench, definitionOf, deployment } from '../store/scheduling.js';
import { executable, type Handlers, Parts } from './parts.js';

export interface Scene {
  readonly id: string;
  readonly definition: DagDefinition;
  readonly handlers: Handlers;
  /** The run that the scene is about, where there is one. */
  runId: string;
}

export interface SceneOptions {
  readonly dag?: Partial<DagDefinition>;
  readonly jobs?: Readonly<Record<string, Partial<JobDefinition>>>;
  readonly handlers?: Handlers;
}

/** Fires so seldom that none comes due while a test runs. */
export const seldom = { every: '1000d' } as const;
export const seldomMs = 1_000 * 86_400_000;

/** Clocks of test processes go fifty times faster: more than a minute for a machine that does much else. */
const timeoutMs = 3_600_000;

export class Scenes {
  readonly bench: Bench;

  constructor(bench: Bench) {
    this.bench = bench;
  }

  async deploy(
    edges: Readonly<Record<string, readonly string[]>>,
    options: SceneOptions = {},
  ): Promise<Scene> {
    // Ends like no other name begins, so that a copy can be renamed.
    const id = `${this.bench.id('scene')}-x`;
    const jobs = Object.fromEntries(
      Object.keys(edges).map((job) => [job, { timeoutMs, ...options.jobs?.[job] }]),
    );
    const definition = graphOf(id, edges, options.dag, jobs);
    await this.bench.store.deployDag(deployment(definition));
    return { id, definition, handlers: options.handlers ?? {}, runId: '' };
  }

  /** With a run that is admitted. */
  async started(
    edges: Readonly<Record<string, readonly string[]>>,
    options: SceneOptions = {},
  ): Promise<Scene> {
    const scene = await this.deploy(edges, options);
    await this.trigger(scene);
    return scene;
  }

  async trigger(scene: Scene, more: { readonly slot?: string } = {}): Promise<string> {
    const { store } = this.bench;
    const { runId } = await store.createRun({ dagId: scene.id, cause: 'api', ...more });
    await store.admitRuns(scene.id);
    scene.runId = runId;
    return runId;
  }

  /** A DAG with a schedule of which `missed` fires are due. */
  async overdue(missed: number, options: Partial<DagDefinition> = {}): Promise<Scene> {
    const { schedule } = definitionOf('x', seldom);
    const misfire = { policy: 'catch-up', maxCatchUp: 2 } as const;
    const dag = { schedule: schedule!, misfire, maxActiveRuns: 2, ...options };
    const scene = await this.deploy({ only: [] }, { dag });
    await this.makeDue(scene.id, missed);
    return scene;
  }

  /** Takes the cursor back over so many fires, as if the schedule had stood since before them. */
  async makeDue(id: string, missed: number): Promise<void> {
    const { nextFireAt } = await this.bench.dag(id);
    const first = new Date(nextFireAt!.getTime() - missed * seldomMs);
    await this.bench.collections.dags.updateOne(
      { _id: id },
      { $set: { nextFireAt: first, scheduledFrom: new Date(first.getTime() - 1) } },
    );
  }

  jobsOf(...scenes: readonly Scene[]) {
    return new Map(
      scenes.flatMap((scene) => {
        const names = scene.definition.jobs.map((job) => job.id);
        return [...executable(scene.id, names, scene.handlers)];
      }),
    );
  }

  /** A claim of one task, by a runner that is not heard of again unless the scenario says so. */
  async claimOne(scene: Scene, runnerId: string, leaseMs = 1) {
    const serveKeys = scene.definition.jobs.map((job) => job.serveKey);
    const claim = { runnerId, serveKeys, leaseMs, limit: 1 };
    const [task] = await this.bench.store.claimTasks(claim);
    if (task === undefined) throw new Error(`nothing to claim in ${scene.id}`);
    return task;
  }

  /** What a runner on the same machine does that proves the death of all others, and then a leader and a worker. */
  async recover(process: TestProcess, scenes: readonly Scene[]): Promise<void> {
    const parts = new Parts(process);
    const { store } = process;
    await this.bench.heardThroughout();
    const lost = await store.getLeadership();
    if (lost !== null) await store.releaseLeadership(lost.holder, lost.epoch);
    await store.registerRunner({
      ...{ id: parts.runnerId, host: 'here', bootId: null, pidNamespace: null, pid: 1 },
      ...{ processStart: null, serveKeys: [], concurrency: 1 },
    });
    const jobs = this.jobsOf(...scenes);
    const ids = scenes.map((scene) => scene.id);
    for (let round = 0; round < mostRounds; round += 1) {
      await parts.lead();
      await parts.work(jobs);
      if (await this.isOver(ids)) break;
    }
    await store.removeRunner(parts.runnerId);
  }

  /** Nothing is open, nothing is owed. What is wrong all the same is for the audit to say. */
  async isOver(ids: readonly string[]): Promise<boolean> {
    const { runs, tasks, dags, backfills } = this.bench.collections;
    const dagId = { $in: [...ids] };
    const isOpen = { $in: ['queued', 'running'] as ('queued' | 'running')[] };
    const some = { $exists: true };
    const left =
      (await runs.findOne({ dagId, state: isOpen })) ??
      (await tasks.findOne({ dagId, propagated: false })) ??
      (await dags.findOne({
        _id: dagId,
        $or: [{ pending: { $ne: null } }, { 'activeRunIds.0': some }],
      })) ??
      (await backfills.findOne({ dagId, $or: [{ state: 'running' }, { 'openRunIds.0': some }] }));
    return left === null;
  }
}

/** A scene that is not at rest by then never will be. */
const mostRounds = 8;
