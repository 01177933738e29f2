import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { atEveryDeath, Bench, betweenFires, minutesBefore } from './scheduling.js';

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench.close());

/** Its dates are far apart, so that none comes while the tests run. */
const everyDay = betweenFires(24);
const day = 24 * 60;

/** A DAG that was paused so many days ago; the dates of those days are inside the pause. */
async function pausedFor(days: number, options: Parameters<Bench['deploy']>[2] = {}) {
  const id = bench.id();
  await bench.deploy(id, everyDay, options);
  const { nextFireAt } = await bench.dag(id);
  await bench.store.pauseDag(id);
  const from = minutesBefore(nextFireAt!, days * day);
  const pausedAt = minutesBefore(from, 1);
  await bench.collections.dags.updateOne(
    { _id: id },
    { $set: { pausedAt, pausedSpans: [{ from: pausedAt, to: null, onResume: null }] } },
  );
  await bench.rewind(id, from);
  const dates = Array.from({ length: days }, (_, n) => minutesBefore(from, -n * day).toISOString());
  return { id, nextFireAt: nextFireAt!, dates };
}

describe('a pause', () => {
  test('opens a span in the database’s time; a second one changes nothing', async () => {
    const id = bench.id();
    await bench.deploy(id, everyDay);
    const before = await bench.store.readServerTime();
    expect(await bench.store.pauseDag(id)).toBe(true);
    const dag = await bench.dag(id);
    expect(dag.pausedAt! >= before && dag.pausedAt! <= (await bench.store.readServerTime())).toBe(
      true,
    );
    expect(dag.pausedSpans).toEqual([{ from: dag.pausedAt, to: null, onResume: null }]);
    expect(dag.scheduleRev).toBe(2);
    expect(await bench.store.pauseDag(id)).toBe(false);
    expect(await bench.dag(id)).toEqual(dag);
  });

  test('fires nothing while it lasts', async () => {
    const { id } = await pausedFor(3);
    expect(await bench.store.findDueDags(1_000)).not.toContain(id);
    expect(await bench.store.settleSchedule(id)).toEqual({ created: 0, recorded: 0, more: false });
    expect((await bench.ledger(id)).size).toBe(0);
  });

  test('settles first what was due before it, by the misfire policy', async () => {
    const id = bench.id();
    await bench.deploy(id, everyDay);
    const { nextFireAt } = await bench.dag(id);
    await bench.rewind(id, minutesBefore(nextFireAt!, 3 * day));
    await bench.store.pauseDag(id);
    const [run] = await bench.store.listRuns({ dagId: id });
    expect(run).toMatchObject({ coalesced: 3, logicalDate: minutesBefore(nextFireAt!, day) });
    expect(await bench.dag(id)).toMatchObject({ nextFireAt, pending: null });
  });

  test('of an unknown DAG is an error', async () => {
    await expect(bench.store.pauseDag('nobody')).rejects.toMatchObject({ code: 'not-found' });
    await expect(bench.store.resumeDag('nobody')).rejects.toMatchObject({ code: 'not-found' });
  });
});

