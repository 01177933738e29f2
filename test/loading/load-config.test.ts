import { afterEach, expect, test } from 'vitest';
import { openProject, type Project, settleIn } from './projects.js';

const open: Project[] = [];

async function project(fixture: string, files: Record<string, string> = {}): Promise<Project> {
  const opened = await openProject(fixture);
  open.push(opened);
  for (const [path, text] of Object.entries(files)) await opened.write(path, text);
  return opened;
}

afterEach(async () => {
  for (const each of open.splice(0)) await each.remove();
});

test('a config in TypeScript is found from below, and what it imports is compiled too', async () => {
  const esm = await project('esm');
  const { settings } = await settleIn(esm.file('packages/rates/src'));
  expect(settings).toMatchObject({
    project: 'shop',
    root: esm.root,
    configFile: esm.file('flow.config.ts'),
    jobs: ['src/**/*.job.ts'],
    database: 'shop-flow',
    dataDir: esm.file('.flow'),
  });
});

test.each([
  ['flow.config.ts', 'const config: object = { database: "x" };\nexport default config;'],
  ['flow.config.ts', 'export = { database: "x" };'],
  ['flow.config.mts', 'export default await Promise.resolve({ database: "x" as const });'],
  ['flow.config.js', 'module.exports = { database: "x" };'],
  ['flow.config.js', 'exports.__esModule = true; exports.default = { database: "x" };'],
  ['flow.config.mjs', 'export default { database: "x" };'],
  ['flow.config.json', '{ "database": "x" }'],
])('%s is understood: %s', async (name, text) => {
  const { settings, thrown } = await settleIn((await project('cjs', { [name]: text })).root);
  expect(thrown).toBeUndefined();
  expect(settings?.database).toBe('x');
});

test('without a config the project is named after the package, and .flow is in the working directory', async () => {
  const cjs = await project('cjs');
  const { settings } = await settleIn(cjs.file('src/jobs'));
  expect(settings).toMatchObject({ project: 'cjs-shop', root: cjs.file('src/jobs') });
  expect(settings?.configFile).toBeUndefined();
  expect(settings?.dataDir).toBe(cjs.file('src/jobs/.flow'));
});

test('a config without a project gets the name of the package beside it', async () => {
  const cjs = await project('cjs', { 'flow.config.json': '{}' });
  expect((await settleIn(cjs.file('src'))).settings?.project).toBe('cjs-shop');
});

test('--config names another file, and must name one that is there', async () => {
  const esm = await project('esm', { 'config/other.json': '{ "project": "other" }' });
  expect((await settleIn(esm.root, 'config/other.json')).settings).toMatchObject({
    project: 'other',
    dataDir: esm.file('config/.flow'),
  });
  const { thrown } = await settleIn(esm.root, 'nowhere.ts');
  expect(thrown).toMatchObject({ name: 'ConfigError' });
  expect(thrown?.message).toBe(
    `--config nowhere.ts: expected a file, found none at ${esm.file('nowhere.ts')}`,
  );
});

test.each([
  [{ 'flow.config.json': '{' }, /flow\.config\.json: expected JSON, found /],
  [{ 'flow.config.ts': 'export const project = "x";' }, /expected a default export, found project/],
  [
    { 'flow.config.ts': 'export default { databse: 1 };' },
    /databse: unknown key \(did you mean database\?\)/,
  ],
  [
    { 'flow.config.ts': 'export default {\n  project: ,\n};' },
    /flow\.config\.ts:2:12: Expression expected/,
  ],
  [
    { 'flow.config.ts': '\n\nthrow new Error("no secrets here");' },
    /flow\.config\.ts:3:7: threw at import: no secrets here/,
  ],
  [
    { 'flow.config.ts': 'export default {};', 'flow.config.json': '{}' },
    /expected one config, found flow\.config\.ts and flow\.config\.json/,
  ],
])('a config that cannot be used says where and why: %j', async (files, message) => {
  const { thrown } = await settleIn((await project('cjs', files as Record<string, string>)).root);
  expect(thrown).toMatchObject({ name: 'ConfigError', code: 'config' });
  expect(thrown?.message).toMatch(message);
});
