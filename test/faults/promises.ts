/** What scenarios share: how each is recovered, and what is asked of it in the end. */
import { isFlowError } from '@flowline/core';
import type { FaultPlan, Scenario, TestProcess } from '@flowline/core/testing';
import { expect } from 'vitest';
import { Parts } from './parts.js';
import type { Scene, Scenes } from './scenes.js';

/** By name. */
export type Scenarios = Readonly<Record<string, Omit<Scenario<Scene>, 'name'>>>;

export const dagIds = (scene: Scene) => [scene.id];

export function refusedOnly(error: unknown): void {
  if (!isFlowError(error, 'conflict')) throw error;
}

export function promisesOn(scenes: Scenes) {
  const { bench } = scenes;
  return {
    bench,
    recover: (process: TestProcess, all: readonly Scene[]) => scenes.recover(process, all),
    work: (process: TestProcess, scene: Scene) => new Parts(process).work(scenes.jobsOf(scene)),
    stateOf: async (runId: string) => (await bench.collections.runs.findOne({ _id: runId }))?.state,
    async allSucceeded(scene: Scene, count: number, plan: FaultPlan = []) {
      const runs = await bench.collections.runs.find({ dagId: scene.id }).toArray();
      const states = runs.map((run) => run.state);
      // A task whose inputs can never be read has failed, and says why.
      const mayFail = plan.some((fault) => fault.kind === 'fail-for-good');
      const likes = mayFail
        ? states.map((state) => (state === 'failed' ? 'succeeded' : state))
        : states;
      expect(likes).toEqual(Array.from({ length: count }, () => 'succeeded'));
    },
  };
}
