/**
 * Conclusions from what was not found, on a server that lets others write while it goes through an index: a document that moves in
 * it then may be passed over. The stores here get such answers for every index in which tasks and runners move.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Store } from '../../packages/core/src/store/store.js';
import { Graph } from './graphs.js';
import { Bench } from './scheduling.js';

let bench: Bench;
let passing: Store;
beforeAll(async () => {
  bench = await Bench.open();
  passing = await bench.connect(({ collection, method, args }, run) => {
    const [filter, options] = args as [{ runId?: unknown }?, { hint?: unknown }?];
    const isPassedOver =
      (collection === 'tasks' && filter?.runId !== undefined) ||
      (collection === 'runners' && options?.hint === undefined);
    if (isPassedOver && method === 'find') return Promise.resolve([]) as never;
    if (isPassedOver && method === 'findOne') return Promise.resolve(null) as never;
    return run();
  });
});
afterAll(() => bench.close());

it('every task of a run is shown, and an audit misses none', async () => {
  const graph = await Graph.deploy(bench, { a: [], b: ['a'] }, { overlap: 'allow' });
  const runs = [await graph.start(), await graph.start()];
  for (const runId of runs) {
    expect((await passing.viewRun(runId))?.tasks.map(({ jobId }) => jobId)).toEqual(['a', 'b']);
  }
  const { violations } = await passing.audit({ dagIds: [graph.id] });
  expect(violations).toEqual([]);
});

it('a run that has started in time is no missed start', async () => {
  const graph = await Graph.deploy(bench, { a: [] }, { expectWithin: { startMs: 60_000 } });
  const runId = await graph.start();
  await graph.claimOne();
  const past = new Date(Date.now() - 1_000);
  const { tasks, runs } = bench.collections;
  await tasks.updateOne({ runId }, { $set: { 'attempts.0.startedAt': new Date(0) } });
  await runs.updateOne(
    { _id: runId, 'expects.0.kind': 'start' },
    { $set: { 'expects.0.by': past } },
  );
  await passing.noticeMissed(100);
  expect((await runs.findOne({ _id: runId }))?.expects).toEqual([]);
  expect(await bench.store.countMissed(graph.id)).toEqual({});
});

it('a runner that is heard at this moment is there, and serves what it serves', async () => {
  const graph = await Graph.deploy(bench, { a: [] });
  await graph.start();
  const runner = 'living';
  await bench.store.registerRunner({
    ...{ id: runner, host: 'here', bootId: null, pidNamespace: null, pid: 1, processStart: null },
    ...{ serveKeys: graph.serveKeys, concurrency: 1 },
  });
  expect((await passing.listRunners()).map(({ id }) => id)).toEqual([runner]);
  const unserved = (await passing.findUnserved(100)).map(({ serveKey }) => serveKey);
  expect(unserved).not.toContain(graph.serveKeys[0]);
});
