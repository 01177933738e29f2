import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lineOf, loadIn, openProject, type Project } from './projects.js';

let broken: Project;

beforeAll(async () => {
  broken = await openProject('broken');
});

afterAll(() => broken.remove());

/** Loads a folder of the fixture from elsewhere, with messages relative to the project. */
async function problemsOf(path: string) {
  const answer = await loadIn(tmpdir(), { root: broken.root, paths: [broken.file(path)] });
  expect(answer.thrown).toBeUndefined();
  return answer.problems;
}

describe('job files that import each other', () => {
  test('are both named, with the chain between them', async () => {
    const problems = await problemsOf('circular');
    expect(problems).toHaveLength(1);
    const [problem] = problems;
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

  test('are named under CommonJS too', async () => {
    const [problem] = await problemsOf('circular-cjs/a.job.ts');
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
  test('that are types get "import type"', async () => {
    expect(await problemsOf('type-import/extract.job.ts')).toMatchObject([
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

  test('that are slips of the pen get the name that was meant', async () => {
    expect(await problemsOf('missing-export')).toMatchObject([
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
  test('have file, line, column and the code around them, in every broken file at once', async () => {
    const problems = await problemsOf('syntax');
    expect(problems).toMatchObject([
      { code: 'load-syntax', path: 'syntax/deep-import.ts', line: 2, column: 30 },
      { code: 'load-syntax', path: 'syntax/extract.job.ts', line: 6, column: 23 },
    ]);
    expect(problems[1]?.frame?.split('\n')).toEqual([
      '  4 | export class Extract {',
      '  5 |   async run(): Promise<void> {',
      '> 6 |     const rows = [1, 2;',
      '    |                       ^',
      '  7 |   }',
    ]);
  });

  test('of decorators in plain JavaScript say what to do', async () => {
    await broken.write(
      'plain/a.job.js',
      'const Job = () => () => {};\n\n@Job()\nexport class A {}\n',
    );
    expect(await problemsOf('plain')).toMatchObject([
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
  const [problem, ...others] = await problemsOf('throws/extract.job.ts');
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
  test('of a path name the file that was meant', async () => {
    expect(await problemsOf('missing-module/extract.job.ts')).toMatchObject([
      {
        code: 'load-not-found',
        path: 'missing-module/extract.job.ts',
        line: 2,
        message: "imports './rowz.js', and there is no such file or source of it",
        hint: "Did you mean 'rows.ts'?",
      },
    ]);
  });

  test('of a package say that it is not installed', async () => {
    expect(await problemsOf('missing-package')).toMatchObject([
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

test('a tsconfig that cannot be read is named', async () => {
  const [problem] = await problemsOf('tsconfig');
  expect(problem).toMatchObject({ code: 'load-tsconfig', path: 'tsconfig/extract.job.ts' });
  expect(problem?.message).toContain('./nowhere.json');
});
