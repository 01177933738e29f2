import { expect, test } from 'vitest';
import { namesInClause, scanImports } from './scan-imports.js';

test('finds imports and re-exports that are there at run time, with their lines', () => {
  const source = [
    "import a, { type B, C as D } from './a.js';",
    "import type { E } from './types.js';",
    "// import { no } from './comment.js';",
    '/*',
    " * import { no } from './comment.js';",
    ' */',
    "import './effect.js';",
    'export {',
    '  F,',
    "} from './f.js';",
    "export * from './star.js';",
    "import g = require('./g');",
    "const h = await import('./h.js');",
    "export type { I } from './types.js';",
  ].join('\n');
  const found = scanImports(source)
    .map(({ specifier, line }) => `${line} ${specifier}`)
    .sort();
  expect([...new Set(found)]).toEqual(
    ['1 ./a.js', '7 ./effect.js', '8 ./f.js', '11 ./star.js', '12 ./g', '13 ./h.js'].sort(),
  );
});

test('a clause names whole words only, on both sides of "as"', () => {
  expect(namesInClause('{ Rows, A as B }', 'Row')).toBe(false);
  expect(namesInClause('{ Rows, A as B }', 'A')).toBe(true);
  expect(namesInClause('{ Rows, A as B }', 'B')).toBe(true);
  expect(namesInClause('{ $a }', 'a')).toBe(false);
});
