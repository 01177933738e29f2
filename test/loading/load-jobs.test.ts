import { tmpdir } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { copyCoreInto, lineOf, loadAllIn, loadIn, openProject, type Project } from './projects.js';

const open: Project[] = [];

async function project(...args: Parameters<typeof openProject>): Promise<Project> {
  const opened = await openProject(...args);
  open.push(opened);
  return opened;
}

afterEach(async () => {
  for (const each of open.splice(0)) await each.remove();
});

/** `Name kind file:line`, the file relative to the project. */
function summary(from: Project, classes: Awaited<ReturnType<typeof loadIn>>['classes']): string[] {
  return classes.map(
    ({ name, kind, file, line }) => `${name} ${kind} ${file.slice(from.root.length + 1)}:${line}`,
  );
}

describe('a project of ES modules', () => {
  test('loads with tsconfig extends, paths, .js and extensionless imports, top-level await and linked sources', async () => {
    const esm = await project('esm');
    const answer = await loadIn(tmpdir(), { root: esm.root, jobs: ['src/**/*.job.ts'] });
    expect(answer.problems).toEqual([]);
    expect(answer.files).toEqual([
      esm.file('src/jobs/convert.job.ts'),
      esm.file('src/jobs/extract.job.ts'),
    ]);
    expect(summary(esm, answer.classes)).toEqual([
      'Sales dag src/jobs/extract.job.ts:12',
      'Convert job src/jobs/convert.job.ts:10',
      'ExtractOrders job src/jobs/extract.job.ts:15',
      'NotExported job src/jobs/convert.job.ts:18',
    ]);
    const extract = answer.classes.find(({ name }) => name === 'ExtractOrders');
    const url = `file://${esm.file('src/jobs/extract.job.ts')}`;
    expect(extract?.seen).toEqual(['top-level await', '1 EUR', 1, 2, 3, url]);
    expect(answer.classes.every((each) => each.dependenciesAreListed)).toBe(true);
  });

  test('gives errors the line of the source', async () => {
    const esm = await project('esm');
    const { stack } = await loadIn(esm.root, { jobs: ['src/**/*.job.ts'], call: 'NotExported' });
    const file = esm.file('src/jobs/convert.job.ts');
    expect(stack).toContain(`${file}:${await lineOf(file, 'throw new Error')}:11`);
  });
});

describe('a CommonJS project', () => {
  test('loads with import = require, __filename, baseUrl and a linked package of ES module sources', async () => {
    const cjs = await project('cjs');
    const answer = await loadIn(tmpdir(), { root: cjs.root });
    expect(answer.problems).toEqual([]);
    expect(summary(cjs, answer.classes)).toEqual([
      'Fetch job src/jobs/report.job.ts:8',
      'Report job src/jobs/report.job.ts:17',
    ]);
    expect(answer.classes[0]?.seen).toEqual(['report.job.ts', 1, 'function', 'from baseUrl', 12]);
  });

  test('gives errors the line of the source', async () => {
    const cjs = await project('cjs');
    const { stack } = await loadIn(cjs.root, { call: 'Report' });
    const file = cjs.file('src/jobs/report.job.ts');
    expect(stack).toContain(`${file}:${await lineOf(file, 'throw new Error')}:11`);
  });
});

test('a project without tsconfig and package.json loads, also with top-level await', async () => {
  const bare = await project('bare');
  const answer = await loadIn(tmpdir(), { root: bare.root });
  expect(answer.problems).toEqual([]);
  expect(summary(bare, answer.classes)).toEqual([
    'Heartbeat job jobs/heartbeat.ts:4',
    'Waiting job jobs/waiting.ts:6',
  ]);
});

test('standard decorators run where the tsconfig does not ask for the legacy ones', async () => {
  const standard = await project('standard');
  const answer = await loadIn(tmpdir(), { root: standard.root });
  expect(answer.problems).toEqual([]);
  expect(summary(standard, answer.classes)).toEqual([
    'First job jobs/daily.job.ts:9',
    'Second job jobs/daily.job.ts:18',
  ]);
  expect(answer.classes[0]?.seen).toEqual(['class']);
});

describe('npm workspaces with ES module and CommonJS packages', () => {
  test('load by the default globs, each class once, without tests and built files', async () => {
    const mono = await project('monorepo');
    await mono.write('packages/orders/src/jobs/prune.test.ts', "throw new Error('a test');");
    await mono.write('packages/orders/dist/orders.job.ts', "throw new Error('built');");
    const answer = await loadIn(tmpdir(), { root: mono.root });
    expect(answer.problems).toEqual([]);
    expect(summary(mono, answer.classes).sort()).toEqual([
      'Ledger job packages/ledger/src/ledger.job.ts:4',
      'Nightly dag packages/orders/src/orders.job.ts:3',
      'Orders job packages/orders/src/orders.job.ts:6',
      'Prune job packages/orders/src/jobs/prune.ts:4',
    ]);
    // One instance of each, though one package requires what the other imports.
    expect(answer.classes.every((each) => each.dependenciesAreListed)).toBe(true);
  });

  test('load one instance also where the import comes before the require', async () => {
    const mono = await project('monorepo');
    const orders = 'packages/orders/src/orders.job.ts';
    await mono.write('a-first.job.mts', `export { Nightly } from './${orders}';\n`);
    const answer = await loadIn(mono.root, {});
    expect(answer.problems).toEqual([]);
    expect(answer.classes.map(({ name }) => name).sort()).toEqual([
      'Ledger',
      'Nightly',
      'Orders',
      'Prune',
    ]);
  });
});

