import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeDefinition } from '../../packages/core/src/store/version-cache.js';
import { firesBetween } from '../../packages/core/src/time/schedule/fires.js';
import {
  atEveryDeath,
  Bench,
  betweenFires,
  definitionOf,
  deployment,
  minutesBefore,
} from './scheduling.js';

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.open();
});

afterAll(() => bench.close());

/** Never due by themselves while the tests run. */
const everyHour = betweenFires(1);
const everyDay = betweenFires(24);

/** Takes the cursor of an hourly DAG back over its last `count` dates; answers the first and the last of them. */
async function missHours(id: string, count: number): Promise<{ oldest: Date; newest: Date }> {
  const { nextFireAt } = await bench.dag(id);
  const oldest = minutesBefore(nextFireAt!, count * 60);
  await bench.rewind(id, oldest);
  return { oldest, newest: minutesBefore(nextFireAt!, 60) };
}

describe('a schedule with nothing due', () => {
  test('is not written', async () => {
    const id = bench.id();
    await bench.deploy(id, everyDay);
    const before = await bench.dag(id);
    expect(before.nextFireAt! > before.deployedAt).toBe(true);
    expect(await bench.store.settleSchedule(id)).toEqual({ created: 0, recorded: 0, more: false });
    expect(await bench.dag(id)).toEqual(before);
    expect(await bench.ledger(id)).toEqual(new Map());
  });

  test('of an unknown DAG is an error', async () => {
    await expect(bench.store.settleSchedule('nobody')).rejects.toMatchObject({ code: 'not-found' });
  });
});

describe('a fire within grace', () => {
  test('becomes one run in the slot of its date; settling again changes nothing', async () => {
    const id = bench.id();
    await bench.deploy(id, everyDay, {
      misfire: { policy: 'coalesce', maxCatchUp: 100, graceMs: 2 * 86_400_000 },
    });
    const next = (await bench.dag(id)).nextFireAt!;
    const due = minutesBefore(next, 24 * 60);
    await bench.rewind(id, due);
    expect(await bench.store.findDueDags(100)).toContain(id);
    expect(await bench.store.settleSchedule(id)).toEqual({ created: 1, recorded: 0, more: false });
    const [run] = await bench.store.listRuns({ dagId: id });
    expect(run).toMatchObject({
      cause: 'schedule',
      slot: `d:${due.toISOString()}/0`,
      logicalDate: due,
      dataInterval: { from: minutesBefore(due, 24 * 60), to: due },
      coalesced: 1,
      generation: 0,
    });
    expect(await bench.dag(id)).toMatchObject({ nextFireAt: next, pending: null, carry: null });
    expect(await bench.store.findDueDags(100)).not.toContain(id);
    expect(await bench.store.settleSchedule(id)).toEqual({ created: 0, recorded: 0, more: false });
  });
});

describe('a one-shot', () => {
  test('whose instant nobody saw runs once, late, and is over', async () => {
    const id = bench.id();
    const now = await bench.store.readServerTime();
    await bench.deploy(id, { at: minutesBefore(now, -24 * 60) });
    const missed = minutesBefore(now, 24 * 60);
    const past = definitionOf(id, { at: missed });
    await bench.store.deployDag(deployment(past));
    // Deployed when it was over: it owes nothing.
    expect((await bench.dag(id)).nextFireAt).toBeNull();
    await bench.rewind(id, missed);
    expect(await bench.store.settleSchedule(id)).toEqual({ created: 1, recorded: 0, more: false });
    expect((await bench.dag(id)).nextFireAt).toBeNull();
    expect(await bench.store.findDueDags(1_000)).not.toContain(id);
    expect(await bench.ledger(id)).toEqual(new Map([[missed.toISOString(), 'catch-up']]));
  });
});

