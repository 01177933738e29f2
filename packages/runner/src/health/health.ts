/** Pure: how a runner is, from what its loops say and whether the database answers. Instants are monotonic milliseconds. */
import type { LoopPulse } from '../loop.js';

export type RunnerState = 'new' | 'starting' | 'running' | 'draining' | 'stopped' | 'failed';

/** What a runner is asked for; see {@link describeHealth}. */
export interface Vitals {
  readonly runnerId: string;
  readonly state: RunnerState;
  readonly nowMs: number;
  /** Loops without which the runner is no use: looking for work, leading. */
  readonly loops: readonly LoopPulse[];
  readonly isLeading: boolean;
  readonly heldTasks: number;
  readonly freeSlots: number;
  /** This process's clock minus the database's; null before the first reading. */
  readonly clockOffsetMs: number | null;
  /** The longest regular time between two looks for work. */
  readonly idlePollMs: number;
}

/** How a runner is; the body of `/healthz` and `/readyz`. */
export interface RunnerHealth {
  readonly runner: string;
  readonly state: RunnerState;
  /** Every loop turns: a failing turn is a turn, a dead or a stalled loop is not. True while it waits for a database. */
  readonly isAlive: boolean;
  /** Running, alive, and the database answers now. */
  readonly isReady: boolean;
  /** Why it is not alive or not ready, in words; empty when it is both. */
  readonly problems: readonly string[];
  /** Null where it was not asked. */
  readonly isDatabaseReachable: boolean | null;
  /** How long ago the last turn that worked ended, in ms; null before the first. */
  readonly lastPollAgeMs: number | null;
  readonly isLeading: boolean;
  /** Tasks that run here. */
  readonly heldTasks: number;
  readonly freeSlots: number;
  readonly clockOffsetMs: number | null;
}

/** A turn that takes longer is no turn any more: an answer that never comes. */
export const stalledAfterMs = 30_000;
/** Without a successful look for so long, or for some regular pauses, a runner is not ready. */
const silentAfterMs = 15_000;
const silentPolls = 4;

/** `isDatabaseReachable`: null when nobody asked it, and then nothing is ready. */
export function describeHealth(vitals: Vitals, isDatabaseReachable: boolean | null): RunnerHealth {
  const { state, nowMs, loops } = vitals;
  const faults = state === 'failed' ? ['a part of the runner ended for good'] : [];
  if (state === 'running') faults.push(...loops.flatMap((loop) => faultOf(loop, nowMs)));
  const polls = loops.flatMap(({ succeededAt }) => (succeededAt === null ? [] : [succeededAt]));
  const lastPollAgeMs = polls.length === 0 ? null : Math.round(nowMs - Math.max(...polls));
  const problems = [...faults];
  if (isDatabaseReachable === false) problems.push('the database does not answer');
  if (state !== 'running' && state !== 'failed') problems.push(`the runner is ${state}`);
  if (state === 'running' && lastPollAgeMs === null)
    problems.push('no look for work has succeeded');
  const longestMs = Math.max(silentAfterMs, silentPolls * vitals.idlePollMs);
  if (state === 'running' && lastPollAgeMs !== null && lastPollAgeMs > longestMs) {
    problems.push(
      `the last successful look for work was ${Math.round(lastPollAgeMs / 1_000)} s ago`,
    );
  }
  return {
    runner: vitals.runnerId,
    state,
    isAlive: faults.length === 0 && state !== 'stopped',
    isReady: problems.length === 0 && isDatabaseReachable === true,
    problems,
    isDatabaseReachable,
    lastPollAgeMs,
    isLeading: vitals.isLeading,
    heldTasks: vitals.heldTasks,
    freeSlots: vitals.freeSlots,
    clockOffsetMs: vitals.clockOffsetMs,
  };
}

function faultOf(loop: LoopPulse, nowMs: number): string[] {
  if (!loop.isAlive) return [`the loop "${loop.name}" has ended`];
  if (loop.turnSince === null || nowMs - loop.turnSince <= stalledAfterMs) return [];
  const seconds = Math.round((nowMs - loop.turnSince) / 1_000);
  return [`the loop "${loop.name}" stands still since ${seconds} s`];
}
