/** Fires that were decided before their instant: the same runs, and nothing where the world has changed in between. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectStore } from '../../packages/core/src/store/connect.js';
import type { OperationInterceptor } from '../../packages/core/src/store/intercept.js';
import type { Store } from '../../packages/core/src/store/store.js';
import { until } from '../support/until.ts';
import { atEveryDeath, Bench, betweenFires, minutesBefore } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

const everyDay = betweenFires(24);
/** Longer than any test takes. */
const anHour = 3_600_000;
const settled = { recorded: 0, failed: [], broken: [], notAdmitted: [] };

/** A DAG whose fire of this moment, or of some minutes ago, nobody has seen yet; its dates are a day apart. */
async function dueNow(minutesAgo = 0): Promise<{ id: string; dueAt: Date }> {
  const id = bench.id();
  const dueAt = minutesBefore(await bench.store.readServerTime(), minutesAgo);
  const startAt = new Date(dueAt.getTime() - 20 * 86_400_000).toISOString();
  await bench.deploy(id, { every: '24h', startAt }, { overlap: 'allow' });
  await bench.rewind(id, dueAt);
  return { id, dueAt };
}

const settle = (store: Store) => store.settleDue({ limit: 50 });

describe('a fire that was foreseen', () => {
  test('begins with the decision: nothing of its DAG is read when it is due', async () => {
    const { id, dueAt } = await dueNow();
    const seen: string[] = [];
    const watch: OperationInterceptor = (operation, run) => {
      seen.push(`${operation.method} ${operation.collection}`);
      return run();
    };
    const store = await bench.connect(watch);
    await store.foresee(dueAt, anHour);
    expect(seen).toContain('aggregate dags');
    seen.length = 0;
    expect(await settle(store)).toEqual({ ...settled, more: true });
    expect(seen.slice(0, 2)).toEqual(['bulkWrite dags', 'find slots']);
    expect([...(await bench.ledger(id))]).toEqual([[dueAt.toISOString(), 'schedule']]);
    expect((await bench.dag(id)).pending).toBeNull();
    const [run] = await bench.store.listRuns({ dagId: id });
    expect(run).toMatchObject({ state: 'running', coalesced: 1 });
    // It was for once: what else is due is found by looking.
    expect(await settle(store)).toEqual({ ...settled, more: false });
    expect(await bench.store.listRuns({ dagId: id })).toHaveLength(1);
  });

  test('is left alone when the DAG was paused, retired, changed or settled by another meanwhile', async () => {
    const changes: Record<string, (id: string) => Promise<unknown>> = {
      // The pause and the change settle by themselves what is due before them.
      paused: (id) => bench.store.pauseDag(id),
      retired: (id) => bench.store.retireDag(id, 'tests'),
      changed: (id) => bench.deploy(id, { every: '1h', startAt: '2026-01-01T00:30:00Z' }),
      settled: (id) => bench.settle(id),
    };
    for (const [what, change] of Object.entries(changes)) {
      const { id, dueAt } = await dueNow();
      const store = await bench.connect((_operation, run) => run());
      await store.foresee(dueAt, anHour);
      await change(id);
      const before = await bench.ledger(id);
      const dag = await bench.dag(id);
      await settle(store);
      expect(await bench.ledger(id), what).toEqual(before);
      expect([...before.keys()], what).toEqual([dueAt.toISOString()]);
      expect(await bench.dag(id), what).toMatchObject({
        nextFireAt: dag.nextFireAt,
        scheduleRev: dag.scheduleRev,
        pending: null,
      });
    }
  });

  test('is decided anew when it is later than was presumed, whatever this process believes', async () => {
    const { id, dueAt } = await dueNow(30);
    // Its clock stands still: it believes that the presumption holds.
    const store = await connectStore(bench.connection, { monotonicMs: () => 0 });
    try {
      const presumedMs = (await bench.store.readServerTime()).getTime() - dueAt.getTime() + 500;
      await store.foresee(dueAt, presumedMs);
      await until(
        'the end of the presumption',
        async () => (await bench.store.readServerTime()).getTime() >= dueAt.getTime() + presumedMs,
      );
      expect(await settle(store)).toEqual({ ...settled, more: true });
      expect(await bench.ledger(id)).toEqual(new Map());
      await settle(store);
      // Half an hour is more than its grace.
      expect([...(await bench.ledger(id)).values()]).toEqual(['catch-up']);
    } finally {
      await store.close();
    }
  });

  test('dies with its process without a trace, or leaves what any decision leaves', async () => {
    const deaths = await atEveryDeath(bench, {
      scene: () => dueNow(),
      async act(store, { dueAt }) {
        await store.foresee(dueAt, anHour);
        await settle(store);
      },
      async check({ id, dueAt }, where) {
        await settle(bench.store);
        await bench.store.finishHalfMadeRuns(0);
        await bench.store.admitRuns(id);
        const ledger = await bench.ledger(id);
        expect([...ledger.keys()], where).toEqual([dueAt.toISOString()]);
        const [run] = await bench.store.listRuns({ dagId: id });
        expect((await bench.store.viewRun(run!.id))!.tasks, where).toHaveLength(1);
      },
    });
    expect(deaths).toBeGreaterThan(6);
  }, 120_000);
});

test('what is no plain fire in time is not foreseen', async () => {
  const writes: string[] = [];
  const store = await bench.connect((operation, run) => {
    if (operation.isWrite) writes.push(operation.collection);
    return run();
  });
  const now = await bench.store.readServerTime();
  // Half of the time to the next fire is all the grace that it has.
  const frequent = bench.id('frequent');
  await bench.deploy(frequent, { every: '24h', startAt: now });
  await bench.rewind(frequent, now);
  await store.foresee(now, 13 * anHour);
  const many = bench.id('many');
  await bench.deploy(many, betweenFires(1));
  await bench.rewind(many, minutesBefore((await bench.dag(many)).nextFireAt!, 5 * 60));
  await store.foresee((await bench.dag(many)).nextFireAt!, 3 * anHour);
  const broken = bench.id('broken');
  await bench.deploy(broken, everyDay);
  await bench.collections.dagVersions.deleteOne({ dagId: broken });
  await bench.rewind(broken, now);
  await store.foresee(now, 100);
  expect(writes).toEqual([]);
  // Neither is forgotten: each is settled by looking.
  while ((await settle(store)).more);
  expect((await bench.dag(broken)).broken).not.toBeNull();
  expect([...(await bench.ledger(frequent)).values()]).toEqual(['schedule']);
  expect([...(await bench.ledger(many)).values()]).toEqual(['catch-up']);
});
