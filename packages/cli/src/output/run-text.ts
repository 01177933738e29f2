import type { MissedExpectation, RunView, Task } from '@flowline/core/internal';
import type { Terminal } from '../terminal/terminal.js';
import { missedText } from './missed-text.js';
import { table } from './table.js';
import { elapsed, instant, stateWord } from './words.js';

/** The lines of `flow show <run>`: the run, its tasks, and every attempt that did not just succeed. */
export function runText(
  terminal: Terminal,
  run: RunView,
  missed: readonly MissedExpectation[] = [],
): string {
  const { colors } = terminal;
  const facts = [
    `${colors.bold(run.dagId)} ${run.id}  ${stateWord(terminal, run.state)}`,
    `cause ${run.cause}, version ${run.version}` +
      (run.logicalDate === null ? '' : `, logical date ${instant(run.logicalDate)}`) +
      (run.generation > 0 ? `, generation ${run.generation}` : '') +
      (run.coalesced > 1 ? `, stands for ${run.coalesced} fires` : '') +
      (run.backfillId === null ? '' : `, backfill ${run.backfillId}`) +
      (run.jobs === null ? '' : `, only ${run.jobs.join(', ')}`),
    `created ${instant(run.createdAt)}, started ${instant(run.startedAt)}, ended ${instant(run.endedAt)}` +
      (run.endedAt === null ? '' : ` (${elapsed(run.startedAt ?? run.createdAt, run.endedAt)})`),
    ...(run.reason === null ? [] : [`reason: ${run.reason}`]),
    ...missed.map((one) => colors.yellow(missedText(one))),
    ...(run.cancelRequestedAt !== null && run.endedAt === null
      ? [colors.yellow(`cancellation requested at ${instant(run.cancelRequestedAt)}`)]
      : []),
  ];
  return [...facts, '', taskTable(terminal, run.tasks), ...attemptLines(terminal, run.tasks)].join(
    '\n',
  );
}

/** The table of tasks: one row each. */
export function taskTable(terminal: Terminal, tasks: readonly Task[]): string {
  return table(
    terminal,
    ['JOB', 'STATE', 'ATTEMPTS', 'TIME', 'NOTE'],
    tasks.map((task) => [
      task.jobId,
      stateWord(terminal, task.state),
      String(task.attempts.length),
      elapsed(task.startedAt, task.endedAt),
      taskNote(task),
    ]),
  );
}

/** What a person wants to know beside the state, in one line. */
export function taskNote(task: Task): string {
  if (task.state === 'blocked' && task.waitingFor.length > 0)
    return `waits for ${task.waitingFor.join(', ')}`;
  if (task.state === 'delayed') return `next attempt at ${instant(task.delayedUntil)}`;
  if (task.state === 'running' && task.progress !== null) {
    const percent = `${Math.round(task.progress.fraction * 100)}%`;
    return task.progress.note === null ? percent : `${percent} ${task.progress.note}`;
  }
  if (task.state === 'running' && task.lease !== null) return `on ${task.lease.runner}`;
  return task.state === 'succeeded' ? '' : (task.error?.message.split('\n')[0] ?? '');
}

function attemptLines(terminal: Terminal, tasks: readonly Task[]): string[] {
  const told = tasks.filter(
    ({ attempts }) => attempts.length > 1 || attempts.some((a) => a.outcome !== 'succeeded'),
  );
  if (told.length === 0) return [];
  const rows = told.flatMap((task) =>
    task.attempts.map((attempt) => [
      task.jobId,
      String(attempt.n),
      attempt.outcome === null
        ? stateWord(terminal, 'running')
        : stateWord(terminal, attempt.outcome),
      attempt.runner,
      instant(attempt.startedAt),
      elapsed(attempt.startedAt, attempt.endedAt),
      attempt.error?.message.split('\n')[0] ?? '',
    ]),
  );
  return [
    '',
    table(terminal, ['JOB', 'ATTEMPT', 'OUTCOME', 'RUNNER', 'STARTED', 'TIME', 'ERROR'], rows),
    ...lossLines(terminal, told),
  ];
}

/** What is known of lost attempts: how far their budget is used, and their last words. */
function lossLines(terminal: Terminal, tasks: readonly Task[]): string[] {
  return tasks
    .filter(({ losses }) => losses > 0)
    .flatMap((task) => [
      '',
      `${task.jobId}: ${task.losses} of ${task.maxLost} losses, after which it fails`,
      ...task.attempts.flatMap(({ n, loss }) =>
        loss === null || loss.lastLines.length === 0
          ? []
          : [
              terminal.colors.dim(`  last lines of attempt ${n}:`),
              ...loss.lastLines.map(
                ({ at, level, message }) =>
                  `    ${terminal.colors.dim(instant(at))} ${level} ${message.split('\n')[0]}`,
              ),
            ],
      ),
    ]);
}
