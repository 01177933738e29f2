/** compile, deploy, dags and show: what the code says, and what is stored of it. */
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Store } from '@flowline/core/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FlowSandbox, openFlow } from '../support/flow.ts';
import { flowHere } from '../support/flow-in-process.ts';

const shop = fileURLToPath(new URL('../fixtures/cli/shop', import.meta.url));
const broken = fileURLToPath(new URL('../fixtures/cli/broken', import.meta.url));

let flow: FlowSandbox;
let store: Store;
let folder: string;
beforeAll(async () => {
  flow = await openFlow(shop);
  folder = mkdtempSync(join(tmpdir(), 'flow-project-'));
  store = await flow.store();
});
afterAll(async () => {
  await flow.close();
  rmSync(folder, { recursive: true, force: true });
});

const here = (args: readonly string[], cwd = shop) => flowHere(args, { cwd, env: flow.env });

test('flow compile tells all six faults of a code base at once, with file and line, and exit status 2', async () => {
  const [text, json] = await Promise.all([
    flow.flow(['compile'], { cwd: broken }),
    here(['compile', '--json'], broken),
  ]);
  expect([text.code, json.code]).toEqual([2, 2]);
  for (const [code, place] of [
    ['cycle', 'jobs/cycle.job.ts:4'],
    ['dependency-unknown', 'jobs/unknown.job.ts:8'],
    ['cron-field', 'jobs/schedules.job.ts:3'],
    ['time-zone', 'jobs/schedules.job.ts:8'],
    ['duration', 'jobs/schedules.job.ts:13'],
    ['duplicate-dag-id', 'jobs/duplicate.job.ts:8'],
  ]) {
    expect(text.stderr).toContain(`[${code}]\n  at ${place}\n`);
  }
  expect(text.stderr).toMatch(/Egg -> Hen -> Egg/);
  expect(text.stderr).toMatch(/6 errors in 4 files/);
  const { dags, problems } = JSON.parse(json.stdout);
  expect(dags.map(({ id }: { id: string }) => id)).toEqual(['twin']);
  expect(problems).toHaveLength(6);
  for (const problem of problems) {
    expect(Object.keys(problem)).toEqual([
      'code',
      'severity',
      'path',
      'message',
      'hint',
      'file',
      'line',
    ]);
    expect(problem.line).toBeGreaterThan(0);
  }
});

test('flow compile prints the graph, as text, JSON, a file or a flowchart', async () => {
  const out = join(folder, 'dags.json');
  const [text, json, file, mermaid] = await Promise.all([
    here(['compile']),
    here(['compile', '--json']),
    here(['compile', '--out', out]),
    here(['compile', '--format', 'mermaid']),
  ]);
  expect(text.stdout).toMatch(/daily-sales [0-9a-f]{20} {2}At 02:00 \(Europe\/Paris\)/);
  expect(text.stdout).toContain('total           <- extract-orders, extract-rates');
  expect(file.stderr).toContain('wrote 5 DAGs to ');
  const { warnings, ...compiled } = JSON.parse(json.stdout);
  expect(JSON.parse(readFileSync(out, 'utf8'))).toEqual(compiled);
  // 02:00 in Paris: of the day, so not in the file.
  expect(warnings).toEqual([expect.objectContaining({ code: 'schedule-clock-change' })]);
  expect(mermaid.stdout).toMatch(/^flowchart LR\n/);
  expect(mermaid.stdout).toContain('daily_sales__extract_orders --> daily_sales__total');
});

test('flow deploy: a dry run stores nothing, the first adds, the second changes nothing', async () => {
  const dry = await flow.json(['deploy', '--dry-run']);
  expect(await store.listDags()).toEqual([]);
  const first = await flow.json(['deploy']);
  const facts = ({ dags }: { dags: { id: string; version: string; change: string }[] }) =>
    dags.map(({ id, version, change }) => ({ id, version, change }));
  expect(facts(first)).toEqual(facts(dry));
  expect(first.dags[0]).toEqual({
    id: 'broken-part',
    version: expect.stringMatching(/^[0-9a-f]{20}$/),
    change: 'added',
    nextFires: { before: [], after: [] },
  });
  const before = await store.listDags();
  const again = await here(['deploy', '--json']);
  expect(
    new Set(JSON.parse(again.stdout).dags.map((dag: { change: string }) => dag.change)),
  ).toEqual(new Set(['unchanged']));
  expect(await store.listDags()).toEqual(before);
});

