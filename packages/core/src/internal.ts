/**
 * What the sister packages (runner, cli) need and application code does not: no promise of stability. Grouped by room;
 * add lines where they belong.
 */

// client
export { runFacts, runSnapshot } from './client/run-snapshot.js';
// compiler
export { canonicalJson, serveKeyOf, versionOf } from './compiler/canonical.js';
export { dagIdOf } from './compiler/dag-id-of.js';
export { type ExecutableJob, executableJobs } from './compiler/executable-jobs.js';
export { type CompilerProblemCode, compilerProblemCodes } from './compiler/problem-codes.js';
// definition
export { type AnyClass, readGraph } from './definition/graph.js';
export { isDecorated } from './definition/records.js';
export { listDecoratedClasses, takeDecoratedClasses } from './definition/registry.js';
export { captureSite, describeSite, type Site, siteOfStack } from './definition/site.js';
// errors
export { describeValue } from './errors.js';
// model
export {
  type BackoffPolicy,
  type DagDefinition,
  definitionSchema,
  type JobDefinition,
  type MisfirePolicy,
  type RetryPolicy,
} from './model/definition.js';
export {
  type ExpectationKind,
  expectationKinds,
  type MissedExpectation,
} from './model/expectation.js';
export {
  dateSlot,
  idOfClassName,
  isId,
  keySlot,
  poolOf,
  type ServeKey,
  taskId,
  uniqueSlot,
} from './model/ids.js';
export type {
  Attempt,
  AttemptLoss,
  Backfill,
  Dag,
  DataInterval,
  FireRecord,
  Lease,
  LogLine,
  Run,
  RunnerRecord,
  RunView,
  StoredError,
  Task,
} from './model/run.js';
export * from './model/states.js';
// store
export type { ConnectOptions, ConnectSources } from './store/connect.js';
// The driver is loaded when it is needed: export nothing else of the store that is more than a type.
export { connectStore } from './store/connect-lazily.js';
export { portionsOf } from './store/portions.js';
export type { ClockMeasurement } from './store/server-time.js';
export type { Store } from './store/store.js';
export type * from './store/verbs/audit-verbs.js';
export { invariantNames } from './store/verbs/audit-verbs.js';
export type * from './store/verbs/backfill-verbs.js';
export type * from './store/verbs/dag-verbs.js';
export type * from './store/verbs/examination-verbs.js';
export type * from './store/verbs/expectation-verbs.js';
export type * from './store/verbs/fleet-verbs.js';
export type * from './store/verbs/log-verbs.js';
export type * from './store/verbs/run-verbs.js';
export type * from './store/verbs/task-verbs.js';
// time
export { backoffDelayMs, MAX_BACKOFF_MS } from './time/backoff.js';
export { type DateRange, parseDateRange } from './time/date-range.js';
export { didYouMean } from './time/did-you-mean.js';
export { type BatchProgress, estimateLeftMs } from './time/estimate-left.js';
export {
  type ClockChange,
  type ClockMeeting,
  clockChanges,
  clockMeetings,
} from './time/schedule/clock-changes.js';
export { type ClockChangeView, viewClockChanges } from './time/schedule/clock-view.js';
export { type FireView, viewFire, viewNextFires } from './time/schedule/fire-view.js';
export { dataIntervalOf, fireBatches } from './time/schedule/fires.js';
export { jitterOf } from './time/schedule/jitter.js';
export { type ParsedSchedule, parseSchedule, toSchedule } from './time/schedule/parse-schedule.js';
export type { Schedule } from './time/schedule/schedule.js';
export { boundedTimerMs, MAX_TIMER_MS } from './time/timer.js';
export { parseInstant } from './time/zone/instant-text.js';
export { timeZoneProblem } from './time/zone/zone.js';
