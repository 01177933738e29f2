import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, lineOf, loadAllIn, openProject, type Project } from './projects.js';

/** Each is loaded by itself, all in one process: a broken file must not spoil the next one. */
const targets = [
  'circular',
  'circular-cjs/a.job.ts',
  'type-import/extract.job.ts',
  'missing-export',
  'syntax',
  'plain',
  'throws/extract.job.ts',
  'missing-module/extract.job.ts',
  'missing-package',
  'unbuilt',
  'await/a.job.cts',
  'member',
  'tsconfig',
] as const;

/** Files that no editor would leave in the fixture as they are. */
const written = {
  'plain/a.job.js': 'const Job = () => () => {};\n\n@Job()\nexport class A {}\n',
  'node_modules/unbuilt/package.json': '{ "exports": "./dist/index.js" }',
  'unbuilt/a.job.ts': "import { x } from 'unbuilt';\nexport const y = x;\n",
  'await/a.job.cts': "import { x } from './b.mjs';\nexport const y = x;\n",
  'await/b.mts': 'export const x = await Promise.resolve(1);\n',
  'member/a.job.ts': `import { Job } from '@flowline/core';
interface Erased { a: 1 }

export class A {
  @(Job() as never)
  run(): void {}
}
`,
};

let broken: Project;
const problems = new Map<string, Answer['problems']>();

beforeAll(async () => {
  broken = await openProject('broken');
  for (const [path, text] of Object.entries(written)) await broken.write(path, text);
  const requests = targets.map((path) => ({ root: broken.root, paths: [broken.file(path)] }));
  const answers = await loadAllIn(tmpdir(), requests);
  for (const [index, target] of targets.entries()) {
    const answer = answers[index];
    expect(answer?.thrown).toBeUndefined();
    problems.set(target, answer?.problems ?? []);
  }
});

afterAll(() => broken.remove());

function problemsOf(target: (typeof targets)[number]): Answer['problems'] {
  return problems.get(target) ?? [];
}

describe('job files that import each other', () => {
  test('are both named, with the chain between them', () => {
    const found = problemsOf('circular');
    expect(found).toHaveLength(1);
    const [problem] = found;
    expect(problem).toMatchObject({
      code: 'load-circular-import',
      path: 'circular/b.job.ts',
      file: broken.file('circular/b.job.ts'),
      line: 5,
    });
    expect(problem?.message).toBe(
      'circular/b.job.ts and circular/a.job.ts import each other (circular/b.job.ts -> circular/between.ts -> circular/a.job.ts -> circular/b.job.ts), so A does not exist yet where circular/b.job.ts uses it',
    );
    expect(problem?.hint).toContain('@DependsOn(() => A)');
  });

  test('are named under CommonJS too', () => {
    const [problem] = problemsOf('circular-cjs/a.job.ts');
    expect(problem).toMatchObject({
      code: 'load-circular-import',
      path: 'circular-cjs/b.job.ts',
      line: 5,
    });
    expect(problem?.message).toContain(
      'circular-cjs/b.job.ts and circular-cjs/a.job.ts import each other',
    );
  });
});

describe('names that are not there at run time', () => {
  test('that are types get "import type"', () => {
    expect(problemsOf('type-import/extract.job.ts')).toMatchObject([
      {
        code: 'load-type-import',
        path: 'type-import/extract.job.ts',
        line: 5,
        column: 3,
        message: 'Row is a type of type-import/rows.ts, and types do not exist at run time',
        hint: 'Write "import type { Row }" (or "export type" where it is passed on).',
      },
    ]);
  });

  test('that are slips of the pen get the name that was meant', () => {
    expect(problemsOf('missing-export')).toMatchObject([
      {
        code: 'load-missing-export',
        path: 'missing-export/extract.job.ts',
        line: 2,
        message: 'type-import/rows.ts exports no value named nome',
        hint: 'Did you mean none?',
      },
    ]);
  });
});