describe('a one-shot that came due while no runner was there', () => {
  test.each([
    ['coalesce', 'catch-up'],
    ['catch-up', 'catch-up'],
    ['skip', 'skipped'],
  ] as const)('%s: %s, once, and then the schedule is over', async (policy, becomes) => {
    const id = bench.id();
    const now = await bench.store.readServerTime();
    const at = minutesBefore(now, -60 * 24);
    await bench.deploy(id, { at }, { misfire: { policy, maxCatchUp: 100 } });
    const past = minutesBefore(now, 60);
    const definition = definitionOf(id, { at: past }, { misfire: { policy, maxCatchUp: 100 } });
    await bench.collections.dagVersions.updateOne(
      { _id: `${id}/${(await bench.dag(id)).version}` },
      { $set: { definition: await encodeDefinition(definition) } },
    );
    await bench.rewind(id, past);
    // A leader that comes an hour later, with nothing read before.
    const leader = await bench.connect();
    await bench.settle(id, leader);
    await bench.settle(id, leader);
    expect(await bench.ledger(id)).toEqual(new Map([[past.toISOString(), becomes]]));
    expect((await bench.dag(id)).nextFireAt).toBeNull();
  });
});

describe('112 hours without a runner', () => {
  async function back(misfire: Parameters<typeof definitionOf>[2]) {
    const id = bench.id();
    await bench.deploy(id, everyHour, misfire);
    const { oldest, newest } = await missHours(id, 112);
    await bench.settle(id);
    const { nextFireAt } = await bench.dag(id);
    expect(nextFireAt! > newest).toBe(true);
    return { id, oldest, newest, ledger: await bench.ledger(id) };
  }

  test('coalesce: one run, at the newest date, for all of them', async () => {
    const { id, oldest, newest } = await back({ misfire: { policy: 'coalesce', maxCatchUp: 100 } });
    const runs = await bench.store.listRuns({ dagId: id });
    expect(runs).toMatchObject([
      {
        logicalDate: newest,
        dataInterval: { from: minutesBefore(oldest, 60), to: newest },
        coalesced: 112,
      },
    ]);
    expect(await bench.store.countFires(id)).toEqual({});
  });

  test('catch-up: the newest hundred run, oldest first; the rest are capped', async () => {
    const { id, ledger } = await back({ misfire: { policy: 'catch-up', maxCatchUp: 100 } });
    expect(await bench.store.countFires(id)).toEqual({ capped: 12 });
    const runs = await bench.store.listRuns({ dagId: id, limit: 200 });
    expect(runs).toHaveLength(100);
    expect(new Set(runs.map((run) => run.cause))).toEqual(new Set(['catch-up']));
    expect(ledger.size).toBe(112);
    const oldestFirst = [...runs].sort((a, b) => (a.id < b.id ? -1 : 1));
    const dates = oldestFirst.map((run) => run.logicalDate!.getTime());
    expect(dates).toEqual([...dates].sort((a, b) => a - b));
  });

  test('skip: none of the misfires runs, each is written down', async () => {
    const { id, ledger } = await back({ misfire: { policy: 'skip', maxCatchUp: 100 } });
    expect(await bench.store.listRuns({ dagId: id })).toEqual([]);
    // More than a hundred in a row are one span.
    expect(ledger.size).toBe(1);
    const [span] = await bench.store.listFires(id);
    expect(span).toMatchObject({ dagId: id, reason: 'skipped', count: 112, runId: null });
  });
});

describe('an outage longer than one batch', () => {
  test('coalesce over several batches is still one run', async () => {
    const id = bench.id();
    await bench.deploy(id, everyHour);
    const { oldest } = await missHours(id, 2_500);
    expect(await bench.store.settleSchedule(id)).toMatchObject({ created: 0, more: true });
    // What is left open is stored with the cursor: another process goes on with it.
    const other = await bench.connect();
    expect((await bench.dag(id)).carry).toMatchObject({ folding: { count: 1_000 } });
    await bench.settle(id, other);
    const runs = await bench.store.listRuns({ dagId: id, limit: 100 });
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({ coalesced: 2_500, cause: 'catch-up' });
    expect(runs[0]!.dataInterval!.from).toEqual(minutesBefore(oldest, 60));
    expect((await bench.dag(id)).carry).toBeNull();
  });

  test('catch-up over several batches keeps its cap', async () => {
    const id = bench.id();
    await bench.deploy(id, everyHour, { misfire: { policy: 'catch-up', maxCatchUp: 7 } });
    await missHours(id, 2_200);
    await bench.settle(id);
    expect(await bench.store.listRuns({ dagId: id, cause: ['catch-up'] })).toHaveLength(7);
    expect(await bench.store.countFires(id)).toEqual({ capped: 2_193 });
  });

  test('skip over several batches is a few spans whose counts add up', async () => {
    const id = bench.id();
    await bench.deploy(id, everyHour, { misfire: { policy: 'skip', maxCatchUp: 1 } });
    await missHours(id, 2_200);
    await bench.settle(id);
    expect(await bench.store.listRuns({ dagId: id })).toEqual([]);
    expect(await bench.store.countFires(id)).toEqual({ skipped: 2_200 });
    expect((await bench.ledger(id)).size).toBeLessThan(20);
  });
});

