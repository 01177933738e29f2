import { decideFires } from '../../time/misfire/decide-fires.js';
import { firstDateAfter } from '../../time/misfire/due-fires.js';
import { FireLines } from '../../time/misfire/fire-lines.js';
import type { Schedule } from '../../time/schedule/schedule.js';
import type { PendingDecision } from './pending-decision.js';
import type { ScheduleState } from './schedule-state.js';

/** Nothing is made of these fires, so a batch may hold more of them than one that makes runs. */
const firesAtOnce = 10_000;

/**
 * Decides one batch of the dates that a broken schedule has let pass, up to `now`: each a `broken` line, or `excluded`. Pure. The
 * DAG stays broken: only its cursor moves. `schedule` is what tells the dates. Without one, or where it fails, one line stands
 * for all of them; its count of 0 says that nobody knows how many they are, and there is no cursor then. `isMade`: the date at the
 * cursor has a run.
 */
export function decideGap(
  dag: ScheduleState,
  schedule: Schedule | undefined,
  now: Date,
  isMade: boolean,
): PendingDecision {
  const from = dag.nextFireAt!;
  const decision = {
    from,
    decidedAt: now,
    version: dag.version,
    runs: [],
    broken: dag.broken,
  } as const;
  try {
    if (schedule !== undefined) {
      return { ...decision, ...decide(dag, isMade, schedule, now) };
    }
  } catch {
    // It could tell its first date, and cannot tell all.
  }
  const begun = new FireLines(dag.carry?.line ?? null);
  begun.close();
  const unknown = {
    from: new Date(from.getTime() + 1),
    to: now,
    count: 0,
    reason: 'broken',
  } as const;
  const lines = [...begun.closed, ...(isMade ? [] : [brokenAt(from)]), unknown];
  return { ...decision, runs: [], lines, next: null, nextJitterMs: 0, carry: null };
}

type Decided = Pick<PendingDecision, 'runs' | 'lines' | 'next' | 'nextJitterMs' | 'carry'>;

function decide(dag: ScheduleState, isMade: boolean, schedule: Schedule, now: Date): Decided {
  const { carry } = dag;
  const cursor = dag.nextFireAt!;
  // The date at the cursor has its line, mostly, since it could not be decided. A span that begins with it would meet that line in
  // its key, so it stands by itself.
  const first = carry === null ? firstDateAfter(schedule, dag._id, cursor) : dag;
  const before = carry === null && !isMade ? [brokenAt(cursor)] : [];
  if (first === null || first.nextFireAt === null) {
    return { runs: [], lines: before, next: null, nextJitterMs: 0, carry: null };
  }
  const { fires, nextFireAt, nextJitterMs, ...rest } = decideFires({
    schedule,
    dagId: dag._id,
    nextFireAt: first.nextFireAt,
    now,
    misfire: { policy: 'skip', maxCatchUp: 0 },
    instead: 'broken',
    isEnding: true,
    carry,
    limit: firesAtOnce,
  });
  return {
    runs: [],
    lines: [...before, ...fires],
    next: nextFireAt,
    nextJitterMs,
    carry: rest.carry,
  };
}

function brokenAt(date: Date) {
  return { from: date, to: date, count: 1, reason: 'broken' } as const;
}
