import type { Backfill } from '@flowline/core/internal';
import type { Terminal } from '../terminal/terminal.js';
import { toJson } from './shapes.js';
import { table } from './table.js';
import { counted, instant, span, stateWord } from './words.js';

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

/** `about 4m 10s left`; null when nobody can say. */
export function leftWords(leftMs: number | undefined): string | null {
  return leftMs === undefined ? null : `about ${span(Math.max(1_000, leftMs))} left`;
}

/** What a pause, a resume or a cancellation has done. `before` is how the backfill stood. */
export function controlWords(before: Backfill, after: Backfill): string {
  const { id, state, running, queued } = after;
  const word = state === 'running' ? 'resumed' : state;
  const was = state === 'running' ? 'running' : state;
  const head =
    before.state === state ? `backfill ${id} was ${was} already` : `backfill ${id} is ${word}`;
  const open = counted(running, 'run');
  const told = [
    ...(running === 0 ? [] : [`${open} ${running === 1 ? 'goes' : 'go'} on`]),
    ...(after.cancelled > before.cancelled
      ? [`${counted(after.cancelled - before.cancelled, 'date')} cancelled`]
      : []),
    ...(queued === 0 ? [] : [`${counted(queued, 'date')} to go`]),
    ...(state === 'paused' ? [`flow backfill resume ${id}`] : []),
  ];
  return told.length === 0 ? head : `${head}: ${told.join(', ')}`;
}

/** All there is to say of one backfill. `leftMs`: how long it is likely to go on. */
export function backfillText(terminal: Terminal, backfill: Backfill, leftMs?: number): string {
  const left = leftWords(leftMs);
  return [
    backfillLine(terminal, backfill) + (left === null ? '' : `, ${left}`),
    `logical dates from ${instant(backfill.from)} (included) to ${instant(backfill.to)} (excluded), ${backfill.order} first`,
    `at most ${backfill.maxActive} at once, reprocess ${backfill.reprocess}, version ${backfill.version}`,
    ...(backfill.jobs === null ? [] : [`only the jobs ${backfill.jobs.join(', ')}`]),
    `created ${instant(backfill.createdAt)}, ended ${instant(backfill.endedAt)}`,
    ...(backfill.reason === null ? [] : [`reason: ${backfill.reason}`]),
    ...(backfill.params === null || backfill.params === undefined
      ? []
      : [`params: ${paramsText(backfill.params)}`]),
    ...backfill.passedOver.map(({ at, because }) => `passed over ${instant(at)}: ${because}`),
    `runs: flow runs ${backfill.dagId} --backfill ${backfill.id}`,
  ].join('\n');
}

/** One line, however long they are. */
function paramsText(params: unknown): string {
  const text = toJson(params).replaceAll(/\n\s*/g, ' ');
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
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
