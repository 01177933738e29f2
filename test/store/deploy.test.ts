import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dateSlot } from '../../packages/core/src/model/ids.js';
import type { OperationInterceptor } from '../../packages/core/src/store/intercept.js';
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

const everyDay = betweenFires(24);
/** Other instants than {@link everyDay}: none of either comes while the tests run, but for those that are set. */
const everyWeek = betweenFires(7 * 24, 500);
const day = 24 * 60;
const reads = new Set(['find', 'findOne', 'aggregate', 'countDocuments']);

/** The document as bytes would show it: with the order of its fields. */
async function bytesOf(id: string): Promise<string> {
  return JSON.stringify(await bench.dag(id));
}

async function storeThatCounts() {
  const writes: string[] = [];
  const intercept: OperationInterceptor = (operation, run) => {
    if (!reads.has(operation.method)) writes.push(`${operation.collection}.${operation.method}`);
    return run();
  };
  return { store: await bench.connect(intercept), writes };
}

describe('a first deploy', () => {
  test('stores the version and starts at the present', async () => {
    const definition = definitionOf(bench.id(), everyDay);
    const { version } = deployment(definition);
    expect(await bench.store.planDeploy(deployment(definition))).toEqual({
      change: 'added',
      previousVersion: null,
      openRuns: 0,
    });
    expect(await bench.store.getDag(definition.id)).toBeNull();
    expect(await bench.store.deployDag(deployment(definition))).toEqual({
      change: 'added',
      previousVersion: null,
      openRuns: 0,
    });
    const dag = (await bench.store.getDag(definition.id))!;
    expect(dag).toMatchObject({ project: 'tests', version, state: 'active', broken: null });
    expect(dag.nextFireAt! > dag.deployedAt).toBe(true);
    expect(minutesBefore(dag.nextFireAt!, day) <= dag.deployedAt).toBe(true);
    expect(await bench.store.getVersion(definition.id, version)).toEqual(definition);
    expect(await bench.store.getVersion(definition.id, 'other')).toBeNull();
    expect((await bench.ledger(definition.id)).size).toBe(0);
  });

  test('without a schedule has no cursor', async () => {
    const id = bench.id();
    await bench.deploy(id);
    expect((await bench.dag(id)).nextFireAt).toBeNull();
  });

  test('refuses an id that could not be a part of a key', async () => {
    const definition = definitionOf('a/b');
    await expect(bench.store.deployDag(deployment(definition))).rejects.toMatchObject({
      code: 'option',
    });
  });
});

describe('an unchanged deploy', () => {
  test('writes nothing at all, also when something is due', async () => {
    const id = bench.id();
    const definition = await bench.deploy(id, everyDay);
    const { store, writes } = await storeThatCounts();
    await bench.rewind(id, minutesBefore((await bench.dag(id)).nextFireAt!, 5 * day));
    const before = await bytesOf(id);
    for (let times = 0; times < 3; times += 1) {
      expect(await store.deployDag(deployment(definition))).toMatchObject({ change: 'unchanged' });
    }
    expect(writes).toEqual([]);
    expect(await bytesOf(id)).toBe(before);
    expect(await bench.collections.dagVersions.countDocuments({ dagId: id })).toBe(1);
  });
});

describe('changed code under an unchanged schedule', () => {
  test('keeps cursor, revision and pause; what is owed goes to the new version', async () => {
    const id = bench.id();
    const definition = await bench.deploy(id, everyDay);
    const from = minutesBefore((await bench.dag(id)).nextFireAt!, day);
    await bench.rewind(id, from);
    const before = await bench.dag(id);
    const next = { ...definition, description: 'changed' };
    expect(await bench.store.deployDag(deployment(next))).toEqual({
      change: 'changed',
      previousVersion: before.version,
      openRuns: 0,
    });
    const { version, deployedAt } = await bench.dag(id);
    expect(await bench.dag(id)).toEqual({ ...before, version, deployedAt });
    expect(version).toBe(deployment(next).version);
    await bench.settle(id);
    expect((await bench.store.listRuns({ dagId: id }))[0]).toMatchObject({
      version,
      logicalDate: from,
    });
  });

  test('leaves open runs under their own version, and says how many there are', async () => {
    const id = bench.id();
    const definition = await bench.deploy(id);
    await bench.store.createRun({ dagId: id, cause: 'manual' });
    const result = await bench.store.deployDag(
      deployment({ ...definition, description: 'changed' }),
    );
    expect(result).toMatchObject({ change: 'changed', openRuns: 1 });
    expect((await bench.store.listRuns({ dagId: id }))[0]!.version).toBe(
      deployment(definition).version,
    );
  });
});

