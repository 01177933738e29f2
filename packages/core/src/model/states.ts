/**
 * The states of runs and tasks, and the one table of their legal transitions.
 *
 * The store derives its filters from these tables and the property tests walk them, so that a transition that is not
 * written here cannot be made.
 */

export const runStates = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type RunState = (typeof runStates)[number];

export const taskStates = [
  'blocked',
  'ready',
  'running',
  'delayed',
  'succeeded',
  'failed',
  'skipped',
  'upstream-failed',
  'cancelled',
] as const;
export type TaskState = (typeof taskStates)[number];

/** `running` -> `running` is a rescue and a new claim seen from outside; it is never one write. */
export const runTransitions: Readonly<Record<RunState, readonly RunState[]>> = {
  queued: ['running', 'cancelled'],
  running: ['succeeded', 'failed', 'cancelled'],
  // A retry opens a closed run again (openEpoch + 1); it takes its place like any other.
  succeeded: ['queued'],
  failed: ['queued'],
  cancelled: ['queued'],
};

export const taskTransitions: Readonly<Record<TaskState, readonly TaskState[]>> = {
  blocked: ['ready', 'delayed', 'skipped', 'upstream-failed', 'cancelled'],
  ready: ['running', 'cancelled'],
  running: ['succeeded', 'failed', 'skipped', 'delayed', 'ready', 'cancelled'],
  delayed: ['ready', 'cancelled'],
  // A retry takes a task back to the start with a new generation.
  succeeded: ['blocked'],
  failed: ['blocked'],
  skipped: ['blocked'],
  'upstream-failed': ['blocked'],
  cancelled: ['blocked'],
};

export const closedRunStates = [
  'succeeded',
  'failed',
  'cancelled',
] as const satisfies readonly RunState[];
export const openTaskStates = [
  'blocked',
  'ready',
  'running',
  'delayed',
] as const satisfies readonly TaskState[];
export const closedTaskStates = [
  'succeeded',
  'failed',
  'skipped',
  'upstream-failed',
  'cancelled',
] as const satisfies readonly TaskState[];

/** True when a run in this state will not change without a retry. */
export function isClosedRun(state: RunState): boolean {
  return (closedRunStates as readonly RunState[]).includes(state);
}

/** True when a task in this state will not change without a retry. */
export function isClosedTask(state: TaskState): boolean {
  return (closedTaskStates as readonly TaskState[]).includes(state);
}

/** The states from which a task may go to `to`. */
export function taskSources(to: TaskState): TaskState[] {
  return taskStates.filter((from) => taskTransitions[from].includes(to));
}

export const causes = ['schedule', 'catch-up', 'backfill', 'manual', 'api'] as const;
/** Why a run exists. */
export type Cause = (typeof causes)[number];

export const attemptOutcomes = [
  'succeeded',
  'failed',
  'lost',
  'returned',
  'skipped',
  'cancelled',
] as const;
/** How an attempt ended. Only `failed` counts against `retry.attempts`, only `lost` against `maxLost`. */
export type AttemptOutcome = (typeof attemptOutcomes)[number];

export const backfillStates = ['running', 'paused', 'succeeded', 'failed', 'cancelled'] as const;
export type BackfillState = (typeof backfillStates)[number];

export const fireReasons = [
  'skipped',
  'expired',
  'paused',
  'overlap',
  'excluded',
  'capped',
  'coalesced',
  'broken',
] as const;
/** Why a due fire did not become a run of its own. */
export type FireReason = (typeof fireReasons)[number];