describe('syntax errors', () => {
  test('have file, line, column and the code around them, in every broken file at once', () => {
    const found = problemsOf('syntax');
    expect(found).toMatchObject([
      { code: 'load-syntax', path: 'syntax/deep-import.ts', line: 2, column: 30 },
      { code: 'load-syntax', path: 'syntax/extract.job.ts', line: 6, column: 23 },
    ]);
    expect(found[1]?.frame?.split('\n')).toEqual([
      '  4 | export class Extract {',
      '  5 |   async run(): Promise<void> {',
      '> 6 |     const rows = [1, 2;',
      '    |                       ^',
      '  7 |   }',
    ]);
  });

  test('of decorators in plain JavaScript say what to do', () => {
    expect(problemsOf('plain')).toMatchObject([
      {
        code: 'load-syntax',
        path: 'plain/a.job.js',
        line: 3,
        hint: expect.stringContaining('.ts'),
      },
    ]);
  });
});

test('a file that throws at import is named, with the stack of the user and the line of the source', async () => {
  const connect = broken.file('throws/connect.ts');
  const entry = broken.file('throws/extract.job.ts');
  const line = await lineOf(connect, 'throw new TypeError');
  const [problem, ...others] = problemsOf('throws/extract.job.ts');
  expect(others).toEqual([]);
  expect(problem).toMatchObject({
    code: 'load-threw',
    path: 'throws/connect.ts',
    message:
      'threw at import, while throws/extract.job.ts was loading: TypeError: DATABASE_URL is not set',
    line,
    column: 9,
  });
  const stack = problem?.stack ?? '';
  expect(stack.split('\n')[0]).toBe('TypeError: DATABASE_URL is not set');
  expect(stack).toContain(`${connect}:${line}:9`);
  expect(stack).toContain(`${entry}:${await lineOf(entry, 'connect();')}:`);
  expect(stack).not.toMatch(/node:internal|node_modules|packages\/cli/);
});

describe('imports that lead nowhere', () => {
  test('of a path name the file that was meant', () => {
    expect(problemsOf('missing-module/extract.job.ts')).toMatchObject([
      {
        code: 'load-not-found',
        path: 'missing-module/extract.job.ts',
        line: 2,
        message: "imports './rowz.js', and there is no such file or source of it",
        hint: "Did you mean 'rows.ts'?",
      },
    ]);
  });

  test('of a package say that it is not installed', () => {
    expect(problemsOf('missing-package')).toMatchObject([
      {
        code: 'load-not-found',
        path: 'missing-package/extract.job.ts',
        line: 2,
        message:
          "imports 'a-package-that-nobody-installed', and no package a-package-that-nobody-installed is installed",
      },
    ]);
  });
});

test('a package that was not built, and has no source where the build goes, is named with what to do', () => {
  const [problem] = problemsOf('unbuilt');
  expect(problem).toMatchObject({ code: 'load-not-found', path: 'unbuilt/a.job.ts', line: 1 });
  expect(problem?.message).toBe(
    "imports 'unbuilt', and the package.json of unbuilt leads to node_modules/unbuilt/dist/index.js, which does not exist",
  );
  expect(problem?.hint).toContain('Build unbuilt first');
});

test('a CommonJS file cannot require a module with top-level await, and is told so', () => {
  const [problem] = problemsOf('await/a.job.cts');
  expect(problem).toMatchObject({ code: 'load-required-await', path: 'await/b.mts' });
});

test('a decorator that refuses its place has its own line', () => {
  const [problem] = problemsOf('member');
  expect(problem).toMatchObject({ code: 'load-threw', path: 'member/a.job.ts', line: 5 });
  expect(problem?.message).toContain('@Job: expected to stand on a class');
  expect(problem?.hint).toContain('Move @Job');
});

test('a tsconfig that cannot be read is named', () => {
  const [problem] = problemsOf('tsconfig');
  expect(problem).toMatchObject({ code: 'load-tsconfig', path: 'tsconfig/extract.job.ts' });
  expect(problem?.message).toContain('./nowhere.json');
});