describe('a changed schedule', () => {
  async function changeWhileOwing(options: Parameters<typeof definitionOf>[2] = {}) {
    const id = bench.id();
    const definition = await bench.deploy(id, everyDay);
    const { nextFireAt } = await bench.dag(id);
    await bench.rewind(id, minutesBefore(nextFireAt!, 3 * day));
    const next = definitionOf(id, everyWeek, options);
    expect(await bench.store.deployDag(deployment(next))).toMatchObject({ change: 'changed' });
    return { id, old: deployment(definition), next: deployment(next), nextFireAt: nextFireAt! };
  }

  test('settles what the old one owes under the old one and starts at the present', async () => {
    const { id, old, next, nextFireAt } = await changeWhileOwing({
      misfire: { policy: 'catch-up', maxCatchUp: 100 },
    });
    const runs = await bench.store.listRuns({ dagId: id });
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({
      version: old.version,
      coalesced: 3,
      logicalDate: minutesBefore(nextFireAt, day),
    });
    const dag = await bench.dag(id);
    expect(dag).toMatchObject({ version: next.version, scheduleRev: 2, pending: null });
    expect(dag.nextFireAt! > dag.deployedAt).toBe(true);
    expect(await bench.store.findDueDags(1_000)).not.toContain(id);
  });

  test('counts a changed policy as one, and keeps the cursor then', async () => {
    const id = bench.id();
    const definition = await bench.deploy(id, everyDay);
    const { nextFireAt } = await bench.dag(id);
    await bench.rewind(id, minutesBefore(nextFireAt!, 2 * day));
    const misfire = { policy: 'skip', maxCatchUp: 1 } as const;
    await bench.store.deployDag(deployment({ ...definition, misfire }));
    expect(await bench.dag(id)).toMatchObject({ nextFireAt, scheduleRev: 2 });
    expect((await bench.store.listRuns({ dagId: id }))[0]).toMatchObject({ coalesced: 2 });
  });

  /** A DAG whose next date was `minutesAgo`, and which comes due at least an hour after its date. */
  async function jitteredSince(minutesAgo: number) {
    const { jitterOf } = await import('../../packages/core/src/time/schedule/jitter.js');
    const logical = minutesBefore(await bench.store.readServerTime(), minutesAgo);
    const startAt = minutesBefore(logical, 100 * day).toISOString();
    const jittered = { every: '1d', startAt, jitter: '11h' };
    // Jitter follows from the id: one whose jitter is long.
    let id: string;
    let dueAt: Date;
    do {
      id = bench.id();
      const { schedule } = definitionOf(id, jittered);
      dueAt = new Date(logical.getTime() + jitterOf(schedule!, id, logical));
    } while (minutesBefore(dueAt, 60) < logical);
    await bench.deploy(id, jittered);
    await bench.collections.dags.updateOne(
      { _id: id },
      { $set: { nextFireAt: logical, nextJitterMs: dueAt.getTime() - logical.getTime() } },
    );
    return { id, logical, dueAt };
  }

  test('runs a date whose jitter was not over, when it is over', async () => {
    const { id, logical, dueAt } = await jitteredSince(1);
    await bench.store.deployDag(deployment(definitionOf(id, everyWeek)));
    const [run] = await bench.store.listRuns({ dagId: id });
    expect(run!.logicalDate).toEqual(logical);
    expect(run!.notBefore).toEqual(dueAt);
  });

  test('during a pause settles what the pause has held back; the pause goes on', async () => {
    const id = bench.id();
    await bench.deploy(id, everyDay, { onResume: 'latest' });
    const { nextFireAt } = await bench.dag(id);
    await bench.store.pauseDag(id);
    const from = minutesBefore(nextFireAt!, 2 * day);
    const pausedAt = minutesBefore(from, 1);
    await bench.collections.dags.updateOne(
      { _id: id },
      { $set: { pausedAt, pausedSpans: [{ from: pausedAt, to: null, onResume: null }] } },
    );
    await bench.rewind(id, from);
    await bench.store.deployDag(deployment(definitionOf(id, everyWeek)));
    expect([...(await bench.ledger(id)).values()].sort()).toEqual(['catch-up', 'paused']);
    const dag = await bench.dag(id);
    expect(dag.pausedAt).toEqual(pausedAt);
    expect(dag.nextFireAt! > dag.deployedAt).toBe(true);
  });

  test.each([
    ['that its jitter has reached', 12 * 60],
    ['that its jitter has not reached', 30],
  ])('during a pause holds back a date from before it %s', async (_what, minutesAgo) => {
    const { id, logical, dueAt } = await jitteredSince(minutesAgo);
    // Paused after the date, before it came due: the pause has it.
    const pausedAt = minutesBefore(dueAt, 45);
    await bench.collections.dags.updateOne(
      { _id: id },
      { $set: { pausedAt, pausedSpans: [{ from: pausedAt, to: null, onResume: null }] } },
    );
    await bench.store.deployDag(deployment(definitionOf(id, everyWeek)));
    expect(await bench.ledger(id)).toEqual(new Map([[logical.toISOString(), 'paused']]));
    expect((await bench.dag(id)).pausedAt).toEqual(pausedAt);
  });

  test('only of the policy leaves what a pause holds back to its resume', async () => {
    const id = bench.id();
    const definition = await bench.deploy(id, everyDay);
    const { nextFireAt } = await bench.dag(id);
    await bench.store.pauseDag(id);
    const from = minutesBefore(nextFireAt!, 2 * day);
    await bench.rewind(id, from);
    await bench.store.deployDag(deployment({ ...definition, onResume: 'all' }));
    expect((await bench.ledger(id)).size).toBe(0);
    expect((await bench.dag(id)).nextFireAt).toEqual(from);
  });
});

