/** Tests with runner processes: each has a database of its own on one server, so that they can run side by side. */
import { isClosedRun, type RunView } from '@flowline/core/internal';
import { test as base } from 'vitest';
import { openTestDatabase } from './database.ts';
import { type FlowSandbox, openFlow, type Running, type SpawnOptions } from './flow.ts';
import { until } from './until.ts';

/** A runner that is at work. */
export type StartedRunner = Running & { readonly id: string };

export interface Fleet {
  readonly flow: FlowSandbox;
  /** Starts a runner and waits until it is at work. */
  started(args?: readonly string[], options?: SpawnOptions): Promise<StartedRunner>;
}

/** A `test` whose function gets a sandbox in `project`, with `jobs` deployed, and what starts runners there. */
export function testWithFlow(project: string, jobs: string, runnerArgs: readonly string[]) {
  return base.extend<Fleet>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the parameters of a fixture
    flow: async ({}, use) => {
      const flow = await openFleet(project, jobs);
      await use(flow);
      await flow.close();
    },
    started: async ({ flow }, use) => use(starter(flow, runnerArgs)),
  });
}

/** A sandbox on the shared server, or on the one at `uri`, with `jobs` deployed. */
export async function openFleet(project: string, jobs: string, uri?: string): Promise<FlowSandbox> {
  const flow = await openFlow(project, { uri: uri ?? (await openTestDatabase()).uri });
  await flow.here(['deploy', jobs]);
  return flow;
}

/** What starts runners in a sandbox. */
export function starter(flow: FlowSandbox, runnerArgs: readonly string[]): Fleet['started'] {
  return async (args = runnerArgs, options = {}) => {
    const runner = flow.spawn(args, options);
    return { ...runner, id: await runner.started };
  };
}

/** The run once it has ended. */
export async function endOf(flow: FlowSandbox, runId: string): Promise<RunView> {
  const store = await flow.store();
  return until(`the end of run ${runId}`, async () => {
    const view = await store.viewRun(runId);
    return view !== null && isClosedRun(view.state) && view;
  });
}

/** Arguments of node for a runner that believes to be on another machine, so that nobody here can prove it dead. */
export const onOtherHost: SpawnOptions = {
  node: ['--import', new URL('../../bench/chaos/preload/other-host.mjs', import.meta.url).href],
  env: { OTHER_HOST: 'elsewhere' },
};

/** A runner whose wall clock is off by so many minutes. */
export const withClock = (offsetMinutes: number): SpawnOptions => ({
  node: ['--import', new URL('../../bench/chaos/preload/skewed-clock.mjs', import.meta.url).href],
  env: { CLOCK_OFFSET_MS: String(offsetMinutes * 60_000) },
});

/** How the attempts of a job ended, and on which runner. */
export function outcomes(run: RunView, job: string) {
  return run.tasks
    .find(({ jobId }) => jobId === job)
    ?.attempts.map(({ outcome, runner }) => [outcome, runner]);
}