describe('a resume', () => {
  test('skips what the pause held back, by default, and says so', async () => {
    const { id, dates, nextFireAt } = await pausedFor(3);
    expect(await bench.store.resumeDag(id)).toBe(true);
    expect(await bench.store.findDueDags(1_000)).toContain(id);
    await bench.settle(id);
    expect(await bench.ledger(id)).toEqual(new Map(dates.map((date) => [date, 'paused'])));
    // The span is behind the cursor: it decides nothing any more.
    expect(await bench.dag(id)).toMatchObject({ nextFireAt, pausedAt: null, pausedSpans: [] });
    expect(await bench.store.countFires(id)).toEqual({ paused: 3 });
    expect(await bench.store.resumeDag(id)).toBe(false);
  });

  test.each([
    ['latest', ['paused', 'paused', 'catch-up']],
    ['all', ['catch-up', 'catch-up', 'catch-up']],
  ] as const)('%s, as the DAG asks', async (onResume, expected) => {
    const { id, dates } = await pausedFor(3, { onResume });
    await bench.store.resumeDag(id);
    await bench.settle(id);
    const ledger = await bench.ledger(id);
    expect(dates.map((date) => ledger.get(date))).toEqual(expected);
  });

  test('may overrule the DAG for this span', async () => {
    const { id, dates } = await pausedFor(3, { onResume: 'all' });
    await bench.store.resumeDag(id, 'latest');
    await bench.settle(id);
    const ledger = await bench.ledger(id);
    expect(dates.map((date) => ledger.get(date))).toEqual(['paused', 'paused', 'catch-up']);
  });

  test('keeps two spans apart', async () => {
    const { id, dates } = await pausedFor(4);
    const dag = await bench.dag(id);
    const between = new Date(new Date(dates[1]!).getTime() + 60_000);
    await bench.collections.dags.updateOne(
      { _id: id },
      {
        $set: {
          pausedSpans: [
            { from: dag.pausedAt!, to: between, onResume: 'latest' },
            { from: minutesBefore(between, -day), to: null, onResume: null },
          ],
        },
      },
    );
    await bench.store.resumeDag(id);
    await bench.settle(id);
    const ledger = await bench.ledger(id);
    // The third date lies between the spans: the misfire policy has it.
    expect(dates.map((date) => ledger.get(date))).toEqual([
      'paused',
      'catch-up',
      'catch-up',
      'paused',
    ]);
  });
});

describe('two shells', () => {
  test('that pause at once open one span', async () => {
    const id = bench.id();
    await bench.deploy(id, everyDay);
    const stores = await Promise.all([bench.connect(), bench.connect(), bench.connect()]);
    const answers = await Promise.all(stores.map((store) => store.pauseDag(id)));
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect((await bench.dag(id)).pausedSpans).toHaveLength(1);
    const resumed = await Promise.all(stores.map((store) => store.resumeDag(id)));
    expect(resumed.filter(Boolean)).toHaveLength(1);
  });
});

describe('dying anywhere', () => {
  test('in a pause leaves the dates before it to be accounted for once', async () => {
    const deaths = await atEveryDeath(bench, {
      async scene() {
        const id = bench.id();
        await bench.deploy(id, everyDay, { misfire: { policy: 'skip', maxCatchUp: 1 } });
        const { nextFireAt } = await bench.dag(id);
        await bench.rewind(id, minutesBefore(nextFireAt!, 2 * day));
        return { id, nextFireAt: nextFireAt! };
      },
      act: (store, { id }) => store.pauseDag(id),
      async check({ id, nextFireAt }, where) {
        await bench.store.pauseDag(id);
        expect([...(await bench.ledger(id)).values()], where).toEqual(['skipped', 'skipped']);
        const dag = await bench.dag(id);
        expect(dag, where).toMatchObject({ nextFireAt, pending: null });
        expect(dag.pausedSpans, where).toHaveLength(1);
      },
    });
    expect(deaths).toBeGreaterThan(5);
  }, 180_000);

  test('in a resume and the settlement after it, too', async () => {
    const deaths = await atEveryDeath(bench, {
      scene: () => pausedFor(2, { onResume: 'latest' }),
      async act(store, { id }) {
        await store.resumeDag(id);
        await bench.settle(id, store);
      },
      async check({ id, dates, nextFireAt }, where) {
        await bench.store.resumeDag(id);
        await bench.settle(id);
        const ledger = await bench.ledger(id);
        expect(
          dates.map((date) => ledger.get(date)),
          where,
        ).toEqual(['paused', 'catch-up']);
        expect(await bench.dag(id), where).toMatchObject({
          nextFireAt,
          pending: null,
          pausedAt: null,
        });
      },
    });
    expect(deaths).toBeGreaterThan(5);
  }, 180_000);
});
