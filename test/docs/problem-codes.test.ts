/** docs/problems.md has one row for each code that the source can report, with its severity, and no other row. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compilerProblemCodes } from '@flowline/core/internal';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(`${root}docs/problems.md`, 'utf8');

/** The rows of the page that have a code in their first cell, whether or not the columns are padded. */
const rows = [...page.matchAll(/^\| *`([a-z-]+)` *\| *([^|]+?) *\|/gm)].map(([, code, second]) => ({
  code: code!,
  second: second!.trim(),
}));
const problemRows = rows.filter(({ second }) => second === 'error' || second === 'warning');
const errorRows = rows.filter(({ second }) => second.startsWith('`'));

/** What a pattern captures in a source file, or in those of a folder, tests left out. */
function inSources(folder: string, pattern: RegExp): Set<string> {
  const found = new Set<string>();
  const path = `${root}packages/${folder}`;
  const files = folder.endsWith('.ts')
    ? [path]
    : (readdirSync(path, { recursive: true }) as string[])
        .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
        .map((file) => `${path}/${file}`);
  for (const file of files) {
    const source = readFileSync(file, 'utf8');
    const code = source.replace(/^(import|export) .* from .*$/gm, '');
    for (const match of code.matchAll(pattern)) found.add(match[1]!);
  }
  return found;
}

describe('the compiler', () => {
  it('reports the codes of its table, each of them', () => {
    const used = inSources('core/src/compiler/passes', /'([a-z]+-?[a-z-]*)'/g);
    for (const code of inSources('core/src/compiler/fields.ts', /'([a-z]+-?[a-z-]*)'/g)) {
      used.add(code);
    }
    const reported = inSources('core/src/compiler/passes', /code: '([a-z-]+)'/g);
    const codes = Object.keys(compilerProblemCodes);
    expect([...reported].filter((code) => !codes.includes(code))).toEqual([]);
    expect(codes.filter((code) => !used.has(code))).toEqual([]);
  });
});

describe('docs/problems.md', () => {
  it('has one row for each problem of the compiler, with its severity', () => {
    const documented = new Map(problemRows.map(({ code, second }) => [code, second]));
    for (const [code, severity] of Object.entries(compilerProblemCodes)) {
      expect(`${code} ${documented.get(code)}`).toBe(`${code} ${severity}`);
    }
  });

  it('has one row for each problem of schedules and of loading, and no others', () => {
    const codes = new Set([
      ...Object.keys(compilerProblemCodes),
      ...inSources('core/src/time', /'((?:cron|schedule)-[a-z-]+|time-zone)'/g),
      ...inSources('cli/src/loading', /code: '([a-z-]+)'/g),
    ]);
    expect(problemRows.map(({ code }) => code).sort()).toEqual([...codes].sort());
  });

  it('has one row for each code that an error can have', () => {
    const source = readFileSync(`${root}packages/core/src/errors.ts`, 'utf8');
    const union = /type FlowErrorCode =([^;]+);/.exec(source)?.[1] ?? '';
    const codes = [...union.matchAll(/'([a-z-]+)'/g)].map(([, code]) => code);
    expect(errorRows.map(({ code }) => code)).toEqual(codes);
  });

  it('names a code once', () => {
    const codes = rows.map(({ code }) => code);
    expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([]);
  });
});
