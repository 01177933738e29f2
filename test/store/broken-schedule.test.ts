/**
 * The dates that a schedule lets pass while it is broken end in `fires`: before the deploy that mends it, or the retirement that
 * ends it, wherever that dies, and however often it is made again.
 */
import { Binary } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DagDefinition } from '../../packages/core/src/model/definition.js';
import { dateSlot } from '../../packages/core/src/model/ids.js';
import { encodeDefinition, versionKey } from '../../packages/core/src/store/version-cache.js';
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
/** Other instants than {@link everyHour}. */
const everyTwoHours = betweenFires(2, 1_800_000);

interface BrokenScene {
  readonly id: string;
  readonly definition: DagDefinition;
  /** The date at which it broke, and those that have passed since. */
  readonly dates: readonly string[];
}

async function setVersion(definition: DagDefinition, stored: Binary): Promise<void> {
  const { version } = deployment(definition);
  await bench.collections.dagVersions.updateOne(
    { _id: versionKey(definition.id, version) },
    { $set: { definition: stored } },
  );
}

/** A DAG that broke `hours` ago, as a process found that had not read its version before. */
async function broken(
  hours: number,
  stored: (definition: DagDefinition) => Promise<Binary>,
): Promise<BrokenScene> {
  const id = bench.id();
  const definition = definitionOf(id, everyHour);
  // Not by the bench's own store, which would know the version.
  await (await bench.connect((_operation, run) => run())).deployDag(deployment(definition));
  await setVersion(definition, await stored(definition));
  const { nextFireAt } = await bench.dag(id);
  const from = minutesBefore(nextFireAt!, hours * 60);
  await bench.collections.dags.updateOne(
    { _id: id },
    { $set: { nextFireAt: from, scheduledFrom: new Date(from.getTime() - 1) } },
  );
  await bench.store.settleSchedule(id);
  expect(await bench.dag(id)).toMatchObject({ broken: expect.any(String), nextFireAt: from });
  const dates = Array.from({ length: hours }, (_, n) => minutesBefore(from, -60 * n).toISOString());
  return { id, definition, dates };
}

/** Of another machine's time zone data, say. */
const unknownZone = (definition: DagDefinition) =>
  encodeDefinition({
    ...definition,
    schedule: { ...definition.schedule!, timeZone: 'Mars/Olympus' },
  });
const damaged = async () => new Binary(Buffer.from('damaged'));

const allBroken = (dates: readonly string[]) => new Map(dates.map((date) => [date, 'broken']));

/** What the audit finds about the fires of a DAG, and how many it has looked at. */
async function audit(id: string) {
  const options = { dagIds: [id], atRest: true, leaseMs: 0, pollMs: 0 };
  const { violations, counts } = await bench.store.audit(options);
  return { violations, fires: counts.fires };
}

