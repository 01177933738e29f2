/**
 * The `flow` command: finds the command, loads only that one, runs it, and turns what came of it into an exit status.
 * The only file that sets the status of the process.
 */
import { createRequire } from 'node:module';
import { UsageError } from '@flowline/core';
import { findCommand } from './command-line/find-command.js';
import { groupHelp, mainHelp } from './command-line/help.js';
import { commandTable } from './command-line/table.js';
import { exitCodeOf, exitCodeOfSignal, exitCodes } from './terminal/exit-codes.js';
import { reportError } from './terminal/report-error.js';
import { print, processTerminal, type Terminal } from './terminal/terminal.js';

/** Runs `flow` with these arguments, for this process. Never throws. */
export async function main(argv: readonly string[]): Promise<void> {
  const interrupt = new AbortController();
  let signals = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      signals += 1;
      interrupt.abort(signal);
      // A second signal is an order; commands that drain listen for it themselves and get a moment to obey.
      if (signals >= 2) setTimeout(() => process.exit(exitCodes.failed), 1_500).unref();
    });
  }
  // A closed pipe (`flow runs | head`) is the reader's right and no fault.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.done);
  });
  const terminal = processTerminal(process.env, interrupt.signal);
  try {
    process.exitCode = await runCommand(argv, terminal);
  } catch (error) {
    if (interrupt.signal.aborted && error === interrupt.signal.reason) {
      process.exitCode = exitCodeOfSignal(interrupt.signal.reason);
    } else {
      reportError(error, terminal, isDebug(argv));
      process.exitCode = exitCodeOf(error);
    }
  }
}

async function runCommand(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv[0] === '--version' || argv[0] === '-v') {
    print(terminal, version());
    return exitCodes.done;
  }
  const found = findCommand(commandTable, argv);
  if (found.kind === 'none') {
    const asked = argv.length === 0 || wantsHelp(argv);
    if (!asked)
      throw new UsageError(`flow needs a command, found only ${argv.join(' ')}`, {
        hint: 'See flow --help.',
      });
    print(terminal, mainHelp(commandTable));
    return argv.length === 0 ? exitCodes.usage : exitCodes.done;
  }
  if (found.kind === 'group') {
    print(terminal, groupHelp(found.group));
    return wantsHelp(argv) ? exitCodes.done : exitCodes.usage;
  }
  const { entry, path, rest } = found;
  const { command } = await entry.load();
  const { commandHelp, parseArguments } = await import('./command-line/parse.js');
  if (wantsHelp(rest)) {
    print(terminal, await commandHelp(path, entry.summary, command));
    return exitCodes.done;
  }
  const args = parseArguments(path, command, rest);
  return command.run(args, { terminal, env: process.env, cwd: process.cwd(), table: commandTable });
}

function wantsHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).some(
    (word) => word === '--help' || word === '-h',
  );
}

function isDebug(argv: readonly string[]): boolean {
  return argv.join(' ').includes('--log-level debug') || process.env.FLOW_LOG_LEVEL === 'debug';
}

function version(): string {
  const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
  return version;
}
