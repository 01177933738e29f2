import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const exec = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const names = ['core', 'runner', 'devdb', 'cli'];
const folder = mkdtempSync(join(tmpdir(), 'flow-pack-'));
const npm = (cwd: string, ...args: string[]) =>
  exec('npm', [...args, '--no-audit', '--no-fund', '--prefer-offline'], {
    cwd,
    timeout: 240_000,
    maxBuffer: 1e8,
  });

let tarballs: string[] = [];
beforeAll(async () => {
  const { stdout } = await exec(
    'npm',
    [
      'pack',
      '--json',
      '--ignore-scripts',
      '--pack-destination',
      folder,
      ...names.flatMap((name) => ['-w', `packages/${name}`]),
    ],
    { cwd: root, maxBuffer: 1e8 },
  );
  expect(JSON.parse(stdout)).toHaveLength(names.length);
  tarballs = readdirSync(folder)
    .filter((name) => name.endsWith('.tgz'))
    .map((name) => join(folder, name));
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An empty project with the packed packages installed. */
async function project(name: string, files: Record<string, string>): Promise<string> {
  const cwd = join(folder, name);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(cwd, path, '..'), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  await npm(cwd, 'install', '--no-save', ...tarballs);
  return cwd;
}

const job = `import { Job } from '@flowline/core';
@Job()
export class Hello {
  async run() {
    return { said: 'hello' };
  }
}
`;
const config = (syntax: 'esm' | 'cjs') =>
  syntax === 'esm'
    ? "import { defineConfig } from '@flowline/cli';\nexport default defineConfig({ project: 'packed', jobs: ['jobs/*.job.ts'] });\n"
    : "const { defineConfig } = require('@flowline/cli');\nmodule.exports = defineConfig({ project: 'packed', jobs: ['jobs/*.job.ts'] });\n";

/** Deploys the job and runs it to its end on the embedded database, with the installed `flow`. */
async function deploysAndRuns(cwd: string): Promise<void> {
  const env = { ...process.env, FLOW_DATA_DIR: join(cwd, '.flow'), CI: '1' };
  for (const variable of ['FLOW_MONGODB_URI', 'FLOW_DATABASE'])
    delete (env as NodeJS.ProcessEnv)[variable];
  const flow = join(cwd, 'node_modules', '.bin', 'flow');
  const runner = execFile(flow, ['runner', '--deploy'], { cwd, env });
  try {
    const { stdout: deployed } = await exec(flow, ['deploy', '--json'], { cwd, env });
    expect(JSON.parse(deployed).dags).toMatchObject([{ id: 'hello' }]);
    const { stdout } = await exec(flow, ['run', 'hello', '--wait', '--json'], {
      cwd,
      env,
      timeout: 60_000,
    });
    expect(JSON.parse(stdout)).toMatchObject({
      state: 'succeeded',
      tasks: [{ job: 'hello', state: 'succeeded' }],
    });
  } finally {
    const ended = new Promise((resolve) => runner.once('exit', resolve));
    runner.kill('SIGTERM');
    await ended;
    await exec(flow, ['db', 'stop'], { cwd, env });
  }
}

describe('the packed packages', () => {
  test('hold what is built, with types and source maps, and nothing of the tests', async () => {
    for (const tarball of tarballs) {
      const { stdout } = await exec('tar', ['tzf', tarball]);
      const files = stdout.split('\n');
      expect(files).toContain('package/dist/index.js');
      expect(files).toContain('package/dist/index.d.ts');
      expect(files).toContain('package/dist/index.js.map');
      expect(files.filter((file) => /\.(test|property)\./.test(file))).toEqual([]);
    }
  });

  test('pass publint, and their types resolve for ES modules', async () => {
    for (const name of names) {
      const folder = join(root, 'packages', name);
      await exec(join(root, 'node_modules/.bin/publint'), [folder, '--strict']);
      await exec(
        join(root, 'node_modules/.bin/attw'),
        ['--pack', folder, '--profile', 'esm-only'],
        {
          cwd: root,
          maxBuffer: 1e8,
        },
      );
    }
  }, 180_000);

  test('install and run in an empty ESM project', async () => {
    const cwd = await project('esm', {
      'package.json': JSON.stringify({ name: 'esm', private: true, type: 'module' }),
      'flow.config.ts': config('esm'),
      'jobs/hello.job.ts': job,
    });
    const { stdout } = await exec(
      process.execPath,
      [
        '-e',
        "import('@flowline/core').then(({ Job, FlowClient }) => console.log(typeof Job, typeof FlowClient))",
      ],
      { cwd },
    );
    expect(stdout.trim()).toBe('function function');
    const kit =
      "import('@flowline/core/testing').then(({ underFaults }) => console.log(typeof underFaults))";
    const { stdout: testing } = await exec(process.execPath, ['-e', kit], { cwd });
    expect(testing.trim()).toBe('function');
    await deploysAndRuns(cwd);
  }, 300_000);

  test('install and run in an empty CJS project', async () => {
    const cwd = await project('cjs', {
      'package.json': JSON.stringify({ name: 'cjs', private: true }),
      'flow.config.cjs': config('cjs'),
      'jobs/hello.job.ts': job,
    });
    const script =
      "const { Job, FlowClient } = require('@flowline/core'); const { Runner } = require('@flowline/runner'); console.log(typeof Job, typeof FlowClient, typeof Runner)";
    const { stdout } = await exec(process.execPath, ['-e', script], { cwd });
    expect(stdout.trim()).toBe('function function function');
    await deploysAndRuns(cwd);
  }, 300_000);

  test('pin their sisters to their own version, and have a default export condition', () => {
    for (const name of names) {
      const manifest = JSON.parse(
        readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'),
      );
      for (const [dependency, range] of Object.entries(manifest.dependencies ?? {})) {
        if (dependency.startsWith('@flowline/')) expect(range).toBe(manifest.version);
        expect(range).toMatch(/^\d/);
      }
      for (const target of Object.values(manifest.exports)) {
        if (typeof target === 'object') expect(target).toHaveProperty('default');
      }
    }
  });
});
