import { OptionError, UsageError } from '@flowline/core';
import { didYouMean } from '@flowline/core/internal';
import yargs, { type Argv, type Options } from 'yargs';
import type { Command, GlobalFlags, Positional } from './command.js';
import { globalOptions } from './global-options.js';

// biome-ignore lint/suspicious/noExplicitAny: the options are data; each command names the types of its own
export type Parsed = GlobalFlags & Record<string, any>;

/**
 * Parses the arguments of one command: flags in camel case, positionals by name. Throws UsageError for a flag or an
 * argument that the command does not know, OptionError for a value that cannot be right.
 */
export function parseArguments(path: string, command: Command, rest: readonly string[]): Parsed {
  const options = { ...command.options, ...globalOptions };
  refuseUnknownFlags(path, options, rest);
  // Values are judged below, in our own words; yargs only takes the line apart.
  const plain = Object.fromEntries(
    Object.entries(options).map(([name, { choices: _, ...option }]) => [name, option]),
  );
  const parsed = parserOf(path, plain, rest).parseSync() as Parsed & { _: (string | number)[] };
  for (const [name, option] of Object.entries(options))
    checkValue(path, name, option, parsed[name], rest);
  return { ...parsed, ...positionalsOf(path, command.positionals ?? [], parsed._.map(String)) };
}

/** The text of `flow <command> --help`. */
export function commandHelp(path: string, summary: string, command: Command): Promise<string> {
  const positionals = command.positionals ?? [];
  let parser = parserOf(path, { ...command.options, ...globalOptions }, [])
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

function parserOf(
  path: string,
  options: Readonly<Record<string, Options>>,
  argv: readonly string[],
): Argv {
  return yargs([...argv])
    .scriptName(path)
    .parserConfiguration({
      'boolean-negation': false,
      'dot-notation': false,
      'greedy-arrays': false,
      'parse-positional-numbers': false,
    })
    .options(options)
    .help(false)
    .version(false)
    .wrap(100)
    .exitProcess(false)
    .fail((message, error) => {
      if (error !== undefined && error !== null && error.name !== 'YError') throw error;
      const [, flag] = /^Not enough arguments following: (.+)$/.exec(message) ?? [];
      throw new UsageError(
        flag === undefined
          ? `${path}: ${message.replaceAll(/\s+/g, ' ')}`
          : `${path}: --${flag} needs a value`,
        { hint: `See ${path} --help.` },
      );
    });
}

/** Before yargs sees them: a misspelt flag would otherwise swallow the next argument. */
function refuseUnknownFlags(
  path: string,
  options: Readonly<Record<string, Options>>,
  argv: readonly string[],
): void {
  const aliases = Object.values(options).flatMap(({ alias }) => alias ?? []);
  const known = new Set([...Object.keys(options), ...aliases]);
  for (const argument of argv) {
    if (argument === '--') return;
    const [, dashes, name, value] = /^(--?)([A-Za-z][^=]*)(?:=(.*))?/s.exec(argument) ?? [];
    if (name === undefined) continue;
    if (known.has(name)) {
      if (value === undefined || options[name]?.type !== 'boolean') continue;
      if (value === 'true' || value === 'false') continue;
      throw new OptionError(`--${name}`, 'no value, or true or false', value);
    }
    const near = didYouMean(name, known);
    throw new UsageError(`${path} has no flag ${dashes}${name}`, {
      hint: near === undefined ? `See ${path} --help.` : `Did you mean --${near}?`,
    });
  }
}

function checkValue(
  path: string,
  name: string,
  option: Options,
  value: unknown,
  rest: readonly string[],
): void {
  if (value === undefined) return;
  if (Array.isArray(value) && option.array !== true && option.type !== 'array') {
    throw new UsageError(`${path}: --${name} stands ${value.length} times, expected once`);
  }
  if (option.type === 'number' && !Number.isFinite(value)) {
    throw new OptionError(`--${name}`, 'a number', writtenValue(name, rest));
  }
  const choices = option.choices as readonly string[] | undefined;
  for (const given of choices === undefined ? [] : [value].flat()) {
    if (choices?.includes(given as string)) continue;
    const near = didYouMean(String(given), choices ?? []);
    throw new OptionError(`--${name}`, choices?.join(', ') ?? '', given, {
      ...(near === undefined ? {} : { hint: `Did you mean "${near}"?` }),
    });
  }
}

/** The value of a flag as it was typed: yargs has made a number of it. */
function writtenValue(name: string, rest: readonly string[]): string | undefined {
  const at = rest.findIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`));
  const word = rest[at] ?? '';
  return word.includes('=') ? word.slice(word.indexOf('=') + 1) : rest[at + 1];
}

function positionalsOf(
  path: string,
  positionals: readonly Positional[],
  words: readonly string[],
): Record<string, unknown> {
  const named: Record<string, unknown> = {};
  let at = 0;
  for (const positional of positionals) {
    if (positional.variadic) {
      named[positional.name] = words.slice(at);
      at = words.length;
      continue;
    }
    const word = words[at];
    if (word === undefined && positional.required) {
      throw new UsageError(
        `${path} needs ${placeholder(positional)}: ${positional.describe ?? ''}`,
        {
          hint: `See ${path} --help.`,
        },
      );
    }
    if (word !== undefined) named[positional.name] = word;
    at += 1;
  }
  if (words.length > at) {
    throw new UsageError(`${path} does not know what to do with "${words.slice(at).join(' ')}"`, {
      hint: `See ${path} --help.`,
    });
  }
  return named;
}

function placeholder({ name, required, variadic }: Positional): string {
  const inner = `${name}${variadic ? '..' : ''}`;
  return required ? `<${inner}>` : `[${inner}]`;
}
