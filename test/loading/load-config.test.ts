import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openProject, type Project, type SettlingAnswer, settleAll } from './projects.js';

/** Each understood config says the same: the database is x. */
const understood = {
  'flow.config.ts': 'const config: object = { database: "x" };\nexport default config;',
  'assigned/flow.config.ts': 'export = { database: "x" };',
  'flow.config.mts': 'export default await Promise.resolve({ database: "x" as const });',
  'flow.config.js': 'module.exports = { database: "x" };',
  'transpiled/flow.config.js': 'exports.__esModule = true; exports.default = { database: "x" };',
  'flow.config.mjs': 'export default { database: "x" };',
  'flow.config.json': '{ "database": "x" }',
};

/** Each refused config and what its message must say. */
const refused: Readonly<Record<string, readonly [files: Record<string, string>, message: RegExp]>> =
  {
    json: [{ 'flow.config.json': '{' }, /flow\.config\.json: expected JSON, found /],
    named: [
      { 'flow.config.ts': 'export const project = "x";' },
      /expected a default export, found project/,
    ],
    unknown: [
      { 'flow.config.ts': 'export default { databse: 1 };' },
      /databse: unknown key \(did you mean database\?\)/,
    ],
    syntax: [
      { 'flow.config.ts': 'export default {\n  project: ,\n};' },
      /flow\.config\.ts:2:12: Expression expected/,
    ],
    throws: [
      { 'flow.config.ts': '\n\nthrow new Error("no secrets here");' },
      /flow\.config\.ts:3:7: threw at import: no secrets here/,
    ],
    two: [
      { 'flow.config.ts': 'export default {};', 'flow.config.json': '{}' },
      /expected one config, found flow\.config\.ts and flow\.config\.json/,
    ],
  };

let esm: Project;
let cjs: Project;
let answers: Map<string, SettlingAnswer>;

beforeAll(async () => {
  esm = await openProject('esm');
  cjs = await openProject('cjs');
  await esm.write('config/other.json', '{ "project": "other" }');
  await cjs.write('beside/package.json', '{ "name": "beside" }');
  await cjs.write('beside/flow.config.json', '{}');
  const requests: Record<string, { cwd: string; path?: string }> = {
    below: { cwd: esm.file('packages/rates/src') },
    named: { cwd: esm.root, path: 'config/other.json' },
    absent: { cwd: esm.root, path: 'nowhere.ts' },
    none: { cwd: cjs.file('src/jobs') },
    beside: { cwd: cjs.file('beside/deeper') },
  };
  for (const [name, text] of Object.entries(understood)) {
    const folder = `understood/${name.replaceAll('.', '-')}`;
    await cjs.write(`${folder}/${name.split('/').at(-1)}`, text);
    requests[name] = { cwd: cjs.file(folder) };
  }
  for (const [name, [files]] of Object.entries(refused)) {
    for (const [file, text] of Object.entries(files)) {
      await cjs.write(`refused/${name}/${file}`, text);
    }
    requests[`refused ${name}`] = { cwd: cjs.file(`refused/${name}`) };
  }
  const given = await settleAll(Object.values(requests));
  answers = new Map(Object.keys(requests).map((name, index) => [name, given[index] ?? {}]));
});

afterAll(async () => {
  await esm.remove();
  await cjs.remove();
});

test('a config in TypeScript is found from below, and what it imports is compiled too', () => {
  expect(answers.get('below')?.settings).toMatchObject({
    project: 'shop',
    root: esm.root,
    configFile: esm.file('flow.config.ts'),
    jobs: ['src/**/*.job.ts'],
    database: 'shop-flow',
    dataDir: esm.file('.flow'),
  });
});

test.each(Object.entries(understood))('%s is understood: %s', (name) => {
  const { settings, thrown } = answers.get(name) ?? {};
  expect(thrown).toBeUndefined();
  expect(settings?.database).toBe('x');
});

test('without a config the project is named after the package, and .flow is in the working directory', () => {
  const { settings } = answers.get('none') ?? {};
  expect(settings).toMatchObject({ project: 'cjs-shop', root: cjs.file('src/jobs') });
  expect(settings?.configFile).toBeUndefined();
  expect(settings?.dataDir).toBe(cjs.file('src/jobs/.flow'));
});

test('a config without a project gets the name of the package beside it', () => {
  expect(answers.get('beside')?.settings?.project).toBe('beside');
});

test('--config names another file, which .flow then stands beside', () => {
  expect(answers.get('named')?.settings).toMatchObject({
    project: 'other',
    dataDir: esm.file('config/.flow'),
  });
});

describe('a config that cannot be used', () => {
  test('must be there when --config names it', () => {
    const { thrown } = answers.get('absent') ?? {};
    expect(thrown).toMatchObject({ name: 'ConfigError', code: 'config' });
    expect(thrown?.message).toBe(
      `--config nowhere.ts: expected a file, found none at ${esm.file('nowhere.ts')}`,
    );
  });

  test.each(Object.entries(refused))('says where and why: %s', (name, [, message]) => {
    const { thrown } = answers.get(`refused ${name}`) ?? {};
    expect(thrown).toMatchObject({ name: 'ConfigError', code: 'config' });
    expect(thrown?.message).toMatch(message);
  });
});
