/** Decorators, compiler, time rules and client of Flowline: what application code imports. */

export {
  FlowClient,
  type TriggerOptions,
  type TriggerResult,
  type WaitOptions,
} from './client/flow-client.js';
export type { ClientOptions } from './client/open-database.js';
export type { AttemptSnapshot, RunSnapshot, TaskSnapshot } from './client/run-snapshot.js';
export { type CompileOptions, type CompileResult, compile } from './compiler/compile.js';
export type { CompiledDag } from './compiler/emit.js';
export { Dag } from './decorators/dag.js';
export { DependsOn } from './decorators/depends-on.js';
export { Job } from './decorators/job.js';
export type { JobContext, JobLog } from './definition/job-context.js';
export type {
  DagClass,
  JobClass,
  JobReference,
  ParamsOf,
  ResultOf,
  ResultsOf,
} from './definition/job-types.js';
export type {
  BackoffOptions,
  DagOptions,
  ErrorClass,
  ExpectOptions,
  GraphOptions,
  JobOptions,
  MisfireOptions,
  RetentionOptions,
  RetryOptions,
} from './definition/options.js';
export type { TransactionWork } from './definition/transaction-work.js';
export {
  CompileError,
  ConfigError,
  ConflictError,
  DecoratorError,
  FlowError,
  type FlowErrorCode,
  type FlowErrorOptions,
  isFlowError,
  LeaseLostError,
  LoadError,
  NonRetryableError,
  NoTransactionsError,
  NotFoundError,
  OptionError,
  PayloadError,
  type Problem,
  RetryAfterError,
  SkipTask,
  StoreError,
  TaskCancelledError,
  TaskError,
  TaskLostError,
  TaskTimeoutError,
  UsageError,
} from './errors.js';
export type {
  BackoffPolicy,
  DagDefinition,
  ExpectWithin,
  JobDefinition,
  MisfirePolicy,
  RetryPolicy,
} from './model/definition.js';
export type { ExpectationKind, MissedExpectation } from './model/expectation.js';
export type { AttemptLoss, DataInterval } from './model/run.js';
export type { Cause, RunState, TaskState } from './model/states.js';
export { formatDuration, parseDuration } from './time/duration.js';
export { describe } from './time/schedule/describe-schedule.js';
export {
  firesBetween,
  type NextFiresOptions,
  nextFires,
  type PreviousFiresOptions,
  previousFires,
} from './time/schedule/fires.js';
export type { Schedule } from './time/schedule/schedule.js';
export type {
  AtInput,
  CronInput,
  EveryInput,
  InstantInput,
  ScheduleInput,
} from './time/schedule/schedule-input.js';
export { streamFires } from './time/schedule/stream-fires.js';
