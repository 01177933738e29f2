import { type Backfill, estimateLeftMs, type Store } from '@flowline/core/internal';

/** When a backfill is likely to be over. Null when nobody can say: it is paused, or no such run has ended yet. */
export interface EndEstimate {
  readonly at: Date;
  readonly leftMs: number;
}

/**
 * Estimates from the backfill's own runs, else from the past runs of its DAG. Pure but for the database's time; `pastMs` is what
 * {@link pastDurations} read.
 */
export function estimateEnd(
  store: Pick<Store, 'estimateServerTime'>,
  backfill: Backfill,
  pastMs: readonly number[] = [],
): EndEstimate | null {
  if (backfill.state !== 'running') return null;
  const { queued, running, maxActive, recentEnds } = backfill;
  const durationsMs = backfill.durationsMs.length > 0 ? backfill.durationsMs : pastMs;
  const leftMs = estimateLeftMs({ queued, running, maxActive, durationsMs, recentEnds });
  if (leftMs === null) return null;
  return { leftMs, at: new Date(store.estimateServerTime().getTime() + leftMs) };
}

/** What past runs of its DAG tell of a backfill that has no durations of its own; nothing when only a part of the graph runs. */
export async function pastDurations(
  store: Pick<Store, 'readDurations'>,
  backfill: Backfill,
): Promise<number[]> {
  if (backfill.durationsMs.length > 0 || backfill.jobs !== null) return [];
  return store.readDurations(backfill.dagId);
}
