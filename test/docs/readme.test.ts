import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FlowSandbox, openFlow } from '../support/flow.ts';
import { until } from '../support/until.ts';

const exec = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const blocks = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, code]) => code as string,
  );

test('every link of the README and the docs leads somewhere', () => {
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    'docs/architecture.md',
    'docs/ci.md',
    'docs/cli.md',
    'docs/exactly-once.md',
    'docs/decisions/driver-types-in-commit.md',
  ];
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, target] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
      if (/^https?:/.test(target as string)) continue;
      expect(existsSync(join(root, page, '..', target as string)), `${page}: ${target}`).toBe(true);
    }
  }
});

test('every npm script that the README and CONTRIBUTING name exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const page of ['README.md', 'CONTRIBUTING.md']) {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, name] of text.matchAll(/npm run ([a-z:-]+)/g))
      expect(scripts).toHaveProperty([name as string]);
  }
});

test('the jobs of the README compile, as the README says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'flow-readme-'));
  try {
    const [jobs] = blocks(readme, 'ts');
    mkdirSync(join(folder, 'jobs'));
    writeFileSync(join(folder, 'jobs', 'sales.ts'), jobs as string);
    const flow = join(root, 'packages/cli/bin/flow.js');
    const { stdout } = await exec(process.execPath, [flow, 'compile', '--json'], { cwd: folder });
    const { dags, problems } = JSON.parse(stdout);
    expect(problems).toEqual([]);
    expect(dags).toMatchObject([
      { id: 'nightly-sales', jobs: [{ id: 'extract-orders' }, { id: 'total' }] },
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

for (const [example, dags] of [
  ['hello', ['hello']],
  ['http', ['send-invoice']],
  ['weather', ['weather']],
] as const) {
  test(`examples/${example} type-checks and compiles`, async () => {
    const cwd = join(root, 'examples', example);
    await exec(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.', '--skipLibCheck'],
      { cwd },
    );
    const { stdout } = await exec(
      process.execPath,
      [join(root, 'packages/cli/bin/flow.js'), 'compile', '--json'],
      { cwd },
    );
    const compiled = JSON.parse(stdout);
    expect(compiled.problems).toEqual([]);
    expect(compiled.dags.map(({ id }: { id: string }) => id)).toEqual(dags);
  });
}

let flow: FlowSandbox;
beforeAll(async () => {
  flow = await openFlow(join(root, 'examples/http'));
});
afterAll(() => flow.close());

test('examples/http: an order posted twice is one run, which ends', async () => {
  const runner = flow.spawn(['runner', '--deploy']);
  await runner.started;
  const server = spawn(process.execPath, ['--import', '@flowline/cli/register', 'server.ts'], {
    cwd: flow.cwd,
    env: { ...flow.env, PORT: '0' },
  });
  let said = '';
  server.stdout.on('data', (chunk) => {
    said += chunk;
  });
  server.stderr.on('data', (chunk) => {
    said += chunk;
  });
  try {
    const port = await until('the server', () => /listening on (\d+)/.exec(said)?.[1]);
    const post = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/orders/4711`, {
        method: 'POST',
        body: '{"cents":1250}',
      });
      return {
        status: response.status,
        body: (await response.json()) as { runId: string; created: boolean },
      };
    };
    const first = await post();
    const second = await post();
    expect(first).toMatchObject({ status: 202, body: { created: true } });
    expect(second).toMatchObject({
      status: 202,
      body: { created: false, runId: first.body.runId },
    });
    await until('the end of the run', async () => {
      const response = await fetch(`http://127.0.0.1:${port}/runs/${first.body.runId}`);
      return ((await response.json()) as { state: string }).state === 'succeeded';
    });
  } finally {
    server.kill('SIGTERM');
    runner.child.kill('SIGTERM');
    await runner.ended;
  }
});
