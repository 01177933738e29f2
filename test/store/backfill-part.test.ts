import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BackfillRequest } from '../../packages/core/src/store/verbs/backfill-verbs.js';
import { toSchedule } from '../../packages/core/src/time/schedule/parse-schedule.js';
import { checkClosedRun, failed, Graph } from './graphs.js';
import { atEveryDeath, Bench, deployment, pastDaily } from './scheduling.js';

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench.close());

/** extract -> convert -> report, and check beside convert. */
const shape = {
  extract: [],
  check: ['extract'],
  convert: ['extract'],
  report: ['convert'],
} as const;

function deploy(edges: Readonly<Record<string, readonly string[]>> = shape) {
  return Graph.deploy(bench, edges, {
    schedule: toSchedule(pastDaily),
    retention: { runsMs: 30 * 86_400_000, logsMs: 86_400_000 },
  });
}

const day = (n: number) => new Date(Date.UTC(2026, 0, n));

function plan(graph: Graph, days: number, request: Partial<BackfillRequest> = {}) {
  return bench.store.planBackfill({
    ...{ dagId: graph.id, from: day(1), to: day(1 + days) },
    ...request,
  });
}

/** Stores a backfill and works until it has ended; answers its id and the jobs that ran, in order. */
async function run(
  graph: Graph,
  days: number,
  request: Partial<BackfillRequest> = {},
  outcomes: Parameters<Graph['work']>[0] = {},
) {
  const { id } = await bench.store.createBackfill({
    ...{ dagId: graph.id, from: day(1), to: day(1 + days), maxActive: 10 },
    ...request,
  });
  return { id, jobs: await finish(graph, id, outcomes) };
}

/** What must hold of the DAG, whatever happened. */
async function audit(graph: Graph, where = 'audit') {
  const { violations } = await bench.store.audit({ dagIds: [graph.id], atRest: true });
  expect(violations, where).toEqual([]);
}

async function finish(graph: Graph, id: string, outcomes: Parameters<Graph['work']>[0] = {}) {
  const jobs: string[] = [];
  for (let rounds = 0; rounds < 20; rounds++) {
    await bench.store.feedBackfills();
    jobs.push(...(await graph.work(outcomes)));
    await bench.store.payPropagation(0);
    if ((await bench.backfill(id)).endedAt !== null) return jobs;
  }
  throw new Error('the backfill does not end');
}

