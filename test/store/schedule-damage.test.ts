/** Documents as no release writes them: hands, scripts, a restored backup. One of them must be in nobody's way. */
import { Binary } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PendingDecision } from '../../packages/core/src/store/schedule/pending-decision.js';
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

const everyHour = betweenFires(1);
const atOnce = { misfire: { policy: 'coalesce', maxCatchUp: 100 } } as const;

/** A DAG with one fire due. */
async function due(id = bench.id(), options = {}): Promise<{ id: string; at: Date }> {
  await bench.deploy(id, everyHour, { ...atOnce, ...options });
  const at = minutesBefore((await bench.dag(id)).nextFireAt!, 60);
  await bench.rewind(id, at);
  return { id, at };
}

/** Writes what no type allows. */
const write = (id: string, change: object) =>
  bench.collections.dags.updateOne({ _id: id }, change as never);

const settle = () => bench.store.settleDue({ limit: 200 });
const datesOf = async (id: string) => [...(await bench.ledger(id)).entries()];

const run = {
  logicalDate: new Date(0),
  dataInterval: { from: new Date(0), to: new Date(0) },
  cause: 'schedule',
  coalesced: 1,
  dueAt: new Date(0),
  notBefore: null,
};
const ages = new Date(-8e15);
const decision = {
  from: new Date(0),
  decidedAt: new Date(),
  version: 'gone',
  runs: [run],
  lines: [],
  next: null,
  nextJitterMs: 0,
  carry: null,
  broken: null,
};

describe('a damaged schedule', () => {
  test.each([
    ['a jitter that is a text', { $set: { nextJitterMs: 'soon' } }],
    ['a jitter that is no number', { $set: { nextJitterMs: Number.NaN } }],
    ['a jitter below 0', { $set: { nextJitterMs: -1 } }],
    ['no jitter', { $unset: { nextJitterMs: 1 } }],
    ['a cursor that is a text', { $set: { nextFireAt: '2026' } }],
    ['a cursor that is a number', { $set: { nextFireAt: 5 } }],
    ['a cursor that is a list', { $set: { nextFireAt: [new Date(0), 'x'] } }],
    ['a cursor beyond all dates', { $set: { nextFireAt: new Date(8.6e15) } }],
    ['no cursor', { $unset: { nextFireAt: 1 } }],
    ['no spans', { $set: { pausedSpans: null } }],
    ['a span without a date', { $set: { pausedSpans: [{ from: 'x', to: null }] } }],
    ['a pause without a date', { $set: { pausedAt: 'x' } }],
    ['half of what a batch left open', { $set: { carry: { folding: {} } } }],
    ['what a batch left open as a number', { $set: { carry: 7 } }],
    ['a decision that is a text', { $set: { pending: 'x' } }],
    ['an empty decision', { $set: { pending: {} } }],
    ['half a decision', { $set: { pending: { from: new Date(), decidedAt: new Date() } } }],
    ['a decision about another millennium', { $set: { pending: { ...decision, from: ages } } }],
    [
      'a decision with a run without a date',
      { $set: { pending: { ...decision, runs: [{ ...run, logicalDate: 'x' }] } } },
    ],
    [
      'a decision with a line without dates',
      { $set: { pending: { ...decision, runs: [], lines: [{ reason: 'skipped' }] } } },
    ],
  ])('(%s) is marked, keeps nobody waiting, and is mended by a deploy', async (_what, change) => {
    const sound = await due();
    const damaged = await due();
    await write(damaged.id, change);
    const settled = await settle();
    expect(settled.failed).toEqual([]);
    expect(await datesOf(sound.id)).toHaveLength(1);
    await bench.store.earliestFireAt();
    await bench.store.examineOwed(0);
    await (await bench.connect()).rehearseSettling(50);
    const marked = [...settled.broken, ...(await bench.store.settleDamaged(200))];
    expect(marked).toEqual([{ dagId: damaged.id, reason: expect.stringContaining('damaged') }]);
    expect((await bench.store.getDag(damaged.id))?.broken).toBe(marked[0]?.reason);
    expect(await bench.store.settleDamaged(200)).toEqual([]);
    expect(await settle()).toMatchObject({ recorded: 0, failed: [], broken: [] });
    // The same code again.
    const deployed = await bench.store.deployDag(
      deployment(definitionOf(damaged.id, everyHour, atOnce)),
    );
    expect(deployed.change).toBe('changed');
    const healed = await bench.dag(damaged.id);
    expect(healed).toMatchObject({ broken: null, pending: null, carry: null });
    expect(healed.nextFireAt! > healed.deployedAt).toBe(true);
    await bench.store.pauseDag(damaged.id);
    await bench.store.resumeDag(damaged.id);
    await bench.store.retireDag(damaged.id, 'tests');
    expect(await bench.dag(damaged.id)).toMatchObject({ state: 'retired', pausedAt: null });
  });

  test('that is deployed before anybody has looked is mended as well', async () => {
    const { id } = await due();
    await write(id, { $set: { nextJitterMs: 'soon', pausedSpans: null } });
    const other = definitionOf(id, betweenFires(2), atOnce);
    await bench.store.deployDag(deployment(other));
    const healed = await bench.dag(id);
    expect(healed).toMatchObject({ broken: null, pending: null, nextJitterMs: 0, pausedSpans: [] });
    expect(healed.nextFireAt! > healed.deployedAt).toBe(true);
  });

  test('of a paused DAG keeps its pause', async () => {
    const { id } = await due();
    await bench.store.pauseDag(id);
    const { pausedAt } = await bench.dag(id);
    await write(id, { $set: { pausedSpans: null } });
    expect(await bench.store.settleDamaged(200)).toMatchObject([{ dagId: id }]);
    expect(await bench.dag(id)).toMatchObject({
      pausedAt,
      pausedSpans: [{ from: pausedAt, to: null }],
    });
  });
});

