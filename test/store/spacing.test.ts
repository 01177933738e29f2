/** `misfire.spacing`: the least time between the starts of catch-up runs, however many outages, places and processes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DagDefinition } from '../../packages/core/src/model/definition.js';
import { atEveryDeath, Bench, minutesBefore } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

const spacingMs = 3_600_000;

/** A DAG that was away for three hours and a half, its catch-up runs made; no fire is within its grace, whenever this runs. */
async function behind(options: Partial<DagDefinition> = {}): Promise<string> {
  const id = bench.id('spaced');
  const misfire = { policy: 'catch-up', maxCatchUp: 100, spacingMs } as const;
  const first = minutesBefore(await bench.store.readServerTime(), 210);
  const schedule = { every: '1h', startAt: first.toISOString() };
  await bench.deploy(id, schedule, { misfire, maxActiveRuns: 10, ...options });
  await bench.rewind(id, first);
  await bench.settle(id);
  return id;
}

const runsOf = (dagId: string) =>
  bench.collections.runs.find({ dagId, cause: 'catch-up' }).sort({ logicalDate: 1 }).toArray();

/** All wait no longer than until now, as if the planned starts had slipped. */
async function slip(dagId: string): Promise<void> {
  const now = await bench.store.readServerTime();
  await bench.collections.runs.updateMany(
    { dagId, state: 'queued' },
    { $set: { dueAt: minutesBefore(now, 1), notBefore: null } },
  );
}

describe('catch-up runs with a spacing', () => {
  it('are planned apart, oldest first', async () => {
    const runs = await runsOf(await behind());
    expect(runs.length).toBeGreaterThanOrEqual(3);
    const first = runs[0]!;
    expect(first.notBefore).toBeNull();
    runs.slice(1).forEach((run, index) => {
      const planned = run.notBefore!.getTime() - (index + 1) * spacingMs;
      expect(Math.abs(planned - first.createdAt.getTime())).toBeLessThan(60_000);
    });
  });

  it('keep their distance where they start, whatever was planned and whoever admits', async () => {
    const id = await behind();
    await slip(id);
    const others = [bench.store, await bench.connect(), await bench.connect()];
    const admitted = await Promise.all(others.map((store) => store.admitRuns(id)));
    expect(admitted.flat()).toHaveLength(1);
    await bench.work(id);
    await slip(id);
    expect(await bench.store.admitRuns(id)).toEqual([]);
    const [oldest, second] = await runsOf(id);
    expect(oldest!.state).toBe('succeeded');
    const { lastCatchUp } = await bench.dag(id);
    expect(lastCatchUp?.runId).toBe(oldest!._id);
    expect(second!.dueAt).toEqual(new Date(lastCatchUp!.at.getTime() + spacingMs));
    // Its time has come.
    await bench.collections.dags.updateOne(
      { _id: id },
      { $set: { 'lastCatchUp.at': minutesBefore(lastCatchUp!.at, 61) } },
    );
    await slip(id);
    expect(await bench.store.admitRuns(id)).toEqual([second!._id]);
  });

  it('hold up nothing else', async () => {
    const id = await behind();
    expect(await bench.store.admitRuns(id)).toHaveLength(1);
    const { runId } = await bench.store.createRun({ dagId: id, cause: 'manual' });
    expect(await bench.store.admitRuns(id)).toEqual([runId]);
  });

  it('start at once without one', async () => {
    const id = await behind({ misfire: { policy: 'catch-up', maxCatchUp: 100 } });
    const { length } = await runsOf(id);
    expect(await bench.store.admitRuns(id)).toHaveLength(length);
    expect((await bench.dag(id)).lastCatchUp).toBeUndefined();
  });

  it('start one by one after any death of an admission', async () => {
    await atEveryDeath(bench, {
      async scene() {
        const id = await behind();
        await slip(id);
        return id;
      },
      act: (store, id) => store.admitRuns(id),
      async check(id, where) {
        await bench.store.repairPlaces();
        await bench.store.admitRuns(id);
        const states = (await runsOf(id)).map(({ state }) => state);
        expect(states.filter((state) => state !== 'queued').length, where).toBe(1);
      },
    });
  });
});
