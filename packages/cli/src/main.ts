/**
 * The `flow` command: finds the command, loads only that one, runs it, and turns what came of it into an exit status.
 * The only file that sets the status of the process.
 */
import { createRequire } from 'node:module';
import type { CommandContext } from './command-line/command.js';
import { findCommand } from './command-line/find-command.js';
import { globalOptions } from './command-line/global-options.js';
import { groupHelp, mainHelp } from './command-line/help.js';
import { commandTable } from './command-line/table.js';
import { exitCodeOfSignal, exitCodes } from './terminal/exit-codes.js';
import { print, processTerminal } from './terminal/terminal.js';

/** What a command that does not drain may still do after a signal: say goodbye, close its connections. */
const farewellMs = 1_000;
/** What a command that drains gets after a second signal. */
const hurryMs = 1_500;

/** What is known of the command that runs, once it is loaded. */
interface Underway {
  drains: boolean;
}

/** Runs `flow` with these arguments, for this process. Never throws. */
export async function main(argv: readonly string[]): Promise<void> {
  const underway: Underway = { drains: false };
  const interrupt = new AbortController();
  listenForSignals(interrupt, underway);
  // A closed pipe (`flow runs | head`) is the reader's right and no fault. What was asked for is done nevertheless;
  // only what would print for ever ends.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') interrupt.abort('EPIPE');
  });
  process.stderr.on('error', () => {});
  const terminal = processTerminal(process.env, interrupt.signal);
  // Should the process run out of things to wait for before the command has ended, that is no success.
  process.exitCode = exitCodes.failed;
  process.exitCode = await runFlow(
    argv,
    { terminal, env: process.env, cwd: process.cwd() },
    underway,
  );
  // A job that ignores its signal would keep the process alive for as long as it likes.
  if (underway.drains) await endProcess(process.exitCode);
}

/** Ends the process when what was printed has left it. */
async function endProcess(code: number): Promise<never> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  }
  process.exit(code);
}

/** Runs a command line and answers its exit status; errors are told on the terminal. Never throws. */
export async function runFlow(
  argv: readonly string[],
  surroundings: Omit<CommandContext, 'table'>,
  underway: Underway = { drains: false },
): Promise<number> {
  const { terminal, env } = surroundings;
  try {
    return await runCommand(argv, { ...surroundings, table: commandTable }, underway);
  } catch (error) {
    const { aborted, reason } = terminal.interrupted;
    if (aborted && error === reason) return exitCodeOfSignal(reason);
    // Loaded only here: help must be quick, and the core, which knows the errors, is not.
    const [{ exitCodeOf }, { reportError }] = await Promise.all([
      import('./terminal/exit-code-of.js'),
      import('./terminal/report-error.js'),
    ]);
    reportError(error, terminal, isDebug(argv, env));
    return exitCodeOf(error);
  }
}

/** The first signal asks for an end, the second demands it. */
function listenForSignals(interrupt: AbortController, underway: Underway): void {
  let signals = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      signals += 1;
      interrupt.abort(signal);
      const end = (code: number, ms: number) => setTimeout(() => process.exit(code), ms).unref();
      if (!underway.drains) end(exitCodeOfSignal(signal), signals === 1 ? farewellMs : 0);
      // Commands that drain listen for a second signal themselves and get a moment to obey.
      else if (signals >= 2) end(exitCodes.failed, hurryMs);
    });
  }
}

async function runCommand(
  given: readonly string[],
  context: CommandContext,
  underway: Underway,
): Promise<number> {
  const { terminal } = context;
  // `flow help deploy` is what many type first.
  const argv = given[0] === 'help' ? [...given.slice(1), '--help'] : given;
  if (argv[0] === '--version' || argv[0] === '-v') {
    print(terminal, version());
    return exitCodes.done;
  }
  const found = await findCommand(commandTable, argv);
  if (found.kind === 'none') {
    const asked = argv.length === 0 || wantsHelp(argv);
    if (!asked) throw await withoutCommand(argv);
    print(terminal, mainHelp(commandTable));
    return argv.length === 0 ? exitCodes.usage : exitCodes.done;
  }
  if (found.kind === 'group') {
    print(terminal, groupHelp(found.group));
    return wantsHelp(argv) ? exitCodes.done : exitCodes.usage;
  }
  const { entry, path, rest } = found;
  const { command } = await entry.load();
  if (wantsHelp(rest)) {
    const { commandHelp } = await import('./command-line/command-help.js');
    print(terminal, await commandHelp(path, entry.summary, command));
    return exitCodes.done;
  }
  const { parseArguments } = await import('./command-line/parse.js');
  const args = parseArguments(path, command, rest);
  underway.drains = command.drains === true;
  return command.run(args, context);
}

async function withoutCommand(argv: readonly string[]): Promise<Error> {
  const { didYouMean, UsageError } = await import('@flowline/core/time');
  const known = ['help', 'version', ...Object.keys(globalOptions)];
  const flag = argv[0]?.replace(/^-+/, '').replace(/=.*/s, '') ?? '';
  const near = known.includes(flag) ? undefined : didYouMean(flag, known);
  return new UsageError(`flow needs a command, found only ${argv.join(' ')}`, {
    hint: near === undefined ? 'See flow --help.' : `Did you mean --${near}? See flow --help.`,
  });
}

function wantsHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).some(
    (word) => word === '--help' || word === '-h',
  );
}

function isDebug(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  return /(^| )--log-level[ =]debug( |$)/.test(argv.join(' ')) || env.FLOW_LOG_LEVEL === 'debug';
}

function version(): string {
  const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
  return version;
}
