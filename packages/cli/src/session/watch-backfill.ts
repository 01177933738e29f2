import type { Backfill, Store } from '@flowline/core/internal';
import type { CommandContext } from '../command-line/command.js';
import { backfillText, leftWords, progressWords } from '../output/backfill-text.js';
import { backfillJson, toJson } from '../output/shapes.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print, type Terminal } from '../terminal/terminal.js';
import { estimateEnd, pastDurations } from './estimate-end.js';
import { pauseFor } from './pause-for.js';
import { requireBackfill } from './require.js';
import { warnWithoutRunner } from './warn-without-runner.js';

const lookEveryMs = 300;
/** On a pipe, a line at most this often. */
const tellEveryMs = 5_000;

/**
 * Shows a backfill until it is over: a bar on a terminal, plain lines elsewhere (on stderr, so that stdout keeps the
 * result). The exit status is the backfill's.
 */
export async function watchBackfill(
  store: Store,
  id: string,
  json: boolean,
  context: CommandContext,
): Promise<number> {
  const { terminal } = context;
  const show = await progressOf(terminal);
  const warn = warnWithoutRunner(store, (line) => {
    // What is drawn in place makes room first and is drawn again below.
    show.stop();
    note(terminal, terminal.colors.yellow(line));
  });
  let past: number[] | undefined;
  try {
    for (;;) {
      const backfill = await requireBackfill(store, id);
      past ??= await pastDurations(store, backfill);
      show.update(backfill, estimateEnd(store, backfill, past)?.leftMs);
      if (backfill.endedAt !== null) {
        show.stop();
        print(terminal, json ? toJson(backfillJson(backfill)) : backfillText(terminal, backfill));
        return exitCodeOfBackfill(backfill);
      }
      if (backfill.state === 'running') await warn(backfill.running > 0 || backfill.queued > 0);
      await pauseFor(lookEveryMs, terminal.interrupted);
    }
  } catch (error) {
    show.stop();
    if (terminal.interrupted.aborted) {
      note(terminal, `stopped watching; the backfill goes on: flow backfill show ${id} --wait`);
    }
    throw error;
  }
}

function exitCodeOfBackfill({ state, succeeded, skipped, total }: Backfill): number {
  if (state === 'succeeded') return exitCodes.done;
  return succeeded > 0 && succeeded + skipped < total ? exitCodes.partly : exitCodes.failed;
}

interface Progress {
  update(backfill: Backfill, leftMs: number | undefined): void;
  stop(): void;
}

async function progressOf(terminal: Terminal): Promise<Progress> {
  if (!terminal.isInteractive) return plainProgress(terminal);
  const { SingleBar, Presets } = await import('cli-progress');
  const bar = new SingleBar(
    {
      format: '{bar} {percentage}% | {words}',
      hideCursor: true,
      stream: terminal.err as NodeJS.WritableStream,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  let started = false;
  return {
    update(backfill, leftMs) {
      const total = Math.max(1, backfill.total - backfill.skipped);
      const done = backfill.succeeded + backfill.failed + backfill.cancelled;
      const words = { words: wordsOf(backfill, leftMs) };
      if (started) bar.update(Math.min(done, total), words);
      else bar.start(total, done, words);
      started = true;
    },
    stop() {
      if (started) bar.stop();
      started = false;
    },
  };
}

function wordsOf(backfill: Backfill, leftMs: number | undefined): string {
  const left = leftWords(leftMs);
  return left === null ? progressWords(backfill) : `${progressWords(backfill)}, ${left}`;
}

function plainProgress(terminal: Terminal): Progress {
  let last = '';
  let toldAt = Number.NEGATIVE_INFINITY;
  return {
    update(backfill, leftMs) {
      const progress = progressWords(backfill);
      const now = performance.now();
      if (progress === last || (backfill.endedAt === null && now - toldAt < tellEveryMs)) return;
      last = progress;
      toldAt = now;
      note(terminal, `backfill ${backfill.id}: ${wordsOf(backfill, leftMs)}`);
    },
    stop() {},
  };
}
