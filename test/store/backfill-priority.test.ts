import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bench, pastDaily } from './scheduling.js';

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench.close());

const day = (n: number) => new Date(Date.UTC(2026, 0, n));

/** A DAG whose backfill has this many tasks ready. */
async function backfilling(ready: number): Promise<string> {
  const dagId = bench.id('past');
  await bench.deploy(dagId, pastDaily, { maxActiveRuns: 10 });
  await bench.store.createBackfill({
    ...{ dagId, from: day(1), to: day(1 + ready), maxActive: ready },
  });
  await bench.store.feedBackfills();
  return dagId;
}

async function live(dagId: string): Promise<string> {
  const { runId } = await bench.store.createRun({ dagId, cause: 'manual' });
  await bench.store.admitRuns(dagId);
  return runId;
}

test('live work is claimed before that of backfills, in the same DAG and in others, whatever came first', async () => {
  const pasts = [await backfilling(6), await backfilling(6), await backfilling(6)];
  const [past] = pasts;
  const other = bench.id('now');
  await bench.deploy(other, undefined, { maxActiveRuns: 10 });
  const dags = [...pasts, other];
  const claim = async (limit: number) => {
    const tasks = await bench.store.claimTasks({
      ...{ runnerId: 'worker', serveKeys: dags.map((id) => `${id}/only/0`) },
      ...{ leaseMs: 60_000, limit },
    });
    return tasks.map((task) => (task.cause === 'backfill' ? 'backfill' : task.runId));
  };
  // Nothing else is there: the backfills have all of it.
  expect(await claim(2)).toEqual(['backfill', 'backfill']);
  for (let round = 0; round < 5; round++) {
    // Whatever pools the runner remembers, and wherever its rotation stands.
    const runId = await live(round % 2 === 0 ? other : past!);
    expect(await claim(1)).toEqual([runId]);
  }
  const both = [await live(other), await live(past!)];
  const four = await claim(4);
  expect(four.slice(0, 2).sort()).toEqual(both.sort());
  expect(four.slice(2)).toEqual(['backfill', 'backfill']);
});
