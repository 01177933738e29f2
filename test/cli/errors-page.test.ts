/** docs/errors.md has one row for each code that an error can have, with the exit status that the command line gives. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FlowError, type FlowErrorCode } from '@flowline/core';
import { expect, test } from 'vitest';
import { exitCodeOf } from '../../packages/cli/dist/terminal/exit-code-of.js';

const read = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

const rows = [
  ...read('docs/errors.md').matchAll(/^\| `([a-z-]+)` \| (.+?) \| (.+?) \| (\d) \|$/gm),
];

test('every code has a row, in the order of the source, with what it means and what to do', () => {
  const [, union = ''] =
    /type FlowErrorCode =([^;]+);/.exec(read('packages/core/src/errors.ts')) ?? [];
  const codes = [...union.matchAll(/'([a-z-]+)'/g)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(10);
  expect(rows.map(([, code]) => code)).toEqual(codes);
});

test.each(rows.map(([, code, , , status]) => [code as FlowErrorCode, Number(status)] as const))(
  '%s ends flow with %i',
  (code, status) => {
    expect(exitCodeOf(new FlowError(code, 'x'))).toBe(status);
  },
);
