/** How far a batch of runs is, and how long such runs have taken. */
export interface BatchProgress {
  /** Runs that have not started. */
  readonly queued: number;
  readonly running: number;
  /** How many run at once. */
  readonly maxActive: number;
  /** How long such runs took that ended last. */
  readonly durationsMs: readonly number[];
}

/**
 * How long a batch of runs is likely to go on, in milliseconds; null when no duration is known. Pure.
 *
 * Runs that are open are taken to be half done, and all to take as long as the mean of the given durations; `maxActive` of them
 * at once, so that the last of many is not quicker than one. A fleet that is too small for `maxActive` shows in the durations:
 * a run that waits for a runner takes longer.
 */
export function estimateLeftMs(batch: BatchProgress): number | null {
  const { queued, running, durationsMs } = batch;
  if (queued + running === 0) return 0;
  if (durationsMs.length === 0) return null;
  const meanMs = durationsMs.reduce((sum, ms) => sum + ms, 0) / durationsMs.length;
  const lanes = Math.max(1, Math.min(batch.maxActive, queued + running));
  const rounds = Math.max((queued + running / 2) / lanes, queued > 0 ? 1 : 0.5);
  return Math.round(meanMs * rounds);
}