describe('the deploy that mends a schedule', () => {
  test('writes down every date since it broke, by the old version where it can be read', async () => {
    const { id, definition, dates } = await broken(5, damaged);
    await setVersion(definition, await encodeDefinition(definition));
    const next = definitionOf(id, everyTwoHours);
    await bench.store.deployDag(deployment(next));
    expect(await bench.ledger(id)).toEqual(allBroken(dates));
    const dag = await bench.dag(id);
    expect(dag).toMatchObject({ broken: null, pending: null, carry: null });
    expect(dag.nextFireAt! > dag.deployedAt).toBe(true);
    expect(dag.scheduledFrom! >= new Date(dates.at(-1)!)).toBe(true);
  });

  test('so that the audit of an unchanged schedule sees the whole of it', async () => {
    const { id, definition, dates } = await broken(5, damaged);
    await setVersion(definition, await encodeDefinition(definition));
    await bench.store.deployDag(deployment(definition));
    expect(await audit(id)).toEqual({ violations: [], fires: dates.length });
    // And would miss one.
    await bench.collections.fires.deleteOne({ dagId: id, from: new Date(dates[3]!) });
    const [violation] = (await audit(id)).violations;
    expect(violation).toMatchObject({ invariant: 'every-fire-accounted' });
  });

  test('takes the dates of the new one where the old one tells none, and the audit sees them', async () => {
    const { id, dates } = await broken(7, unknownZone);
    await bench.store.deployDag(deployment(definitionOf(id, everyTwoHours)));
    const ledger = await bench.ledger(id);
    expect(ledger.get(dates[0]!)).toBe('broken');
    expect(new Set(ledger.values())).toEqual(new Set(['broken']));
    const [, ...inGap] = [...ledger.keys()].sort();
    expect(inGap.length).toBeGreaterThanOrEqual(3);
    expect(await audit(id)).toEqual({ violations: [], fires: inGap.length });
  });

  test('makes one span of many', async () => {
    const { id, dates } = await broken(300, unknownZone);
    await bench.store.deployDag(deployment(definitionOf(id, everyHour, { description: 'mended' })));
    expect(await bench.ledger(id)).toEqual(
      new Map([
        [dates[0], 'broken'],
        [dates[1], 'broken x 299'],
      ]),
    );
    expect(await bench.store.countFires(id)).toEqual({ broken: 300 });
    expect((await audit(id)).violations).toEqual([]);
  });

  test('says that nobody knows how many, where nothing tells the dates', async () => {
    const { id, dates } = await broken(3, damaged);
    await bench.store.deployDag(deployment(definitionOf(id)));
    const [unknown, first] = await bench.store.listFires(id);
    expect(first).toMatchObject({ from: new Date(dates[0]!), count: 1, reason: 'broken' });
    expect(unknown).toMatchObject({ count: 0, reason: 'broken' });
    expect(unknown!.from.getTime()).toBe(first!.from.getTime() + 1);
    expect(unknown!.to > new Date(dates[2]!)).toBe(true);
    expect(await bench.dag(id)).toMatchObject({ broken: null, nextFireAt: null });
  });

  test('writes no line for a date that has a run', async () => {
    const { id, dates } = await broken(3, unknownZone);
    // A decision had made it before what was stored of that decision was damaged.
    const [date] = dates;
    const logicalDate = new Date(date!);
    await bench.collections.fires.deleteMany({ dagId: id });
    const sound = definitionOf(id, everyHour, { description: 'sound' });
    await bench.collections.slots.insertOne({
      ...{ _id: `${id}/${dateSlot(logicalDate)}`, dagId: id, slot: dateSlot(logicalDate) },
      ...{ runId: 'gone', outcome: 'succeeded', logicalDate, dataInterval: null, generation: 0 },
      ...{ coalesced: 1, openEpoch: 0, closedAt: logicalDate, expireAt: null },
    });
    await bench.store.deployDag(deployment(sound));
    expect(await bench.ledger(id)).toEqual(allBroken(dates.slice(1)));
    expect((await audit(id)).violations).toEqual([]);
  });

  test('replaces what is stored of an equal version and cannot be read', async () => {
    const { id, definition } = await broken(2, damaged);
    await bench.store.deployDag(deployment(definition));
    const another = await bench.connect((_operation, run) => run());
    const { version } = deployment(definition);
    expect(await another.getVersion(id, version)).toEqual(definition);
  });

  test('has every date once, wherever it dies', async () => {
    const deaths = await atEveryDeath(bench, {
      scene: () => broken(4, unknownZone),
      act: (store, { id }) =>
        store.deployDag(deployment(definitionOf(id, everyHour, { description: 'mended' }))),
      async check({ id, dates }, where) {
        // A leader looks before the next deploy.
        await bench.store.settleDue({ limit: 1_000 });
        await bench.store.deployDag(
          deployment(definitionOf(id, everyHour, { description: 'mended' })),
        );
        expect([where, await bench.ledger(id)]).toEqual([where, allBroken(dates)]);
        const dag = await bench.dag(id);
        expect([where, dag]).toMatchObject([where, { broken: null, pending: null, carry: null }]);
        expect([where, (await audit(id)).violations]).toEqual([where, []]);
      },
    });
    expect(deaths).toBeGreaterThan(8);
  });

  test('has every date once, however many shells make it', async () => {
    const { id, dates } = await broken(6, unknownZone);
    const mended = deployment(definitionOf(id, everyHour, { description: 'mended' }));
    const stores = await Promise.all(
      Array.from({ length: 4 }, () => bench.connect((_operation, run) => run())),
    );
    const results = await Promise.all(stores.map((store) => store.deployDag(mended)));
    expect(results.filter(({ change }) => change === 'changed')).toHaveLength(1);
    expect(await bench.ledger(id)).toEqual(allBroken(dates));
  });

  test('leaves no date out that comes while it is made', async () => {
    const { id, dates } = await broken(3, unknownZone);
    // Between its dates and its last write one more has come: the cursor stands on a date that has.
    const came = new Date(new Date(dates.at(-1)!).getTime() + 1);
    let isArmed = true;
    const store = await bench.connect(async ({ collection, args }, run) => {
      if (isArmed && collection === 'dags' && JSON.stringify(args).includes('deployedAt')) {
        isArmed = false;
        await bench.collections.dags.updateOne({ _id: id }, { $set: { nextFireAt: came } });
      }
      return run();
    });
    await store.deployDag(deployment(definitionOf(id, everyHour, { description: 'mended' })));
    expect(isArmed).toBe(false);
    expect(await bench.ledger(id)).toEqual(allBroken([...dates, came.toISOString()]));
    expect((await bench.dag(id)).broken).toBeNull();
  });
});

describe('the retirement of a broken schedule', () => {
  test('writes down its dates, too, wherever it dies', async () => {
    await atEveryDeath(bench, {
      async scene() {
        const scene = await broken(3, damaged);
        await setVersion(scene.definition, await encodeDefinition(scene.definition));
        return scene;
      },
      act: (store, { id }) => store.retireDag(id, 'tests'),
      async check({ id, dates }, where) {
        await bench.store.retireDag(id, 'tests');
        expect([where, await bench.ledger(id)]).toEqual([where, allBroken(dates)]);
        expect((await bench.dag(id)).state).toBe('retired');
      },
    });
  });
});
