/**
 * The schedule of a DAG as a state machine: what may be done in a state, and what it becomes. Pure; the protocol around it is
 * in settle-schedule.ts. The store turns each change into one compare-and-set that names the state it was computed from, and
 * repeats the "may" on the server, against the server's clock; simulations apply the same changes to plain objects.
 *
 *   at rest --decide (decide-pending.ts)--> `pending` --carried out--> at rest, cursor later
 *   at rest, nothing due --pause--> paused --resume--> at rest, the span's fires due
 *   at rest, nothing due --another schedule--> at rest under it, from the present on
 *   at rest, nothing due --retire--> retired, without a cursor
 *
 * `Now` is an instant, or whatever stands for the server's in a write.
 */
import type { DagDocument } from '../collections.js';
import { type CursorFields, isDue } from './dag-cursor.js';
import type { PendingDecision, SettleMode } from './pending-decision.js';

/** The fields of a DAG that its schedule changes. */
export type ScheduleState = Pick<
  DagDocument,
  | '_id'
  | 'version'
  | 'state'
  | 'nextFireAt'
  | 'nextJitterMs'
  | 'scheduleRev'
  | 'pending'
  | 'carry'
  | 'pausedAt'
  | 'pausedSpans'
  | 'broken'
>;

/** True when there is something to decide at `now` in this mode, and nothing is decided already. */
export function isForDeciding(dag: ScheduleState, now: Date, mode: SettleMode): boolean {
  if (dag.pending !== null || dag.state !== 'active') return false;
  if (dag.broken !== null || dag.nextFireAt === null) return false;
  if (mode === 'replace') return dag.nextFireAt <= now;
  return isDue(dag, now) && (dag.pausedAt === null || mode === 'retire');
}

/** True when more is left at `now` that the mode covers, after this decision has been carried out. */
export function hasMore(pending: PendingDecision, now: Date, mode: SettleMode): boolean {
  if (pending.broken !== null || pending.next === null) return false;
  const jitterMs = mode === 'replace' ? 0 : pending.nextJitterMs;
  return pending.next.getTime() + jitterMs <= now.getTime();
}

/** What carrying out a decision leaves: the cursor after it, and no decision. */
export function afterPending(dag: ScheduleState, pending: PendingDecision) {
  // Spans that the cursor has passed decide nothing any more.
  const isAhead = (to: Date | null) =>
    to === null || (pending.next !== null && to.getTime() > pending.next.getTime());
  return {
    nextFireAt: pending.next,
    nextJitterMs: pending.nextJitterMs,
    carry: pending.carry,
    broken: pending.broken,
    pausedSpans: dag.pausedSpans.filter(({ to }) => isAhead(to)),
    pending: null,
  } satisfies Partial<ScheduleState>;
}

/** True when a pause may begin at `now`: what was due before it is settled. */
export function mayPause(dag: ScheduleState, now: Date): boolean {
  if (dag.pausedAt !== null || dag.pending !== null || dag.carry !== null) return false;
  // A retired or broken schedule decides nothing, however old its cursor is.
  return dag.state !== 'active' || dag.broken !== null || !isDue(dag, now);
}

/** A pause begins: fires that come due from now on wait. */
export function afterPause<Now>(dag: ScheduleState, now: Now) {
  return {
    pausedAt: now,
    pausedSpans: [...dag.pausedSpans, { from: now, to: null, onResume: null }],
    scheduleRev: dag.scheduleRev + 1,
  };
}

/** True when the pause may end: no decision is half-way. */
export function mayResume(dag: ScheduleState): boolean {
  return dag.pausedAt !== null && dag.pending === null;
}

/** The pause ends: the fires inside it are due, under `onResume` or else the DAG's own policy. */
export function afterResume<Now>(
  dag: ScheduleState,
  now: Now,
  onResume: 'skip' | 'latest' | 'all' | null,
) {
  return {
    pausedAt: null,
    pausedSpans: dag.pausedSpans.map((span) =>
      span.to === null ? { ...span, to: now, onResume } : span,
    ),
    scheduleRev: dag.scheduleRev + 1,
  };
}

/**
 * What is settled before another schedule, or with `keepsCursor` another policy, takes over. Where the instants stay, a pause
 * keeps what it holds back; but a replacement that began inside it, and did not live to end, has decided a part of that: it is
 * ended its way first.
 */
export function modeBeforeReplace(dag: ScheduleState, keepsCursor: boolean): SettleMode {
  const isBegun = dag.pausedAt !== null && dag.carry !== null;
  return keepsCursor && !isBegun ? 'due' : 'replace';
}

/** True when another schedule, or with `keepsCursor` another policy, may take over at `now`: the old one owes nothing. */
export function mayReplace(dag: ScheduleState, now: Date, keepsCursor: boolean): boolean {
  if (dag.pending !== null || dag.carry !== null) return false;
  if (dag.state !== 'active' || dag.nextFireAt === null) return true;
  // What a broken schedule let pass is written down first: settle-broken.ts.
  if (dag.broken !== null) return dag.nextFireAt > now;
  // What a pause holds back is left to its resume where the instants stay.
  return keepsCursor ? dag.pausedAt !== null || !isDue(dag, now) : dag.nextFireAt > now;
}

/** Another schedule or policy takes over, or the DAG comes back, with this cursor. */
export function afterReplace(dag: ScheduleState, { nextFireAt, nextJitterMs }: CursorFields) {
  return {
    state: 'active',
    nextFireAt,
    nextJitterMs,
    scheduleRev: dag.scheduleRev + 1,
    carry: null,
    broken: null,
  } satisfies Partial<ScheduleState>;
}

/** True when the DAG may retire at `now`: what is due is written down. */
export function mayRetire(dag: ScheduleState, now: Date): boolean {
  if (dag.state !== 'active' || dag.pending !== null || dag.carry !== null) return false;
  if (dag.broken !== null) return dag.nextFireAt === null || dag.nextFireAt > now;
  return !isDue(dag, now);
}

/** The schedule ends. */
export function afterRetire(dag: ScheduleState) {
  return {
    state: 'retired',
    nextFireAt: null,
    nextJitterMs: 0,
    carry: null,
    scheduleRev: dag.scheduleRev + 1,
  } satisfies Partial<ScheduleState>;
}