describe('a change of the policy inside a pause', () => {
  test('ends what a change of the schedule began there and did not live to end', async () => {
    const id = bench.id();
    const hourly = betweenFires(1);
    await bench.deploy(id, hourly, { onResume: 'all' });
    await bench.store.pauseDag(id);
    const now = await bench.store.readServerTime();
    const { nextFireAt } = await bench.dag(id);
    const from = minutesBefore(nextFireAt!, 3 * 60 + 1);
    // Its first batch was carried out; then the shell died.
    await bench.rewind(id, minutesBefore(nextFireAt!, 3 * 60));
    const carry = { folding: null, caughtUp: 0, lastStartAt: null, line: null };
    await bench.collections.dags.updateOne(
      { _id: id },
      { $set: { carry, pausedAt: from, 'pausedSpans.0.from': from } },
    );
    await bench.deploy(id, hourly, { onResume: 'latest' });
    const dag = await bench.dag(id);
    expect(dag.carry).toBeNull();
    expect(dag.pausedAt).toEqual(from);
    expect(dag.nextFireAt! > now).toBe(true);
    expect([...(await bench.ledger(id)).values()]).toEqual(Array(3).fill('catch-up'));
  });
});

describe('projects', () => {
  test('do not take each other’s DAGs, unless one was given up', async () => {
    const id = bench.id();
    const definition = await bench.deploy(id, everyDay);
    const before = await bytesOf(id);
    const theirs = deployment({ ...definition, description: 'theirs' }, 'other');
    for (const verb of ['deployDag', 'planDeploy'] as const) {
      await expect(bench.store[verb](theirs)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('"tests"'),
      });
    }
    expect(await bench.store.retireDag(id, 'other')).toBe(false);
    expect(await bytesOf(id)).toBe(before);
    await bench.store.retireDag(id, 'tests');
    expect(await bench.store.deployDag(theirs)).toMatchObject({ change: 'revived' });
    expect((await bench.store.getDag(id))!.project).toBe('other');
    const listed = await bench.store.listDags({ project: 'other' });
    expect(listed.map((dag) => dag.id)).toEqual([id]);
  });
});

