import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { transpile } from './transpile.js';

const folder = mkdtempSync(join(tmpdir(), 'flow-transpile-'));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;

function transpiled(source: string, extension = 'mts') {
  const file = join(folder, `${++count}.${extension}`);
  writeFileSync(file, source);
  return transpile(file);
}

/** The place in the source, from 1, that the map gives for the first mention of `text` in the compiled code. */
function placeOf(code: string, text: string): string {
  const encoded = /base64,(.*)$/.exec(code)?.[1] ?? '';
  const map = new SourceMap(JSON.parse(Buffer.from(encoded, 'base64').toString('utf8')));
  const before = code.slice(0, code.indexOf(text));
  const line = before.split('\n').length - 1;
  const entry = map.findEntry(line, before.length - before.lastIndexOf('\n') - 1);
  if (!('originalLine' in entry)) return 'none';
  return `${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

const decorated = `#!/usr/bin/env node
// é and ü before it: positions are counted in bytes by the compiler
import { Job, member, ns, DependsOn } from './decorators';
@Job({
  first: 1,
})
@DependsOn(Object)
export class A {
  @member() x = 1;
  @ns.method run(): void {
    @Job({ inner: 1 }) class Inner {}
    void Inner;
  }
}
export const B = @Job({ third: 3 }) class {};
`;

test.each(['mts', 'cts'])(
  'the map leads from each decorator call to the source (.%s)',
  (extension) => {
    const { code } = transpiled(decorated, extension);
    const body = code.slice(code.indexOf('class A'));
    const offset = code.length - body.length;
    const call = extension === 'cts' ? '(0, _decorators.Job)({' : 'Job({';
    const place = (text: string) => placeOf(code, code.slice(code.indexOf(text, offset)));
    expect(place(`${call}\n        first`)).toBe('4:1');
    expect(place('ns.method')).toBe('10:3');
    expect(place(`${call}\n                inner`)).toBe('11:5');
    expect(place(`${call}\n        third`)).toBe('15:18');
  },
);

test('a file without a package runs as CommonJS, with top-level await as a module', () => {
  const plain = transpiled('export const a = async () => await 1;', 'ts');
  expect(plain.format).toBe('commonjs');
  const awaiting = transpiled('export const a = await 1;', 'ts');
  expect(awaiting.format).toBe('module');
});

test('a syntax error says where, at the caret and not at the start of the line', () => {
  expect(() => transpiled('const a = 1;\n\tconst b = ;\n')).toThrow(
    expect.objectContaining({
      flowLoad: expect.objectContaining({ kind: 'syntax', line: 2, column: 12 }),
    }),
  );
});
