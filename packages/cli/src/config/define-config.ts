import type { MissedExpectation } from '@flowline/core';

/** The levels of the CLI's and the runner's own log, the most talkative first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

export type LogLevel = (typeof logLevels)[number];

/** What a `flow.config.ts` may say. Everything has a default; flags and environment variables come before it. */
export interface FlowConfig {
  /**
   * Owner of the DAGs that are deployed from here: "removed" and `--prune` look at this project only.
   * Default: the `name` in the package.json beside the config.
   */
  readonly project?: string | undefined;
  /**
   * Globs of the job files, relative to the config. Default: every `*.job.ts` and every file below a folder `jobs`,
   * without tests and built files.
   */
  readonly jobs?: readonly string[] | undefined;
  /** MongoDB to use. Default: the embedded development database. Better set as FLOW_MONGODB_URI. */
  readonly mongodbUri?: string | undefined;
  /** Name of the database. Default: the one in the URI, else `flowline`. */
  readonly database?: string | undefined;
  /** Folder of the embedded database, relative to the config. Default `.flow`. */
  readonly dataDir?: string | undefined;
  /** Runner processes started from here. */
  readonly runner?: RunnerConfig | undefined;
  /**
   * Called by a leading runner for each expectation of `expectWithin` that was not met, at least once; may be async. What it
   * throws is logged, and it is called again, three times in all.
   */
  readonly onExpectationMissed?: ((missed: MissedExpectation) => unknown) | undefined;
  /** Default `info`. */
  readonly logLevel?: LogLevel | undefined;
}

export interface RunnerConfig {
  /** How many tasks run at once in one process. */
  readonly concurrency?: number | undefined;
  /** How long the right to a task lasts without renewal: a duration such as `'20s'`. */
  readonly lease?: string | undefined;
  /** How long a stopping runner waits for running tasks before it aborts them: a duration such as `'30s'`. */
  readonly drainTimeout?: string | undefined;
}

/** Gives a config its type in the editor, and answers it unchanged; it is checked when `flow` loads it. */
export function defineConfig(config: FlowConfig): FlowConfig {
  return config;
}