describe('retiring', () => {
  test('stops the schedule, writes down what was due, and keeps runs and history', async () => {
    const id = bench.id();
    const definition = await bench.deploy(id, everyDay);
    const { nextFireAt } = await bench.dag(id);
    await bench.store.createRun({ dagId: id, cause: 'manual' });
    await bench.rewind(id, minutesBefore(nextFireAt!, 2 * day));
    expect(await bench.store.retireDag(id, 'tests')).toBe(true);
    expect(await bench.dag(id)).toMatchObject({
      state: 'retired',
      nextFireAt: null,
      pending: null,
    });
    const runs = await bench.store.listRuns({ dagId: id });
    expect(runs.map((run) => run.cause)).toEqual(['manual']);
    expect(await bench.store.countFires(id)).toEqual({ skipped: 2 });
    expect(await bench.store.findDueDags(1_000)).not.toContain(id);
    expect(await bench.store.retireDag(id, 'tests')).toBe(false);
    expect(await bench.store.retireDag('nobody', 'tests')).toBe(false);

    // Back again: with its history, at the present, owing nothing for the gap.
    expect(await bench.store.planDeploy(deployment(definition))).toMatchObject({
      change: 'revived',
    });
    expect(await bench.store.deployDag(deployment(definition))).toMatchObject({
      change: 'revived',
      previousVersion: deployment(definition).version,
      openRuns: 1,
    });
    const dag = await bench.dag(id);
    expect(dag).toMatchObject({ state: 'active', retiredAt: null });
    expect(dag.nextFireAt! > dag.deployedAt).toBe(true);
    await bench.settle(id);
    expect(await bench.store.listRuns({ dagId: id })).toHaveLength(1);
  });

  test('writes down a fire, too, that would still have been punctual', async () => {
    const id = bench.id();
    await bench.deploy(id, everyDay, {
      misfire: { policy: 'catch-up', maxCatchUp: 9, graceMs: 9 * day * 60_000 },
    });
    const { nextFireAt } = await bench.dag(id);
    await bench.rewind(id, minutesBefore(nextFireAt!, 2 * day));
    await bench.store.retireDag(id, 'tests');
    expect([...(await bench.ledger(id)).values()]).toEqual(['skipped', 'skipped']);
  });

  /** Queued under a pause: one of the schedule, one to make up for another, one by hand and one that was run again. */
  async function waiting(id: string) {
    const runs: Record<string, string> = {};
    for (const [index, cause] of (
      ['schedule', 'catch-up', 'manual', 'schedule'] as const
    ).entries()) {
      const name = index === 3 ? 'again' : cause;
      const logicalDate = new Date(Date.UTC(2020, 0, 1 + index));
      const slot = cause === 'manual' ? {} : { slot: dateSlot(logicalDate), logicalDate };
      runs[name] = (await bench.store.createRun({ dagId: id, cause, ...slot })).runId;
    }
    const again = { runId: runs.again! };
    await bench.collections.runs.updateOne({ _id: again.runId }, { $set: { openEpoch: 1 } });
    await bench.collections.tasks.updateMany(again, { $set: { openEpoch: 1 } });
    const states = async () => {
      const found = await bench.collections.runs.find({ dagId: id }).toArray();
      return Object.fromEntries(
        Object.entries(runs).map(([name, runId]) => [
          name,
          found.find(({ _id }) => _id === runId)?.state,
        ]),
      );
    };
    return { states, runs };
  }
  const cancelledAndOn = {
    schedule: 'cancelled',
    'catch-up': 'cancelled',
    manual: 'running',
    again: 'running',
  };

  test('lets what is queued go on, but cancels what a pause holds', async () => {
    const id = bench.id();
    await bench.deploy(id, everyDay, { maxActiveRuns: 9 });
    const { states, runs } = await waiting(id);
    await bench.store.pauseDag(id);
    await bench.store.retireDag(id, 'tests');
    await bench.store.admitRuns(id);
    expect(await states()).toEqual(cancelledAndOn);
    expect((await bench.store.getRun(runs.schedule!))?.reason).toContain('left the code');

    const other = bench.id();
    await bench.deploy(other, everyDay, { maxActiveRuns: 9 });
    const later = await waiting(other);
    await bench.store.retireDag(other, 'tests');
    // A pause that comes later is meant for these runs: it holds them, and ends.
    await bench.store.pauseDag(other);
    await bench.store.admitRuns(other);
    expect(await later.states()).toMatchObject({ schedule: 'queued', manual: 'running' });
    await bench.store.resumeDag(other);
    await bench.store.admitRuns(other);
    expect([...new Set(Object.values(await later.states()))]).toEqual(['running']);
  });

  test('leaves nothing waiting behind a pause, wherever it dies', async () => {
    const deaths = await atEveryDeath(bench, {
      async scene() {
        const id = bench.id();
        await bench.deploy(id, everyDay, { maxActiveRuns: 9 });
        const { states } = await waiting(id);
        await bench.store.pauseDag(id);
        return { id, states };
      },
      act: (store, { id }) => store.retireDag(id, 'tests'),
      async check({ id, states }, where) {
        // A retirement that is there is not made again: the next admission has the rest.
        if ((await bench.dag(id)).state === 'active') await bench.store.retireDag(id, 'tests');
        await bench.store.admitDags([id]);
        await bench.store.continueCancels();
        expect([where, await states()]).toEqual([where, cancelledAndOn]);
      },
    });
    expect(deaths).toBeGreaterThan(5);
  });

  test('carries out a decision that was stored before, as it stands', async () => {
    const id = bench.id();
    const { version } = deployment(await bench.deploy(id, everyDay));
    const { nextFireAt } = await bench.dag(id);
    const from = minutesBefore(nextFireAt!, day);
    await bench.rewind(id, from);
    const run = {
      logicalDate: from,
      dueAt: from,
      dataInterval: { from: minutesBefore(from, day), to: from },
      cause: 'schedule' as const,
      coalesced: 1,
      notBefore: null,
    };
    const pending = {
      ...{ from, decidedAt: from, version, runs: [run], lines: [], next: nextFireAt },
      ...{ nextJitterMs: 0, carry: null, broken: null },
    };
    await bench.collections.dags.updateOne({ _id: id }, { $set: { pending } });
    await bench.store.retireDag(id, 'tests');
    expect([...(await bench.ledger(id)).values()]).toEqual(['schedule']);
  });
});