test('another folder and another import order give the same versions', async () => {
  const copy = join(folder, 'copy');
  cpSync(shop, copy, { recursive: true });
  // The files are read by name: this turns their order round.
  renameSync(join(copy, 'jobs/on-demand.job.ts'), join(copy, 'jobs/z.job.ts'));
  renameSync(join(copy, 'jobs/sales.job.ts'), join(copy, 'jobs/a.job.ts'));
  const { stdout } = await flow.flow(['deploy', '--json'], { cwd: copy });
  const changes = JSON.parse(stdout).dags.map(({ change }: { change: string }) => change);
  expect(changes).toEqual(Array(5).fill('unchanged'));
});

test('--prune retires what left the code, only when told --yes, and only of its own project', async () => {
  const copy = join(folder, 'fewer');
  cpSync(shop, copy, { recursive: true });
  rmSync(join(copy, 'jobs/on-demand.job.ts'));
  const kept = await flow.flow(['deploy'], { cwd: copy });
  expect(kept.stdout).toMatch(/kept {6}echo .*--prune retires it/);
  const refused = await flow.flow(['deploy', '--prune'], { cwd: copy });
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toMatch(/--prune would retire broken-part, echo, .*\nhint: Add --yes/);
  expect((await store.getDag('echo'))?.state).toBe('active');
  const pruned = await flow.flow(['deploy', '--prune', '--yes', '--json'], { cwd: copy });
  const removed = JSON.parse(pruned.stdout).dags.filter(
    ({ change }: { change: string }) => change === 'removed',
  );
  expect(removed.map(({ id }: { id: string }) => id).sort()).toEqual([
    'broken-part',
    'echo',
    'minutely',
    'patient',
  ]);
  expect((await store.getDag('echo'))?.state).toBe('retired');
  const back = await flow.json(['deploy']);
  expect(back.dags.find(({ id }: { id: string }) => id === 'echo').change).toBe('added');
});

test('a DAG of another project is refused before anything is written', async () => {
  const copy = join(folder, 'other');
  cpSync(shop, copy, { recursive: true });
  writeFileSync(
    join(copy, 'flow.config.ts'),
    "import { defineConfig } from '@flowline/cli';\nexport default defineConfig({ project: 'other', jobs: ['jobs/*.job.ts'] });\n",
  );
  writeFileSync(
    join(copy, 'jobs/a-new.job.ts'),
    "import { Job } from '@flowline/core';\n@Job({ id: 'a-new' })\nexport class ANew {\n  async run() {}\n}\n",
  );
  const end = await flow.flow(['deploy', '--json'], { cwd: copy });
  expect(end.stderr).toMatch(/shop/);
  expect(end).toMatchObject({ code: 1, stdout: '' });
  expect(await store.getDag('a-new')).toBeNull();
});

test('flow dags and flow show tell the next fires; an unknown DAG gets the nearest', async () => {
  const [dags, list, shown, text, unknown] = await Promise.all([
    flow.json(['dags']),
    here(['dags']),
    flow.json(['show', 'daily-sales']),
    here(['show', 'daily-sales']),
    here(['show', 'daly-sales']),
  ]);
  const daily = dags.find(({ id }: { id: string }) => id === 'daily-sales');
  expect(daily).toMatchObject({ project: 'shop', openRuns: 0, schedule: { cron: '0 2 * * *' } });
  expect(list.stdout).toMatch(/^DAG +VERSION +SCHEDULE +NEXT FIRE +OPEN RUNS +STATE\n/);
  expect(shown.nextFires).toHaveLength(3);
  expect(Object.keys(shown.nextFires[0])).toEqual(['logicalDate', 'local', 'dataInterval', 'note']);
  expect(shown.nextFires[0].logicalDate).toBe(daily.nextFireAt);
  expect(text.stdout).toMatch(/total +extract-orders, extract-rates +1 +1h 0m/);
  expect(unknown.stderr).toMatch(
    /no DAG and no run "daly-sales"\nhint: Did you mean "daily-sales"/,
  );
  expect(unknown).toMatchObject({ code: 1, stdout: '' });
});
