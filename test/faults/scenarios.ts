/** Everything that Flowline does in several steps, as scenarios that are interrupted at every step. */
import type { Scenario } from '@flowline/core/testing';
import { ScenePool } from './scene-pool.js';
import type { Scene, Scenes } from './scenes.js';
import { scheduleScenarios } from './schedule-scenarios.js';
import { taskScenarios } from './task-scenarios.js';

/** By name; each is made for one database. */
export function scenariosOn(scenes: Scenes): Readonly<Record<string, Scenario<Scene>>> {
  const scenarios = { ...scheduleScenarios(scenes), ...taskScenarios(scenes) };
  return Object.fromEntries(
    Object.entries(scenarios).map(([name, scenario]) => {
      const pool = new ScenePool(scenes.bench, () => scenario.prepare());
      return [name, { name, ...scenario, prepare: () => pool.take() }];
    }),
  );
}
