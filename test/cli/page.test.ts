/** docs/cli.md lists the commands, their arguments and their flags as the command table has them. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { Command, Positional } from '../../packages/cli/dist/command-line/command.js';
import { globalOptions } from '../../packages/cli/dist/command-line/global-options.js';
import { commandTable } from '../../packages/cli/dist/command-line/table.js';
import { exitCodes } from '../../packages/cli/dist/terminal/exit-codes.js';

const page = readFileSync(fileURLToPath(new URL('../../docs/cli.md', import.meta.url)), 'utf8');

const entries = commandTable.flatMap((entry) =>
  'commands' in entry
    ? entry.commands.map((inner) => ({ name: `flow ${entry.name} ${inner.name}`, entry: inner }))
    : [{ name: `flow ${entry.name}`, entry }],
);

const placeholder = ({ name, required, variadic }: Positional) =>
  required ? `<${name}>` : `[${name}${variadic ? '..' : ''}]`;

/** The text below a heading, up to the next one. */
function section(heading: string): string {
  const [, rest = ''] = page.split(`\n${heading}\n`);
  return rest.split(/\n##/)[0]!;
}

const flagsOf = (text: string) =>
  [...text.matchAll(/^\| *`--([a-z-]+)`/gm)].map(([, flag]) => flag as string);

test('every command stands there with its arguments, in the order of flow --help', async () => {
  const headings = await Promise.all(
    entries.map(async ({ name, entry }) => {
      const { positionals = [] } = (await entry.load()).command as Command;
      return `### ${[name, ...positionals.map(placeholder)].join(' ')}`;
    }),
  );
  expect(page.match(/^### flow .*$/gm)).toEqual(headings);
  for (const heading of headings) expect(section(heading)).toMatch(/```sh\nflow /);
});

test.each(entries)('$name: its flags', async ({ name, entry }) => {
  const { options = {} } = (await entry.load()).command as Command;
  const heading = page.split('\n').find((line) => `${line} `.startsWith(`### ${name} `));
  expect(flagsOf(section(heading as string))).toEqual(Object.keys(options));
});

test('the flags of every command, and the exit statuses', () => {
  expect(flagsOf(section('## Flags of every command'))).toEqual(Object.keys(globalOptions));
  const listed = [...section('## Exit statuses').matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(
    ([, text]) => (text as string).split(',').map(Number),
  );
  expect(listed).toEqual(Object.values(exitCodes));
});
