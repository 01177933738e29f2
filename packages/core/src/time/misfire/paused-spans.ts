/** A stretch in which a DAG was paused, in the database's time; `to` is null while it still is. */
export interface PausedSpan {
  /** Included. */
  readonly from: Date;
  /** Excluded. */
  readonly to: Date | null;
  /** What the resume asked for; null or absent: the DAG's own `onResume`. */
  readonly onResume?: 'skip' | 'latest' | 'all' | null;
}

/** Where the open pause begins, in epoch milliseconds; Infinity when there is none. Fires from there on wait. */
export function openPauseFrom(spans: readonly PausedSpan[]): number {
  const open = spans.find((span) => span.to === null);
  return open === undefined ? Number.POSITIVE_INFINITY : open.from.getTime();
}

/** The span in which an instant lies. */
export function pauseAt(spans: readonly PausedSpan[], at: number): PausedSpan | undefined {
  return spans.find(({ from, to }) => from.getTime() <= at && (to === null || at < to.getTime()));
}
