import { type ParseArgsConfig, parseArgs } from 'node:util';
import { didYouMean, OptionError, UsageError } from '@flowline/core/time';
import type { Options } from 'yargs';
import type { Command, GlobalFlags, Positional } from './command.js';
import { globalOptions } from './global-options.js';

// biome-ignore lint/suspicious/noExplicitAny: the options are data; each command names the types of its own
export type Parsed = GlobalFlags & Record<string, any>;

type OptionTable = Readonly<Record<string, Options>>;
type FlagValues = readonly (string | boolean)[] | undefined;

/**
 * Parses the arguments of one command: flags in camel case and as written, positionals by name. Throws UsageError for a
 * flag or an argument that the command does not know, OptionError for a value that cannot be right.
 *
 * Options are described as yargs describes them, which also writes the help; taking a line apart is Node's own parseArgs,
 * since loading yargs costs as much time as the rest of a short command.
 */
export function parseArguments(path: string, command: Command, rest: readonly string[]): Parsed {
  const options = { ...command.options, ...globalOptions };
  refuseUnknownFlags(path, options, rest);
  const { values, positionals } = takeApart(path, options, rest);
  const parsed: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    const value = valueOfFlag(path, name, option, values[name]);
    if (value === undefined) continue;
    parsed[name] = value;
    parsed[camelCase(name)] = value;
  }
  refuseConflicts(path, options, parsed);
  return { ...parsed, ...positionalsOf(path, command.positionals ?? [], positionals) };
}

/** Every flag may repeat here, so that a repetition can be told from a last one that wins. */
function takeApart(path: string, options: OptionTable, rest: readonly string[]) {
  const described = Object.entries(options).map(([name, { type, alias }]) => [
    name,
    {
      type: type === 'boolean' ? ('boolean' as const) : ('string' as const),
      multiple: true as const,
      ...(typeof alias === 'string' ? { short: alias } : {}),
    },
  ]);
  // `--json=true` is what scripts write; parseArgs knows booleans without a value only.
  const args = rest
    .filter((word) => !isSwitchedOff(options, word))
    .map((word) => (isSwitchedOn(options, word) ? word.slice(0, -'=true'.length) : word));
  try {
    const { values, positionals } = parseArgs({
      args,
      options: Object.fromEntries(described) as ParseArgsConfig['options'] & object,
      allowPositionals: true,
    });
    return { values: values as Readonly<Record<string, FlagValues>>, positionals };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [, flag] = /^Option '(?:-., )?--([^ ']+)/.exec(message) ?? [];
    const see = `See ${path} --help.`;
    if (flag === undefined) throw new UsageError(`${path}: ${message}`, { hint: see });
    const next = args[args.lastIndexOf(`--${flag}`) + 1];
    throw new UsageError(`${path}: --${flag} needs a value`, {
      hint: next?.startsWith('-')
        ? `A value that begins with a dash is written --${flag}=${next}`
        : see,
    });
  }
}

function isSwitchedOn(options: OptionTable, word: string): boolean {
  const [, name] = /^--(.+)=true$/.exec(word) ?? [];
  return name !== undefined && options[name]?.type === 'boolean';
}

function isSwitchedOff(options: OptionTable, word: string): boolean {
  const [, name] = /^--(.+)=false$/.exec(word) ?? [];
  return name !== undefined && options[name]?.type === 'boolean';
}

/** The value of one flag as its command wants it; undefined when it was not given. */
function valueOfFlag(path: string, name: string, option: Options, given: FlagValues): unknown {
  if (given === undefined) return undefined;
  const isList = option.array === true || option.type === 'array';
  if (given.length > 1 && !isList && option.type !== 'boolean') {
    throw new UsageError(`${path}: --${name} stands ${given.length} times, expected once`);
  }
  for (const value of given) checkChoice(name, option, value);
  if (isList) return given;
  if (option.type !== 'number') return given[0];
  const number = Number(given[0]);
  if (given[0] === '' || !Number.isFinite(number)) {
    throw new OptionError(`--${name}`, 'a number', given[0]);
  }
  return number;
}

function checkChoice(name: string, option: Options, value: string | boolean): void {
  const choices = option.choices as readonly string[] | undefined;
  if (choices === undefined || choices.includes(value as string)) return;
  const near = didYouMean(String(value), choices);
  throw new OptionError(`--${name}`, choices.join(', '), value, {
    ...(near === undefined ? {} : { hint: `Did you mean "${near}"?` }),
  });
}

function refuseConflicts(
  path: string,
  options: OptionTable,
  parsed: Readonly<Record<string, unknown>>,
): void {
  for (const [name, { conflicts }] of Object.entries(options)) {
    const other = [conflicts ?? []].flat().find((one) => parsed[String(one)] !== undefined);
    if (parsed[name] === undefined || other === undefined) continue;
    throw new UsageError(`${path}: --${name} and --${String(other)} exclude each other`, {
      hint: `See ${path} --help.`,
    });
  }
}

function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** Before they are taken apart: a misspelt flag would otherwise swallow the next argument. */
function refuseUnknownFlags(path: string, options: OptionTable, argv: readonly string[]): void {
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

/** How an argument is written in usage lines: `<dag>`, `[paths..]`. */
export function placeholder({ name, required, variadic }: Positional): string {
  const inner = `${name}${variadic ? '..' : ''}`;
  return required ? `<${inner}>` : `[${inner}]`;
}