describe('a decision that can never be carried out', () => {
  /** Stored for three dates, of which `made` have their runs already; then its version is lost. */
  async function stuck(made: number): Promise<{ id: string; pending: PendingDecision }> {
    const id = bench.id();
    await bench.deploy(id, everyHour, { misfire: { policy: 'catch-up', maxCatchUp: 100 } });
    const { nextFireAt, version } = await bench.dag(id);
    await bench.rewind(id, minutesBefore(nextFireAt!, 180));
    const runs = [180, 120, 60].map((minutes) => {
      const logicalDate = minutesBefore(nextFireAt!, minutes);
      const from = minutesBefore(logicalDate, 60);
      return { ...run, logicalDate, dataInterval: { from, to: logicalDate } };
    });
    for (const { logicalDate } of runs.slice(0, made)) {
      await bench.store.createRun({
        dagId: id,
        cause: 'schedule',
        slot: `d:${logicalDate.toISOString()}/0`,
        logicalDate,
      });
    }
    const pending = {
      ...decision,
      from: runs[0]!.logicalDate,
      version,
      runs,
      next: nextFireAt,
    } as unknown as PendingDecision;
    await write(id, { $set: { pending } });
    await bench.collections.dagVersions.deleteOne({ dagId: id });
    return { id, pending };
  }

  test('is ended: its dates without a run are written down, and the DAG is marked', async () => {
    const { id, pending } = await stuck(1);
    const sound = await due();
    const store = await bench.connect();
    const settled = await store.settleDue({ limit: 200 });
    expect(settled.failed).toEqual([]);
    expect(settled.broken).toMatchObject([
      { dagId: id, reason: expect.stringContaining('version') },
    ]);
    expect(await datesOf(sound.id)).toHaveLength(1);
    expect((await datesOf(id)).map(([, what]) => what)).toEqual(['schedule', 'broken', 'broken']);
    expect(await bench.dag(id)).toMatchObject({ pending: null, nextFireAt: pending.next });
    expect((await bench.dag(id)).broken).not.toBeNull();
    expect(await bench.store.findDueDags(1_000)).not.toContain(id);
  });

  test('neither is one whose version cannot be read', async () => {
    const { id, pending } = await stuck(0);
    await bench.collections.dagVersions.insertOne({
      _id: `${id}/${pending.version}`,
      dagId: id,
      version: pending.version,
      definition: new Binary(Buffer.from('junk')),
      createdAt: new Date(),
    });
    const store = await bench.connect();
    await store.settleDue({ limit: 200 });
    expect((await datesOf(id)).map(([, what]) => what)).toEqual(['broken', 'broken', 'broken']);
    // The same code again, though its version is there and damaged.
    const definition = definitionOf(id, everyHour, {
      misfire: { policy: 'catch-up', maxCatchUp: 100 },
    });
    await store.deployDag(deployment(definition));
    const another = await bench.connect();
    expect(await another.getVersion(id, pending.version)).toMatchObject({ id });
    expect(await bench.dag(id)).toMatchObject({ broken: null });
  });

  test('is ended once, whoever dies when', async () => {
    const deaths = await atEveryDeath(bench, {
      scene: () => stuck(2),
      act: (store) => store.settleDue({ limit: 200 }),
      check: async ({ id }, where) => {
        const store = await bench.connect();
        await store.settleDue({ limit: 200 });
        const found = (await datesOf(id)).map(([, what]) => what);
        expect(found, where).toEqual(['schedule', 'schedule', 'broken']);
        expect(await bench.dag(id), where).toMatchObject({ pending: null });
        expect((await bench.dag(id)).broken, where).not.toBeNull();
      },
    });
    expect(deaths).toBeGreaterThan(5);
  });
});

test('what the server refuses for one DAG fails for that DAG, and takes nobody else the turn', async () => {
  // A version that can be read, decided by, and not stored as a run.
  const refused = { expectWithin: { startMs: 'soon' as unknown as number } };
  const bad = await Promise.all([1, 2, 3].map(() => due(bench.id(), refused)));
  const sound = await due();
  const settled = await settle();
  expect(settled.failed.map((one) => one.dagId).sort()).toEqual(bad.map(({ id }) => id).sort());
  expect(await datesOf(sound.id)).toHaveLength(1);
  // More unfinished decisions than are looked at.
  const second = await due();
  const third = await due();
  await bench.store.settleDue({ limit: 2 });
  await bench.store.settleDue({ limit: 2 });
  expect(await datesOf(second.id)).toHaveLength(1);
  expect(await datesOf(third.id)).toHaveLength(1);
  await bench.collections.dags.deleteMany({ _id: { $in: bad.map(({ id }) => id) } });
});
