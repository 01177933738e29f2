/** Remarks on fires that the schedule itself does not know: a pause, and what became of a date that is over. */
import type { FireRecord, FireView } from '@flowline/core/internal';

/** The fire with one more remark. */
export function withNote<Fire extends Pick<FireView, 'note'>>(fire: Fire, note: string): Fire {
  return { ...fire, note: fire.note === null ? note : `${fire.note}; ${note}` };
}

/** Marks what an open pause holds back: the fires from `pausedAt` on. */
export function markPaused(fires: readonly FireView[], pausedAt: Date | null): FireView[] {
  return fires.map((fire) =>
    pausedAt !== null && fire.logicalDate >= pausedAt ? withNote(fire, 'paused') : fire,
  );
}

/** Marks dates that are over and did not become a run of their own, with the reason that was written down. */
export function markRecorded(
  fires: readonly FireView[],
  records: readonly FireRecord[],
): FireView[] {
  return fires.map((fire) => {
    const record = records.find(
      ({ from, to }) => from <= fire.logicalDate && fire.logicalDate <= to,
    );
    if (record === undefined || (record.reason === 'excluded' && fire.isExcluded)) return fire;
    return withNote(fire, record.reason);
  });
}
