/** How far a batch of runs is, and how long such runs have taken. */
export interface BatchProgress {
  /** Runs that have not started. */
  readonly queued: number;
  readonly running: number;
  /** How many run at once. */
  readonly maxActive: number;
  /** How long such runs took that ended last. */
  readonly durationsMs: readonly number[];
  /** When runs of this batch ended that ended last, without a pause in between. */
  readonly recentEnds: readonly Date[];
}

/** Fewer ends make no pace. */
const fewestEnds = 5;

/**
 * How long a batch of runs is likely to go on, in milliseconds; null when nothing is known. Pure.
 *
 * Two answers, and the later one counts. By durations: open runs are half done, all take as long as the mean, `maxActive` of them at
 * once, so that the last of many is not quicker than one. By pace: as many a second as ended lately. The first knows better at the
 * beginning; the second knows what the first does not, such as a fleet that is too small for `maxActive`.
 */
export function estimateLeftMs(batch: BatchProgress): number | null {
  if (batch.queued + batch.running === 0) return 0;
  const answers = [byDurations(batch), byPace(batch)].filter((ms) => ms !== null);
  return answers.length === 0 ? null : Math.round(Math.max(...answers));
}

function byDurations({ queued, running, maxActive, durationsMs }: BatchProgress): number | null {
  if (durationsMs.length === 0) return null;
  const meanMs = durationsMs.reduce((sum, ms) => sum + ms, 0) / durationsMs.length;
  const lanes = Math.max(1, Math.min(maxActive, queued + running));
  return meanMs * Math.max((queued + running / 2) / lanes, queued > 0 ? 1 : 0.5);
}

function byPace({ queued, running, recentEnds }: BatchProgress): number | null {
  if (recentEnds.length < fewestEnds) return null;
  const times = recentEnds.map((at) => at.getTime());
  const spanMs = Math.max(...times) - Math.min(...times);
  return (spanMs / (times.length - 1)) * (queued + running);
}
