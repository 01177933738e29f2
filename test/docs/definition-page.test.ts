/** The example of docs/definition.md compiles to the JSON beside it, in both decorator dialects. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compile } from '@flowline/core';
import ts from 'typescript';
import { afterAll, describe, expect, it } from 'vitest';

const page = readFileSync(
  fileURLToPath(new URL('../../docs/definition.md', import.meta.url)),
  'utf8',
);
const block = (language: string) =>
  new RegExp(`\`\`\`${language}\n(.*?)\n\`\`\``, 's').exec(page)?.[1];
const folder = mkdtempSync(join(tmpdir(), 'flowline-definition-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('docs/definition.md', () => {
  it.each([
    ['legacy', true],
    ['TC39', false],
  ])(
    'shows what its classes compile to (%s decorators)',
    async (dialect, experimentalDecorators) => {
      const { outputText } = ts.transpileModule(block('ts') ?? '', {
        compilerOptions: {
          target: ts.ScriptTarget.ES2022,
          module: ts.ModuleKind.ESNext,
          experimentalDecorators,
        },
      });
      const isLegacy = outputText.includes('__decorate(');
      expect(isLegacy).toBe(experimentalDecorators);
      // The file stands outside of the repository, where the package's name leads nowhere.
      const file = join(folder, `${dialect}.mjs`);
      writeFileSync(
        file,
        outputText.replace("'@flowline/core'", `'${import.meta.resolve('@flowline/core')}'`),
      );
      const classes = Object.values(await import(pathToFileURL(file).href));
      const { dags, problems } = compile(classes);
      expect(problems).toEqual([]);
      expect(dags).toEqual([JSON.parse(block('json') ?? '')]);
    },
  );
});
