/**
 * The shapes that the cursor protocol keeps inside a DAG's document: a decision before it is carried out, and what one
 * batch leaves open for the next. What they mean stands in settle-schedule.ts.
 */

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
  /** Where the cursor goes afterwards. */
  next: Date | null;
  nextJitterMs: number;
  carry: FireCarry | null;
  /** Set: the schedule cannot be evaluated, and why. */
  broken: string | null;
}

/** A fire or a span that gets no run of its own. */
export interface DecidedLine {
  readonly from: Date;
  readonly to: Date;
  readonly count: number;
  readonly reason: FireReason;
}
