/**
 * The shapes that the cursor protocol keeps inside a DAG's document: a decision before it is carried out, and what one
 * batch leaves open for the next. What they mean stands in settle-schedule.ts.
 */

import type { ExpectationKind } from '../../model/expectation.js';
import type { FireReason } from '../../model/states.js';
import type { DecidedRun, FireCarry } from '../../time/misfire/decide-fires.js';

export type { DecidedRun, FireCarry };

/** A decision about the fires from the cursor on, as it is stored before anything of it is done. */
export interface PendingDecision {
  /** The cursor that it was made at. With `scheduleRev` it names the decision. */
  from: Date;
  /** The database's now that it was made by. */
  decidedAt: Date;
  /** The version that the runs get, also when another is deployed before they are made. */
  version: string;
  /** Oldest first; each in the slot of its logical date, generation 0. */
  runs: DecidedRun[];
  lines: DecidedLine[];
  /** What fires among `lines` were expected to do, and now cannot; absent where nothing was expected. */
  missed?: DecidedMiss[];
  /** Where the cursor goes afterwards. */
  next: Date | null;
  nextJitterMs: number;
  carry: FireCarry | null;
  /** Set: the schedule cannot be evaluated, and why. */
  broken: string | null;
}

/** An expectation that the late fires among the lines of one decision miss, since they never become runs. */
export interface DecidedMiss {
  readonly kind: ExpectationKind;
  /** The first logical date. */
  readonly from: Date;
  readonly count: number;
  /** When it should have happened, for the first of them. */
  readonly by: Date;
}

/** A fire or a span that gets no run of its own. */
export interface DecidedLine {
  readonly from: Date;
  readonly to: Date;
  readonly count: number;
  readonly reason: FireReason;
}

/**
 * What is settled, and into what:
 * - `due`: what is due, by the DAG's policies. The regular way.
 * - `replace`: the schedule is about to change. Also the fire whose date has come while its jitter is not over (its run gets a
 *   start time), and what an open pause has held back so far, by the `onResume` that held until now: the new schedule will
 *   not know these dates. What comes due inside the pause is the pause's, also where its date lies before it.
 * - `retire`: the DAG has left the code. What is due becomes lines; nothing runs any more.
 */
export type SettleMode = 'due' | 'replace' | 'retire';