describe('what is planned', () => {
  test('a job alone stands on the newest run of the date that has its inputs; without one the date is left alone', async () => {
    const graph = await deploy();
    await run(graph, 2);
    const runs = await bench.store.listRuns({ dagId: graph.id });
    const request = { jobs: ['report'], reprocess: 'all' } as const;
    const planned = await plan(graph, 3, request);
    expect(planned.jobs).toEqual(['report']);
    expect(planned.dates).toMatchObject([
      { action: 'rerun', generation: 1, source: runs.find((r) => +r.logicalDate! === +day(1))!.id },
      { action: 'rerun', generation: 1, source: runs.find((r) => +r.logicalDate! === +day(2))!.id },
      { action: 'skip', because: 'no run of this date has a result of convert', source: null },
    ]);
    // A root needs nothing.
    expect((await plan(graph, 3, { jobs: ['extract'] })).dates.map((date) => date.action)).toEqual([
      'skip',
      'skip',
      'create',
    ]);
  });

  test('downstream takes everything after it along; all of the graph is no part', async () => {
    const graph = await deploy();
    const part = await plan(graph, 1, { jobs: ['convert'], downstream: true });
    expect(part.jobs).toEqual(['convert', 'report']);
    expect(part.dates[0]!.because).toBe('no run of this date has a result of extract');
    const whole = await plan(graph, 1, { jobs: ['extract'], downstream: true });
    expect(whole.jobs).toBeNull();
    expect(whole.dates[0]).toMatchObject({ action: 'create', source: null });
  });

  test('none, failed and all ask about the jobs, not about the run', async () => {
    const graph = await deploy();
    await run(graph, 1, {}, { check: failed });
    const actions = async (request: Partial<BackfillRequest>) => {
      const [date] = (await plan(graph, 1, request)).dates;
      return `${date!.action}: ${date!.because?.replace(/run \w{26}/, 'run R') ?? ''}`;
    };
    expect(await actions({ jobs: ['report'] })).toBe('skip: report succeeded in run R');
    expect(await actions({ jobs: ['report'], reprocess: 'failed' })).toBe(
      'skip: report succeeded in run R',
    );
    expect(await actions({ jobs: ['check'] })).toBe('skip: check failed in run R');
    expect(await actions({ jobs: ['check'], reprocess: 'failed' })).toBe(
      'rerun: check failed in run R',
    );
    expect(await actions({ jobs: ['report'], reprocess: 'all' })).toBe(
      'rerun: report succeeded in run R',
    );
    await run(graph, 1, { jobs: ['check'], reprocess: 'failed' });
    expect(await actions({ jobs: ['check'], reprocess: 'failed' })).toBe(
      'skip: check succeeded in run R',
    );
    // The whole is still as the last whole run left it.
    expect(await actions({ reprocess: 'failed' })).toBe('rerun: run R failed');
  });

  test('a job that is new in the graph is filled in by default', async () => {
    const graph = await deploy({ extract: [] });
    await run(graph, 2);
    const { definition } = graph;
    const [extract] = definition.jobs;
    const grown = {
      ...definition,
      jobs: [
        extract!,
        {
          ...extract!,
          id: 'summary',
          dependsOn: ['extract'],
          serveKey: `${graph.id}/summary/0`,
        },
      ],
    };
    await bench.store.deployDag(deployment(grown));
    const later = new Graph(bench, grown);
    const planned = await plan(later, 2, { jobs: ['summary'] });
    expect(planned.dates.map(({ action }) => action)).toEqual(['create', 'create']);
    expect((await run(later, 2, { jobs: ['summary'] })).jobs).toEqual(['summary', 'summary']);
    expect((await plan(later, 2, { jobs: ['summary'] })).dates[0]!.action).toBe('skip');
  });

  test('an unknown job is an error with the nearest name', async () => {
    const graph = await deploy();
    await expect(plan(graph, 1, { jobs: ['reprt'] })).rejects.toMatchObject({
      code: 'not-found',
      hint: 'Did you mean "report"?',
    });
    await expect(plan(graph, 1, { downstream: true })).rejects.toMatchObject({ code: 'option' });
    await expect(plan(graph, 1, { jobs: [] })).rejects.toMatchObject({ code: 'option' });
  });
});

