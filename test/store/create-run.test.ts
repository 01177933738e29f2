import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dateSlot, keySlot } from '../../packages/core/src/model/ids.js';
import { checkClosedRun, Graph, graphOf } from './graphs.js';
import { atEveryDeath, Bench, deployment } from './scheduling.js';

let bench: Bench;
let graph: Graph;
beforeAll(async () => {
  bench = await Bench.open();
  graph = await Graph.deploy(bench, { a: [], b: ['a'], c: ['b'] });
});
afterAll(() => bench.close());

describe('createRun', () => {
  it('makes one run of a slot, however many ask', async () => {
    const logicalDate = new Date('2026-01-01T00:00:00Z');
    const stores = [bench.store, await bench.connect(), await bench.connect()];
    const answers = await Promise.all(
      stores.flatMap((store) =>
        Array.from({ length: 5 }, () =>
          store.createRun({
            dagId: graph.id,
            cause: 'schedule',
            slot: dateSlot(logicalDate),
            logicalDate,
          }),
        ),
      ),
    );
    expect(answers.filter((one) => one.created)).toHaveLength(1);
    expect(new Set(answers.map((one) => one.runId)).size).toBe(1);
    expect(await bench.collections.runs.countDocuments({ dagId: graph.id })).toBe(1);
    expect(await bench.collections.tasks.countDocuments({ dagId: graph.id })).toBe(3);
  });

  it('remembers the slot of a client key after the run is gone', async () => {
    const slot = keySlot('order/4711 $x');
    const params = { dagId: graph.id, cause: 'api', slot } as const;
    const first = await bench.store.createRun(params);
    await bench.store.cancelRun(first.runId);
    await bench.collections.tasks.deleteMany({ runId: first.runId });
    await bench.collections.runs.deleteOne({ _id: first.runId });
    expect(await bench.store.createRun(params)).toEqual({ runId: first.runId, created: false });
    const stored = await bench.collections.slots.findOne({ runId: first.runId });
    const days = (stored!.expireAt!.getTime() - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(30);
  });

  it('is completed by its repetition, or by the leader, at every death', async () => {
    let key = 0;
    const deaths = await atEveryDeath(bench, {
      scene: async () => `key-${++key}`,
      act: (store, name) =>
        store.createRun({ dagId: graph.id, cause: 'api', slot: keySlot(name), params: { n: 1 } }),
      async check(name, where) {
        const isRepeated = key % 2 === 0;
        if (isRepeated) {
          await bench.store.createRun({
            dagId: graph.id,
            cause: 'api',
            slot: keySlot(name),
            params: { n: 1 },
          });
        } else {
          await bench.store.finishHalfMadeRuns(0);
        }
        const run = await bench.collections.runs.findOne({ slot: keySlot(name) });
        if (run === null) {
          expect(isRepeated).toBe(false);
          return;
        }
        expect([where, run.materialized]).toEqual([where, true]);
        expect(await bench.collections.tasks.countDocuments({ runId: run._id })).toBe(3);
      },
    });
    expect(deaths).toBeGreaterThanOrEqual(5);
    const dag = await Graph.deploy(bench, { a: [] });
    expect(await dag.work()).toEqual([]);
  });

  it('leaves a half-made run alone that is young, and never admits one', async () => {
    const half = await Graph.deploy(bench, { a: [] });
    const { runId } = await bench.store.createRun({ dagId: half.id, cause: 'manual' });
    await bench.collections.runs.updateOne({ _id: runId }, { $set: { materialized: false } });
    expect(await bench.store.admitRuns(half.id)).toEqual([]);
    expect(await bench.store.finishHalfMadeRuns(3_600_000)).toBe(0);
    expect(await bench.store.finishHalfMadeRuns(0)).toBe(1);
    expect(await bench.store.admitRuns(half.id)).toEqual([runId]);
    await half.work();
    checkClosedRun(await half.view(runId));
  });

  it('gives params back as they were', async () => {
    const params = { 'a.b': [1n], at: new Date(7), $where: '1', bytes: new Uint8Array([1]) };
    const { runId } = await bench.store.createRun({ dagId: graph.id, cause: 'api', params });
    expect((await bench.store.getRun(runId))?.params).toEqual(params);
    expect((await bench.store.readInputs(runId, [])).params).toEqual(params);
  });

  it('refuses what cannot be, and writes nothing for it', async () => {
    const before = await bench.collections.runs.countDocuments({});
    const create = (more: object) =>
      bench.store.createRun({ dagId: graph.id, cause: 'api', ...more });
    await expect(create({ dagId: 'nowhere' })).rejects.toMatchObject({ code: 'not-found' });
    await expect(create({ version: 'none' })).rejects.toMatchObject({ code: 'not-found' });
    await expect(create({ params: { f: () => 1 } })).rejects.toMatchObject({
      code: 'payload',
      path: 'params.f',
    });
    const retired = await Graph.deploy(bench, { a: [] });
    await bench.store.retireDag(retired.id, 'tests');
    await expect(create({ dagId: retired.id })).rejects.toMatchObject({ code: 'conflict' });
    expect(await bench.collections.runs.countDocuments({})).toBe(before);
  });

  it('stays on the version that it was created with', async () => {
    const versioned = await Graph.deploy(bench, { a: [], b: ['a'] });
    const runId = await versioned.start();
    await bench.store.deployDag(deployment(graphOf(versioned.id, { a: [], b2: ['a'], c: ['b2'] })));
    expect(await versioned.work()).toEqual(['a', 'b']);
    expect((await versioned.view(runId)).state).toBe('succeeded');
  });
});

describe('listing', () => {
  it('filters and pages, newest first', async () => {
    const listed = await Graph.deploy(bench, { a: [] }, { overlap: 'allow' });
    const made: string[] = [];
    for (let index = 0; index < 5; index++) {
      const logicalDate = new Date(Date.UTC(2026, 0, 1 + index));
      const { runId } = await bench.store.createRun({
        dagId: listed.id,
        cause: index < 2 ? 'schedule' : 'catch-up',
        slot: dateSlot(logicalDate),
        logicalDate,
      });
      made.unshift(runId);
    }
    const ids = async (filter: object) =>
      (await bench.store.listRuns({ dagId: listed.id, ...filter })).map((run) => run.id);
    expect(await ids({})).toEqual(made);
    expect(await ids({ limit: 2 })).toEqual(made.slice(0, 2));
    expect(await ids({ limit: 2, before: made[1]! })).toEqual(made.slice(2, 4));
    expect(await ids({ cause: ['schedule'] })).toEqual(made.slice(3));
    expect(
      await ids({
        logicalFrom: new Date('2026-01-02T00:00:00Z'),
        logicalTo: new Date('2026-01-04T00:00:00Z'),
      }),
    ).toEqual([made[2], made[3]]);
    await bench.store.cancelRun(made[0]!);
    expect(await ids({ state: ['cancelled'] })).toEqual([made[0]]);
    expect(await bench.store.countRuns(listed.id)).toEqual({ queued: 4, cancelled: 1 });
    expect(await bench.store.getRun('gone')).toBeNull();
    expect(await bench.store.viewRun('gone')).toBeNull();
  });
});

it('half-made runs that can never be whole keep none behind them from its turn', async () => {
  const other = await Bench.open();
  try {
    await other.deploy('sound');
    const { runId } = await other.store.createRun({ dagId: 'sound', cause: 'manual' });
    const { runs, tasks } = other.collections;
    await tasks.deleteMany({ runId });
    await runs.updateOne({ _id: runId }, { $set: { materialized: false } });
    const { _id, ...run } = (await runs.findOne({ _id: runId }))!;
    await runs.insertMany(
      Array.from({ length: 120 }, (_, index) => ({
        ...run,
        ...{ _id: `lost-${index}`, slot: `lost-${index}`, version: 'gone' },
        createdAt: new Date(index),
      })),
    );
    await expect(other.store.finishHalfMadeRuns(0)).rejects.toMatchObject({ code: 'not-found' });
    await expect(other.store.finishHalfMadeRuns(0)).rejects.toMatchObject({ code: 'not-found' });
    expect(await runs.findOne({ _id })).toMatchObject({ materialized: true });
  } finally {
    await other.close();
  }
});