describe('a schedule that cannot be evaluated', () => {
  async function breakSchedule(id: string): Promise<void> {
    // A version as an older release or another machine's time zone data might have left it.
    const definition = definitionOf(id, everyHour);
    const broken = {
      ...definition,
      schedule: { ...definition.schedule!, timeZone: 'Mars/Olympus' },
    };
    const other = await bench.connect();
    const good = deployment(definition);
    await other.deployDag(good);
    const { encodeDefinition, versionKey } = await import(
      '../../packages/core/src/store/version-cache.js'
    );
    await bench.collections.dagVersions.updateOne(
      { _id: versionKey(id, good.version) },
      { $set: { definition: await encodeDefinition(broken) } },
    );
  }

  test('is marked and written down, and does not stop the others', async () => {
    const [broken, sound] = [bench.id('broken'), bench.id('sound')];
    await breakSchedule(broken);
    await bench.deploy(sound, everyHour);
    await missHours(sound, 3);
    const { oldest: due } = await missHours(broken, 3);
    const found = await bench.store.findDueDags(1_000);
    expect(found).toEqual(expect.arrayContaining([broken, sound]));
    for (const id of found) await bench.settle(id);
    const dag = await bench.store.getDag(broken);
    expect(dag!.broken).toContain('Mars/Olympus');
    expect(await bench.ledger(broken)).toEqual(new Map([[due.toISOString(), 'broken']]));
    expect((await bench.ledger(sound)).size).toBe(1);
    expect(await bench.store.findDueDags(1_000)).not.toContain(broken);
    // A sound version brings it back, from the present.
    const fixed = definitionOf(broken, everyHour, { description: 'fixed' });
    expect(await bench.store.deployDag(deployment(fixed))).toMatchObject({ change: 'changed' });
    const healed = await bench.dag(broken);
    expect(healed.broken).toBeNull();
    expect(healed.nextFireAt! > healed.deployedAt).toBe(true);
  });

  test('neither does a version that is not there', async () => {
    const id = bench.id();
    await bench.deploy(id, everyHour);
    await missHours(id, 3);
    await bench.collections.dags.updateOne({ _id: id }, { $set: { version: 'gone' } });
    await bench.settle(id);
    expect((await bench.store.getDag(id))!.broken).toContain('gone');
  });
});

