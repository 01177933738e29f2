import { type CommandEntry, type CommandGroup, isGroup } from './command.js';
import { globalOptions } from './global-options.js';

/** The text of `flow --help`; needs no command to be loaded. */
export function mainHelp(table: readonly (CommandEntry | CommandGroup)[]): string {
  return [
    'flow: code-first workflows on the MongoDB you already run',
    '',
    'Usage: flow <command> [arguments] [flags]',
    '',
    'Commands',
    ...rows(
      table.map((entry) => [isGroup(entry) ? `${entry.name} ...` : entry.name, entry.summary]),
    ),
    '',
    'Flags of every command',
    ...rows(
      Object.entries(globalOptions).map(([name, { describe }]) => [`--${name}`, describe ?? '']),
    ),
    ...rows([
      ['--help', 'help for flow or for a command, with examples'],
      ['--version', 'the version of flow'],
    ]),
    '',
    'Example',
    '  flow init && flow dev          a first job, running',
    '',
    'Exit status: 0 done, 1 what was asked for failed, 2 usage or definitions, 3 database unreachable,',
    '             4 partly done, 130/143 stopped by a signal',
  ].join('\n');
}

/** The text of `flow backfill --help` and the like. */
export function groupHelp(group: CommandGroup): string {
  return [
    `flow ${group.name}: ${group.summary}`,
    '',
    `Usage: flow ${group.name} <command> [arguments] [flags]`,
    '',
    'Commands',
    ...rows(group.commands.map(({ name, summary }) => [name, summary])),
    '',
    'Example',
    `  flow ${group.name} ${group.commands[0]?.name ?? ''} --help`,
  ].join('\n');
}

function rows(pairs: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...pairs.map(([left]) => left.length), 14);
  return pairs.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
