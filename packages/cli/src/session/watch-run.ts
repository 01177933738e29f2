import { NotFoundError } from '@flowline/core';
import { isClosedRun, isClosedTask, type RunView, type Store } from '@flowline/core/internal';
import type { CommandContext } from '../command-line/command.js';
import { runJson } from '../output/run-json.js';
import { runText, taskNote, taskTable } from '../output/run-text.js';
import { toJson } from '../output/shapes.js';
import { instant, stateWord } from '../output/words.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print, type Terminal } from '../terminal/terminal.js';
import { pauseFor } from './pause-for.js';
import { warnWithoutRunner } from './warn-without-runner.js';

const lookEveryMs = 250;

/**
 * Shows a run until it is over: a live table on a terminal, a line for each change elsewhere (on stderr). Then prints
 * the run. The exit status is the run's.
 */
export async function watchRun(
  store: Store,
  runId: string,
  json: boolean,
  context: CommandContext,
): Promise<number> {
  const { terminal } = context;
  const show = terminal.isInteractive ? liveTable(terminal) : plainLines(terminal);
  const warn = warnWithoutRunner(store, (line) => {
    // What is drawn in place makes room first and is drawn again below.
    show.stop();
    note(terminal, terminal.colors.yellow(line));
  });
  try {
    for (;;) {
      const run = await store.viewRun(runId);
      if (run === null) throw new NotFoundError(`the run ${runId} is not there any more`);
      if (isClosedRun(run.state) && run.tasks.every(({ state }) => isClosedTask(state))) {
        show.update(run);
        show.stop();
        print(terminal, json ? toJson(runJson(run)) : runText(terminal, run));
        return run.state === 'succeeded' ? exitCodes.done : exitCodes.failed;
      }
      show.update(run);
      await warn(!run.tasks.some(({ state }) => state === 'running'));
      await pauseFor(lookEveryMs, terminal.interrupted);
    }
  } catch (error) {
    show.stop();
    if (terminal.interrupted.aborted)
      note(terminal, `stopped watching; the run goes on: flow show ${runId}`);
    throw error;
  }
}

interface Display {
  update(run: RunView): void;
  stop(): void;
}

/** Redraws the table of tasks in place. */
function liveTable(terminal: Terminal): Display {
  let drawn = 0;
  const erase = () => {
    if (drawn > 0) terminal.err.write(`\u001b[${drawn}A\u001b[J`);
    drawn = 0;
  };
  return {
    update(run) {
      const head = `${run.dagId} ${run.id}  ${stateWord(terminal, run.state)}${waitWords(run)}`;
      const lines = `${head}\n${taskTable(terminal, run.tasks)}`
        .split('\n')
        .map((line) => cutTo(line, terminal.columns));
      erase();
      terminal.err.write(`${lines.join('\n')}\n`);
      drawn = lines.length;
    },
    stop: erase,
  };
}

function plainLines(terminal: Terminal): Display {
  const last = new Map<string, string>();
  const changed = (key: string, words: string) => {
    if (last.get(key) === words) return;
    last.set(key, words);
    note(terminal, words);
  };
  return {
    update(run) {
      changed('run', `run ${run.id}: ${run.state}${waitWords(run)}`);
      for (const task of run.tasks) {
        if (task.state === 'blocked') continue;
        const what = task.state === 'running' ? '' : taskNote(task);
        changed(
          task.id,
          `  ${task.jobId}: ${task.state}${task.attempts.length > 1 ? ` (attempt ${task.attempts.length})` : ''}${what === '' ? '' : `: ${what}`}`,
        );
      }
    },
    stop() {},
  };
}

function waitWords(run: RunView): string {
  if (run.state !== 'queued') return '';
  return run.notBefore === null
    ? ', waits for its place'
    : `, waits until ${instant(run.notBefore)}`;
}

/** Cuts a line at the terminal's width; colour codes take no room. */
function cutTo(line: string, columns: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is how colours are written
  const codes = /\u001b\[[0-9;]*m/g;
  if (line.replace(codes, '').length <= columns) return line;
  return `${line.replace(codes, '').slice(0, columns - 1)}…`;
}