describe('several processes', () => {
  test('that settle at once make each date once', async () => {
    const id = bench.id();
    await bench.deploy(id, everyHour, { misfire: { policy: 'catch-up', maxCatchUp: 12 } });
    await missHours(id, 20);
    const stores = await Promise.all([bench.connect(), bench.connect(), bench.connect()]);
    await Promise.all([...stores, ...stores].map((store) => bench.settle(id, store)));
    await bench.settle(id);
    const ledger = await bench.ledger(id);
    expect(ledger.size).toBe(20);
    expect([...ledger.values()].filter((what) => what === 'catch-up').length).toBe(12);
    expect((await bench.dag(id)).pending).toBeNull();
  });

  test('a decision is carried out as it stands, whatever the policy has become', async () => {
    const id = bench.id();
    const definition = await bench.deploy(id, everyDay);
    const { version } = deployment(definition);
    const { nextFireAt } = await bench.dag(id);
    const from = minutesBefore(nextFireAt!, 24 * 60 * 3);
    await bench.rewind(id, from);
    // Made by a process that has died since: two runs, where the policy would coalesce into one.
    const run = (days: number) => {
      const logicalDate = new Date(from.getTime() + days * 86_400_000);
      const dataInterval = { from: minutesBefore(logicalDate, 24 * 60), to: logicalDate };
      return {
        logicalDate,
        dueAt: logicalDate,
        dataInterval,
        cause: 'catch-up',
        coalesced: 1,
        notBefore: null,
      } as const;
    };
    await bench.collections.dags.updateOne(
      { _id: id },
      {
        $set: {
          pending: {
            from,
            decidedAt: new Date(from.getTime() + 1),
            version,
            runs: [run(0), run(1)],
            lines: [
              { from: run(2).logicalDate, to: run(2).logicalDate, count: 1, reason: 'capped' },
            ],
            next: nextFireAt,
            nextJitterMs: 0,
            carry: null,
            broken: null,
          },
        },
      },
    );
    expect(await bench.store.findDueDags(100)).toContain(id);
    expect(await bench.store.settleSchedule(id)).toEqual({ created: 2, recorded: 1, more: false });
    expect([...(await bench.ledger(id)).values()]).toEqual(['catch-up', 'catch-up', 'capped']);
    expect(await bench.dag(id)).toMatchObject({ pending: null, nextFireAt });
  });
});

describe('dying anywhere in a settlement', () => {
  test('leaves every date to be accounted for exactly once', async () => {
    const deaths = await atEveryDeath(bench, {
      async scene() {
        const id = bench.id();
        await bench.deploy(id, everyDay, { misfire: { policy: 'catch-up', maxCatchUp: 2 } });
        const { nextFireAt } = await bench.dag(id);
        await bench.rewind(id, minutesBefore(nextFireAt!, 4 * 24 * 60));
        return { id, nextFireAt: nextFireAt! };
      },
      act: (store, { id }) => bench.settle(id, store),
      async check({ id, nextFireAt }, where) {
        const due = await bench.store.findDueDags(1_000);
        if (due.includes(id)) await bench.settle(id);
        await bench.store.finishHalfMadeRuns(0);
        const ledger = await bench.ledger(id);
        expect([...ledger.values()].sort(), where).toEqual([
          'capped',
          'capped',
          'catch-up',
          'catch-up',
        ]);
        const { schedule } = (await bench.store.getVersion(id, (await bench.dag(id)).version))!;
        const dates = firesBetween(schedule!, minutesBefore(nextFireAt, 4 * 24 * 60), nextFireAt);
        expect([...ledger.keys()].sort(), where).toEqual(dates.map((date) => date.toISOString()));
        expect(await bench.dag(id), where).toMatchObject({
          nextFireAt,
          pending: null,
          carry: null,
        });
        for (const run of await bench.store.listRuns({ dagId: id })) {
          expect((await bench.store.viewRun(run.id))!.tasks, where).toHaveLength(1);
        }
      },
    });
    expect(deaths).toBeGreaterThan(5);
  }, 180_000);
});