describe('several shells at once', () => {
  test('deploy one version, and one of them added it', async () => {
    const definition = definitionOf(bench.id(), everyDay);
    const stores = await Promise.all(Array.from({ length: 5 }, () => bench.connect()));
    const results = await Promise.all(
      [...stores, ...stores].map((store) => store.deployDag(deployment(definition))),
    );
    const changes = results.map((result) => result.change).sort();
    expect(changes).toEqual(['added', ...Array(9).fill('unchanged')]);
    expect(await bench.collections.dagVersions.countDocuments({ dagId: definition.id })).toBe(1);
  });

  test('change a schedule once, while a leader settles it', async () => {
    const id = bench.id();
    await bench.deploy(id, everyDay, { misfire: { policy: 'catch-up', maxCatchUp: 5 } });
    const { nextFireAt } = await bench.dag(id);
    await bench.rewind(id, minutesBefore(nextFireAt!, 8 * day));
    const next = deployment(definitionOf(id, everyWeek));
    const [leader, ...shells] = await Promise.all(Array.from({ length: 4 }, () => bench.connect()));
    const [, ...results] = await Promise.all([
      bench.settle(id, leader),
      ...shells.map((store) => store.deployDag(next)),
    ]);
    expect(results.map((result) => (result as { change: string }).change).sort()).toEqual([
      'changed',
      'unchanged',
      'unchanged',
    ]);
    const ledger = [...(await bench.ledger(id)).values()].sort();
    expect(ledger).toEqual([...Array(3).fill('capped'), ...Array(5).fill('catch-up')]);
    expect(await bench.dag(id)).toMatchObject({ version: next.version, scheduleRev: 2 });
  });
});

describe('dying anywhere in a deploy', () => {
  test('of a changed schedule leaves the old one or the new one, and every old date accounted for', async () => {
    const deaths = await atEveryDeath(bench, {
      async scene() {
        const id = bench.id();
        const old = await bench.deploy(id, everyDay, {
          misfire: { policy: 'skip', maxCatchUp: 1 },
        });
        const { nextFireAt } = await bench.dag(id);
        await bench.rewind(id, minutesBefore(nextFireAt!, 2 * day));
        return { id, old: deployment(old), next: deployment(definitionOf(id, everyWeek)) };
      },
      act: (store, { next }) => store.deployDag(next),
      async check({ id, old, next }, where) {
        const left = await bench.dag(id);
        expect([old.version, next.version], where).toContain(left.version);
        const change = left.version === next.version ? 'unchanged' : 'changed';
        expect(await bench.store.deployDag(next), where).toMatchObject({ change });
        expect([...(await bench.ledger(id)).values()], where).toEqual(['skipped', 'skipped']);
        const dag = await bench.dag(id);
        expect(dag, where).toMatchObject({ version: next.version, scheduleRev: 2, pending: null });
        expect(dag.nextFireAt! > dag.deployedAt, where).toBe(true);
      },
    });
    expect(deaths).toBeGreaterThan(8);
  }, 180_000);

  test('that retires leaves it active or retired', async () => {
    const deaths = await atEveryDeath(bench, {
      async scene() {
        const id = bench.id();
        await bench.deploy(id, everyDay);
        const { nextFireAt } = await bench.dag(id);
        await bench.rewind(id, minutesBefore(nextFireAt!, 2 * day));
        return { id };
      },
      act: (store, { id }) => store.retireDag(id, 'tests'),
      async check({ id }, where) {
        await bench.store.retireDag(id, 'tests');
        expect([...(await bench.ledger(id)).values()], where).toEqual(['skipped', 'skipped']);
        expect(await bench.dag(id), where).toMatchObject({ state: 'retired', pending: null });
      },
    });
    expect(deaths).toBeGreaterThan(5);
  }, 180_000);
});
