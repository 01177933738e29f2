export type { ExecutableJob } from '@flowline/core/internal';
export { type Clock, systemClock } from './clock.js';
export type { RunnerEvents } from './events.js';
export type { RunnerHealth, RunnerState } from './health/health.js';
export type { ExpectationHook, RunnerLog, RunnerOptions } from './options.js';
export { Runner, type RunnerConfig, type StopOptions, type StopReport } from './runner.js';
