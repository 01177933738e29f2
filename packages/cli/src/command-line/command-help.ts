import yargs from 'yargs';
import type { Command } from './command.js';
import { globalOptions } from './global-options.js';
import { placeholder } from './parse.js';

/** The text of `flow <command> --help`. Loads yargs: for help only. */
export function commandHelp(path: string, summary: string, command: Command): Promise<string> {
  const positionals = command.positionals ?? [];
  let parser = yargs([])
    .scriptName(path)
    .options({ ...command.options, ...globalOptions })
    .help(false)
    .version(false)
    .wrap(100)
    .exitProcess(false)
    .usage(
      [
        `${path}: ${summary}`,
        '',
        ['Usage:', path, ...positionals.map(placeholder), '[flags]'].join(' '),
        ...(positionals.length > 0 ? ['', 'Arguments:'] : []),
        ...positionals.map(
          (positional) => `  ${placeholder(positional).padEnd(14)}  ${positional.describe ?? ''}`,
        ),
      ].join('\n'),
    )
    .group(Object.keys(globalOptions), 'Flags of every command:');
  for (const [line, explanation] of command.examples) parser = parser.example(line, explanation);
  if (command.notes !== undefined) parser = parser.epilogue(command.notes);
  return parser.getHelp();
}