describe('what the leader asks', () => {
  test('a jittered fire is due when its jitter is over, and the scheduler wakes then', async () => {
    const other = await Bench.open();
    try {
      expect(await other.store.earliestFireAt()).toBeNull();
      await other.deploy('jittered', everyDay);
      const now = await other.store.readServerTime();
      const logical = minutesBefore(now, 1);
      await other.collections.dags.updateOne(
        { _id: 'jittered' },
        { $set: { nextFireAt: logical, nextJitterMs: 600_000 } },
      );
      await other.deploy('later', everyDay);
      const sooner = new Date(now.getTime() + 240_000);
      await other.rewind('later', sooner);
      expect(await other.store.findDueDags(10)).toEqual([]);
      expect(await other.store.earliestFireAt()).toEqual(sooner);
      await other.rewind('later', new Date(now.getTime() + 900_000));
      expect(await other.store.earliestFireAt()).toEqual(new Date(logical.getTime() + 600_000));
    } finally {
      await other.close();
    }
  });

  test('what is due together is settled and admitted together, and told by name; a rehearsal has read the versions', async () => {
    const other = await Bench.open();
    try {
      const ids = ['one', 'two', 'three', 'paused'];
      for (const id of ids) await other.deploy(id, everyDay, { overlap: 'allow' });
      const seen: string[] = [];
      const store = await other.connect((operation, run) => {
        seen.push(`${operation.method} ${operation.collection}${operation.isWrite ? '!' : ''}`);
        return run();
      });
      await store.rehearseSettling(10);
      expect(seen.filter((one) => one.endsWith('!'))).toEqual([]);
      expect(seen.filter((one) => one.includes('dagVersions'))).toEqual(['find dagVersions']);
      await other.store.pauseDag('paused');
      for (const id of ids) {
        await other.rewind(id, minutesBefore((await other.dag(id)).nextFireAt!, 24 * 60));
      }
      seen.length = 0;
      const ready: string[] = [];
      const settled = await store.settleDue({
        limit: 10,
        onReady: (tasks) => ready.push(...(tasks ?? []).map((task) => task.taskId)),
      });
      expect(settled).toEqual({
        recorded: 0,
        more: false,
        failed: [],
        broken: [],
        notAdmitted: [],
      });
      expect(seen.filter((one) => one.includes('dagVersions'))).toEqual([]);
      // Decided; made; their tasks; places, for they are late; begun, which also marks them; roots ready; so marked; the cursors.
      expect(seen.filter((one) => one.endsWith('!'))).toEqual([
        'bulkWrite dags!',
        'bulkWrite runs!',
        'insertMany tasks!',
        'bulkWrite dags!',
        'updateMany runs!',
        'updateMany tasks!',
        'updateMany runs!',
        'bulkWrite dags!',
      ]);
      const runs = await store.listRuns({ state: ['running'] });
      expect(runs.map((run) => run.dagId).sort()).toEqual(['one', 'three', 'two']);
      const tasks = await other.collections.tasks.find({ state: 'ready' }).toArray();
      expect(ready.sort()).toEqual(tasks.map((task) => task._id).sort());
    } finally {
      await other.close();
    }
  });

  test('a deposed leader settles nothing more', async () => {
    const id = bench.id();
    await bench.deploy(id, everyHour);
    await missHours(id, 1);
    await bench.store.settleDue({ limit: 10, mayGoOn: () => false });
    expect(await bench.store.listRuns({ dagId: id })).toEqual([]);
    await bench.settle(id);
    expect(await bench.store.listRuns({ dagId: id })).toHaveLength(1);
  });

  test('both questions are answered from an index, however many DAGs are paused, retired or not due', async () => {
    const { dags } = bench.collections;
    const now = await bench.store.readServerTime();
    const filter = {
      state: 'active',
      pausedAt: null,
      broken: null,
      nextFireAt: { $gt: new Date(0), $lte: minutesBefore(now, 60) },
    } as const;
    const template = await bench.dag((await bench.store.listDags())[0]!.id);
    const copies = Array.from({ length: 300 }, (_, index) => ({
      ...template,
      _id: `copy-${index}`,
      state: index % 3 === 0 ? ('retired' as const) : ('active' as const),
      pausedAt: index % 3 === 1 ? now : null,
      broken: null,
      pending: null,
      nextFireAt: index % 3 === 2 ? new Date(now.getTime() + 3_600_000) : minutesBefore(now, 120),
    }));
    await dags.insertMany(copies);
    const plan = await dags
      .find(filter)
      .sort({ nextFireAt: 1 })
      .limit(10)
      .explain('executionStats');
    const stats = plan.executionStats as { totalDocsExamined: number; totalKeysExamined: number };
    expect(stats.totalDocsExamined).toBeLessThanOrEqual(10);
    expect(stats.totalKeysExamined).toBeLessThanOrEqual(20);
    await dags.deleteMany({ _id: /^copy-/ });
  });
});
