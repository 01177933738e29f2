import type { Options } from 'yargs';
import type { Terminal } from '../terminal/terminal.js';

/** What every command gets beside its own arguments. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** All commands, for completion. */
  readonly table: readonly (CommandEntry | CommandGroup)[];
}

/** Flags that every command takes. */
export interface GlobalFlags {
  readonly config?: string;
  readonly mongodbUri?: string;
  readonly database?: string;
  readonly dataDir?: string;
  readonly logLevel?: string;
  readonly json?: boolean;
}

/** A positional argument, in order. */
export interface Positional {
  readonly name: string;
  readonly describe: string;
  readonly required?: boolean;
  /** Takes all the rest; only the last one may. */
  readonly variadic?: boolean;
  /** What shell completion offers for it. */
  readonly completes?: 'dag' | 'run' | 'backfill' | 'path';
}

/**
 * One command of `flow`: a file of its own under commands/, loaded only when it is called. `run` returns the exit
 * status; errors are thrown.
 */
export interface Command {
  readonly positionals?: readonly Positional[];
  readonly options?: Readonly<Record<string, Options>>;
  /** Shown by --help: a command line and what it does. At least one. */
  readonly examples: readonly (readonly [line: string, explanation: string])[];
  /** Shown by --help below the options. */
  readonly notes?: string;
  /** True where a first signal starts an orderly end that may take long; others have a second to end after it. */
  readonly drains?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: each command names its own arguments; yargs has checked them
  run(args: GlobalFlags & Record<string, any>, context: CommandContext): Promise<number>;
}

/** A line of the command table; the module is loaded when the command is called. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}

/** Commands that share a first word: `flow backfill ls`. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly CommandEntry[];
}

/** True for a line that has commands of its own. */
export function isGroup(entry: CommandEntry | CommandGroup): entry is CommandGroup {
  return 'commands' in entry;
}