test('a second copy of the core in one package is understood', async () => {
  const mono = await project('monorepo');
  await copyCoreInto(mono, 'packages/ledger');
  const answer = await loadIn(mono.root, {});
  expect(answer.problems).toEqual([]);
  expect(summary(mono, answer.classes)).toContain('Ledger job packages/ledger/src/ledger.job.ts:4');
  expect(answer.classes).toHaveLength(4);
  expect(answer.classes.every((each) => each.dependenciesAreListed)).toBe(true);
});

test.each(['esm', 'cjs'])(
  'where the project has not installed Flowline, ours is used (%s)',
  async (fixture) => {
    const bare = await project(fixture, { hasFlowline: false });
    const answer = await loadIn(bare.root, { paths: ['src/jobs'] });
    expect(answer.problems).toEqual([]);
    expect(answer.classes.length).toBeGreaterThan(1);
  },
);

test.each(['module', 'commonjs'])(
  '"imports" and "exports" may name the files of a build that was not made (%s)',
  async (type) => {
    const bare = await project('bare');
    await bare.write('package.json', JSON.stringify({ type, imports: { '#lib/*': './lib/*.js' } }));
    await bare.write('lib/name.ts', 'export const name: string = "Named";\n');
    const linked = 'node_modules/linked';
    await bare.write(`${linked}/package.json`, '{ "exports": "./out.js", "type": "module" }');
    await bare.write(`${linked}/out.ts`, 'export const out: string = "Out";\n');
    await bare.write(
      'one.job.ts',
      [
        "import { Job } from '@flowline/core';",
        "import { name } from '#lib/name';",
        "import { out } from 'linked';",
        '@Job()',
        'export class One { static readonly seen = [name, out]; run(): void {} }',
      ].join('\n'),
    );
    const answer = await loadIn(bare.root, { paths: ['one.job.ts'] });
    expect(answer.problems).toEqual([]);
    expect(answer.classes).toMatchObject([{ name: 'One', line: 4, seen: ['Named', 'Out'] }]);
  },
);

describe('paths of the command line', () => {
  test('may be files, folders and globs, relative to the working directory', async () => {
    const mono = await project('monorepo');
    const orders = 'packages/orders/src/orders.job.ts';
    const prune = 'packages/orders/src/jobs/prune.ts';
    const ledger = 'packages/ledger/src/ledger.job.ts';
    const answers = await loadAllIn(mono.root, [
      { paths: [`./${orders}`] },
      { cwd: mono.file('packages/orders'), paths: ['src'] },
      { cwd: mono.file('packages'), paths: ['*/src/*.job.ts', '../packages/orders'] },
    ]);
    const files = answers.map((answer) =>
      answer.files.map((file) => file.slice(mono.root.length + 1)),
    );
    expect(files).toEqual([[orders], [prune, orders], [ledger, prune, orders]]);
    // What an earlier load of the process has run is still found by a later one.
    expect(answers.map(({ classes }) => classes.length)).toEqual([2, 3, 4]);
  });

  test('that match nothing are all named', async () => {
    const mono = await project('monorepo');
    const { thrown } = await loadIn(mono.root, {
      paths: ['packages/order', 'package.json', 'packages/*.job.ts', 'packages/orders/src'],
    });
    expect(thrown?.name).toBe('UsageError');
    expect(thrown?.message.split('\n')).toEqual([
      'packages/order: expected a file, folder or glob, found no such path (did you mean "orders"?)',
      'package.json: expected a TypeScript or JavaScript file (.ts .tsx .mts .cts .js .jsx .mjs .cjs), found "package.json"',
      'packages/*.job.ts: expected a glob that matches files, found no match',
    ]);
  });

  test('are not needed, but globs of a config must match something', async () => {
    const mono = await project('monorepo');
    const { thrown } = await loadIn(mono.root, { jobs: ['nothing/**/*.ts'] });
    expect(thrown?.name).toBe('ConfigError');
    expect(thrown?.message).toContain("found none for 'nothing/**/*.ts'");
  });

  test('to files without a job give a problem, not silence', async () => {
    const esm = await project('esm');
    const { problems } = await loadIn(esm.root, { paths: ['src/settings.ts'] });
    expect(problems).toMatchObject([{ code: 'load-no-jobs', path: 'src/settings.ts' }]);
  });
});
