import type { Writable } from 'node:stream';
import pc from 'picocolors';

/** Where a command writes and what it may do there. Results go to `out`, everything else to `err`. */
export interface Terminal {
  readonly out: Writable;
  readonly err: Writable;
  /** True when a person watches: stdout and stderr are terminals and this is not CI. Nothing prompts or redraws else. */
  readonly isInteractive: boolean;
  readonly columns: number;
  readonly colors: ReturnType<typeof pc.createColors>;
  /** Aborted by the first SIGINT or SIGTERM; `reason` is the signal's name. */
  readonly interrupted: AbortSignal;
}

/** The terminal of this process. NO_COLOR, FORCE_COLOR, CI and pipes are respected. */
export function processTerminal(env: NodeJS.ProcessEnv, interrupted: AbortSignal): Terminal {
  const isTty = process.stdout.isTTY === true && process.stderr.isTTY === true;
  const isInteractive = isTty && !isSet(env.CI);
  const wantsColor = !isSet(env.NO_COLOR) && (isSet(env.FORCE_COLOR) || isInteractive);
  return {
    out: process.stdout,
    err: process.stderr,
    isInteractive,
    columns: process.stdout.columns ?? 100,
    colors: pc.createColors(wantsColor),
    interrupted,
  };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false';
}

/** Writes one line to stdout. */
export function print(terminal: Terminal, line = ''): void {
  terminal.out.write(`${line}\n`);
}

/** Writes one line to stderr. */
export function note(terminal: Terminal, line: string): void {
  terminal.err.write(`${line}\n`);
}
