import { compile } from '@flowline/core';
import {
  type ConnectOptions,
  connectStore,
  executableJobs,
  isClosedRun,
  type RunView,
  type Store,
} from '@flowline/core/internal';
import { Runner, type RunnerOptions } from '@flowline/runner';
import { openTestDatabase, type TestDatabase } from './database.ts';
import { until } from './until.ts';

/** A database with DAGs deployed, and runners in this process. */
export interface System {
  readonly store: Store;
  readonly connection: ConnectOptions & { readonly database: string; readonly appName: string };
  /** Compiles and deploys; warnings are ignored, errors thrown. */
  deploy(classes: readonly object[]): Promise<void>;
  startRunner(classes: readonly object[], options?: RunnerOptions): Promise<Runner>;
  /** Triggers a run and gives it its place. */
  trigger(dagId: string, params?: unknown): Promise<string>;
  /** The run with its tasks once it is closed. */
  closed(runId: string, deadlineMs?: number): Promise<RunView>;
  /** Stops the runners and drops the database. */
  close(): Promise<void>;
}

/** On a fresh test database, or on the one that is given. */
export async function openSystem(given?: TestDatabase): Promise<System> {
  const database = given ?? (await openTestDatabase());
  const connection = {
    uri: database.uri,
    database: database.databaseName,
    // Names this system's connections, for fail points.
    appName: `system-${database.databaseName}`,
  };
  const store = await connectStore(connection);
  await store.prepare();
  const runners: Runner[] = [];
  return {
    store,
    connection,
    async deploy(classes) {
      const { dags, problems } = compile(classes);
      const errors = problems.filter(({ severity }) => severity === 'error');
      if (errors.length > 0) throw new Error(JSON.stringify(errors));
      for (const { definition, version } of dags)
        await store.deployDag({ definition, version, project: 'test' });
    },
    async startRunner(classes, options = {}) {
      const runner = new Runner({
        connection,
        jobs: executableJobs(classes),
        pollMs: { busy: 20, idle: 100 },
        settleMs: 500,
        ...options,
      });
      runners.push(runner);
      await runner.start();
      return runner;
    },
    async trigger(dagId, params) {
      const { runId } = await store.createRun({
        dagId,
        cause: 'api',
        ...(params === undefined ? {} : { params }),
      });
      await store.admitRuns(dagId);
      return runId;
    },
    closed: (runId, deadlineMs) =>
      until(
        `the end of run ${runId}`,
        async () => {
          const run = await store.viewRun(runId);
          return run !== null && isClosedRun(run.state) && run;
        },
        deadlineMs,
      ),
    async close() {
      await Promise.all(runners.map((runner) => runner.stop({ force: true })));
      await store.close();
      await database.close();
    },
  };
}
