import { type CommandEntry, type CommandGroup, isGroup } from './command.js';
import { globalOptions } from './global-options.js';

/** What the words of a command line name. */
export type Found =
  | {
      readonly kind: 'command';
      readonly path: string;
      readonly entry: CommandEntry;
      readonly rest: string[];
    }
  | { readonly kind: 'group'; readonly group: CommandGroup }
  | { readonly kind: 'none' };

/**
 * Finds the command that the first words name, without loading it; flags may stand before it. Throws UsageError for a
 * word that is no command, with the nearest one as a hint.
 */
export async function findCommand(
  table: readonly (CommandEntry | CommandGroup)[],
  argv: readonly string[],
): Promise<Found> {
  const at = indexOfWord(argv, 0);
  const word = argv[at];
  if (word === undefined) return { kind: 'none' };
  const entry = await byName(table, word, 'flow');
  if (!isGroup(entry)) {
    return { kind: 'command', path: `flow ${entry.name}`, entry, rest: without(argv, at) };
  }
  const rest = without(argv, at);
  const nextAt = indexOfWord(rest, 0);
  const nextWord = rest[nextAt];
  if (nextWord === undefined) return { kind: 'group', group: entry };
  const inner = (await byName(entry.commands, nextWord, `flow ${entry.name}`)) as CommandEntry;
  return {
    kind: 'command',
    path: `flow ${entry.name} ${inner.name}`,
    entry: inner,
    rest: without(rest, nextAt),
  };
}

async function byName<Entry extends CommandEntry | CommandGroup>(
  table: readonly Entry[],
  word: string,
  path: string,
): Promise<Entry> {
  const entry = table.find(({ name }) => name === word);
  if (entry !== undefined) return entry;
  // Loaded only here: help must be quick, and the core is not.
  const { didYouMean, UsageError } = await import('@flowline/core/time');
  const names = table.map(({ name }) => name);
  const near = didYouMean(word, names);
  throw new UsageError(`${path} has no command "${word}"`, {
    hint:
      near === undefined
        ? `It has: ${names.join(', ')}. See ${path} --help.`
        : `Did you mean "${path} ${near}"?`,
  });
}

/** The first argument that is neither a flag nor the value of one. */
function indexOfWord(argv: readonly string[], from: number): number {
  for (let index = from; index < argv.length; index += 1) {
    const argument = argv[index] as string;
    if (argument === '--') return argv.length;
    if (!argument.startsWith('-')) return index;
    const takesValue = globalOptions[argument.replace(/^--/, '')]?.type === 'string';
    if (takesValue) index += 1;
  }
  return argv.length;
}

function without(argv: readonly string[], at: number): string[] {
  return argv.filter((_, index) => index !== at);
}