describe('what runs', () => {
  test('only the part; its inputs are copies, and everything else is shown as left out', async () => {
    const graph = await deploy();
    const first = await bench.store.createBackfill({
      ...{ dagId: graph.id, from: day(1), to: day(2) },
    });
    await bench.store.feedBackfills();
    const extract = await graph.claimOne();
    await graph.finish(extract, { kind: 'succeeded', result: { rows: 3 } });
    await bench.store.propagate(extract.taskId);
    await finish(graph, first.id);
    const part = { jobs: ['convert', 'report'], reprocess: 'all' } as const;
    const { id, jobs } = await run(graph, 1, part);
    expect(jobs).toEqual(['convert', 'report']);
    expect(await bench.store.getBackfill(id)).toMatchObject({
      ...{ state: 'succeeded', succeeded: 1, jobs: ['convert', 'report'] },
    });
    const [made] = await bench.store.listRuns({ backfillId: id });
    expect(made).toMatchObject({ generation: 1, jobs: ['convert', 'report'] });
    expect(await graph.states(made!.id)).toEqual({
      ...{ extract: 'skipped', check: 'skipped', convert: 'succeeded', report: 'succeeded' },
    });
    checkClosedRun(await graph.view(made!.id));
    expect((await graph.task(made!.id, 'extract')).error?.message).toContain(extract.runId);
    expect((await graph.task(made!.id, 'check')).error?.message).toBe('not part of this run');
    const { results } = await bench.store.readInputs(made!.id, ['extract']);
    expect(results).toEqual([{ rows: 3 }]);
    // Its copies are as good as the results themselves, also once the first run is gone.
    await bench.collections.runs.deleteOne({ _id: extract.runId });
    await bench.collections.tasks.deleteMany({ runId: extract.runId });
    const again = await plan(graph, 1, part);
    expect(again.dates[0]).toMatchObject({ action: 'rerun', source: made!.id, generation: 2 });
    // Nor do they weigh on a retry: what is left out stays so.
    await bench.store.retryRun(made!.id, { jobs: ['convert'], downstream: true });
    await bench.store.feedBackfills();
    expect(await graph.work()).toEqual(['convert', 'report']);
    await expect(bench.store.retryRun(made!.id, { jobs: ['check'] })).rejects.toMatchObject({
      code: 'not-found',
    });
  });

  test('a failure in the part fails the run; what was left out does not', async () => {
    const graph = await deploy();
    await run(graph, 2, {}, { check: failed });
    const { id } = await run(graph, 2, { jobs: ['report'], reprocess: 'all' }, { report: failed });
    expect(await bench.store.getBackfill(id)).toMatchObject({ state: 'failed', failed: 2 });
    await audit(graph);
    const redo = await run(graph, 2, { jobs: ['report'], reprocess: 'failed' });
    expect(redo.jobs).toEqual(['report', 'report']);
    expect(await bench.store.getBackfill(redo.id)).toMatchObject({ succeeded: 2, skipped: 0 });
  });

  test('a join of more than a hundred of which a part runs', async () => {
    const many = Array.from({ length: 101 }, (_, n) => `up-${n}`);
    const graph = await deploy({
      ...Object.fromEntries(many.map((job) => [job, []])),
      join: many,
    });
    await run(graph, 1);
    const { jobs } = await run(graph, 1, { jobs: ['up-3', 'join'], reprocess: 'all' });
    expect(jobs).toEqual(['up-3', 'join']);
    expect((await run(graph, 1, { jobs: ['join'], reprocess: 'all' })).jobs).toEqual(['join']);
  });

  test('inputs that are gone when a date has its turn: it is passed over, and the backfill says so', async () => {
    const graph = await deploy();
    await run(graph, 1);
    const request = { jobs: ['report'], reprocess: 'all' } as const;
    const { id } = await bench.store.createBackfill({
      ...{ dagId: graph.id, from: day(1), to: day(2), ...request },
    });
    await bench.collections.runs.updateMany(
      { dagId: graph.id },
      { $set: { expireAt: new Date(Date.now() + 60_000) } },
    );
    await bench.store.feedBackfills();
    expect(await bench.store.getBackfill(id)).toMatchObject({
      ...{ state: 'succeeded', skipped: 1, succeeded: 0 },
      passedOver: [{ at: day(1), because: expect.stringMatching(/results of run \w+ are gone/) }],
    });
  });

  test('inputs that are gone when the tasks are made: what needs them is cancelled, never run', async () => {
    const graph = await deploy();
    await run(graph, 1);
    const [source] = await bench.store.listRuns({ dagId: graph.id });
    const slow = await bench.connect(async (operation, next) => {
      if (operation.collection === 'runs' && operation.method === 'bulkWrite') {
        await bench.collections.tasks.deleteMany({ runId: source!.id });
      }
      return next();
    });
    const { id } = await bench.store.createBackfill({
      ...{ dagId: graph.id, from: day(1), to: day(2), jobs: ['report'], reprocess: 'all' },
    });
    await slow.feedBackfills();
    expect(await finish(graph, id)).toEqual([]);
    expect(await bench.store.getBackfill(id)).toMatchObject({ state: 'failed', cancelled: 1 });
    const [made] = await bench.store.listRuns({ backfillId: id });
    expect((await graph.states(made!.id)).report).toBe('cancelled');
  });

  test('dying anywhere makes each run of a part once, with its inputs', async () => {
    const graph = await deploy();
    await run(graph, 30);
    let n = 0;
    const deaths = await atEveryDeath(bench, {
      async scene() {
        n += 1;
        return bench.store.createBackfill({
          ...{ dagId: graph.id, from: day(n), to: day(n + 1) },
          ...{ jobs: ['convert'], downstream: true, reprocess: 'all' },
        });
      },
      act: (store) => store.feedBackfills(),
      async check({ id }, where) {
        await bench.store.finishHalfMadeRuns(0);
        await bench.store.repairPlaces();
        expect(await finish(graph, id), where).toEqual(['convert', 'report']);
        const [made, ...others] = await bench.store.listRuns({ backfillId: id });
        expect(others, where).toEqual([]);
        const tasks = await bench.collections.tasks.find({ runId: made!.id }).toArray();
        expect(tasks.find((task) => task.jobId === 'extract')!.takenFrom, where).toBeDefined();
        await audit(graph, where);
      },
    });
    expect(deaths).toBeGreaterThan(10);
  }, 120_000);
});
