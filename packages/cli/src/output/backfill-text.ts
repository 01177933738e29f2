import type { Backfill } from '@flowline/core/internal';
import type { Terminal } from '../terminal/terminal.js';
import { table } from './table.js';
import { instant, stateWord } from './words.js';

/** One line: what it is and how far. */
export function backfillLine(terminal: Terminal, backfill: Backfill): string {
  return `backfill ${backfill.id} of ${backfill.dagId}: ${stateWord(terminal, backfill.state)}, ${progressWords(backfill)}`;
}

/** `12 of 31 done (11 succeeded, 1 failed), 4 running, 15 to go, 3 left alone` */
export function progressWords(backfill: Backfill): string {
  const { total, succeeded, failed, cancelled, skipped, running, queued } = backfill;
  const asked = total - skipped;
  const ends = [
    [succeeded, 'succeeded'],
    [failed, 'failed'],
    [cancelled, 'cancelled'],
  ] as const;
  const told = ends.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return [
    `${succeeded + failed + cancelled} of ${asked} done${told.length > 0 ? ` (${told.join(', ')})` : ''}`,
    ...(running > 0 ? [`${running} running`] : []),
    ...(queued > 0 ? [`${queued} to go`] : []),
    ...(skipped > 0 ? [`${skipped} left alone`] : []),
  ].join(', ');
}

/** All there is to say of one backfill. */
export function backfillText(terminal: Terminal, backfill: Backfill): string {
  return [
    backfillLine(terminal, backfill),
    `logical dates from ${instant(backfill.from)} (included) to ${instant(backfill.to)} (excluded), ${backfill.order} first`,
    `at most ${backfill.maxActive} at once, reprocess ${backfill.reprocess}, version ${backfill.version}`,
    `created ${instant(backfill.createdAt)}, ended ${instant(backfill.endedAt)}`,
    ...(backfill.reason === null ? [] : [`reason: ${backfill.reason}`]),
    `runs: flow runs ${backfill.dagId} --backfill ${backfill.id}`,
  ].join('\n');
}

export function backfillTable(terminal: Terminal, backfills: readonly Backfill[]): string {
  return table(
    terminal,
    ['BACKFILL', 'DAG', 'STATE', 'FROM', 'TO', 'PROGRESS'],
    backfills.map((backfill) => [
      backfill.id,
      backfill.dagId,
      stateWord(terminal, backfill.state),
      instant(backfill.from),
      instant(backfill.to),
      progressWords(backfill),
    ]),
  );
}
