import { EventEmitter } from 'node:events';
import type { MissedExpectation } from '@flowline/core';

/** What happens inside a runner, as named signals: tests wait for these instead of sleeping. */
export interface RunnerEvents {
  /** Registered and looking for work. */
  started: [];
  'leader-won': [epoch: number];
  'leader-lost': [reason: string];
  /** One tick of the leader's duties is over. */
  ticked: [];
  claimed: [taskId: string, attempt: number];
  finished: [taskId: string, outcome: string];
  /** The lease of a task that we run is gone. */
  lost: [taskId: string];
  /** A task is past its timeout and does not yield. */
  stuck: [taskId: string];
  rescued: [taskId: string];
  /** The leader saw that an expectation of `expectWithin` was not met. Told at least once. */
  'expectation-missed': [missed: MissedExpectation];
  /** A look for work found nothing. */
  idle: [];
  draining: [];
  stopped: [];
  /** A turn of a loop failed; the loop goes on. */
  failed: [loop: string, error: unknown];
  /** A part without which the runner is no use has ended for good: see `Runner.failure`. */
  broken: [error: Error];
}

/** A typed emitter. */
export class RunnerEmitter extends EventEmitter<RunnerEvents> {}
