/**
 * Years of one database's clock in a few seconds: outages, pauses, deploys, retirements and leaders that die at any operation,
 * in random order. At the end every date that came due is accounted for exactly once.
 *
 * The clock is the development server's, so this runs on it alone; what it judges is the protocol, not the server.
 */
import { startServer } from '@flowline/devdb';
import fc from 'fast-check';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collectionsOf } from '../../packages/core/src/store/collections.js';
import { connectStore } from '../../packages/core/src/store/connect.js';
import type { Store } from '../../packages/core/src/store/store.js';
import { firesBetween } from '../../packages/core/src/time/schedule/fires.js';
import type { ScheduleInput } from '../../packages/core/src/time/schedule/schedule-input.js';
import { definitionOf, deployment, Killed } from './scheduling.js';

let nowMs = Date.UTC(2026, 0, 1);
/** Operations until the leader dies; Infinity while it lives. */
let left = Number.POSITIVE_INFINITY;
let close: () => Promise<void>;
let store: Store;
let mortal: Store;
let collections: ReturnType<typeof collectionsOf>;

beforeAll(async () => {
  const server = await startServer({ nowMs: () => nowMs, ttlIntervalMs: 3_600_000 });
  const options = { uri: server.uri, database: 'simulation' };
  store = await connectStore(options);
  await store.prepare();
  mortal = await connectStore(options, {
    async intercept(_operation, run) {
      if (left <= 0) throw new Killed();
      left -= 1;
      return run();
    },
  });
  const client = await MongoClient.connect(server.uri);
  collections = collectionsOf(client.db('simulation'));
  close = async () => {
    await Promise.all([store.close(), mortal.close(), client.close()]);
    await server.close();
  };
});

afterAll(() => close());

const hour = 3_600_000;

/** Something happens after a while; what `choice` says depends on what it is. */
const step = fc.record({
  minutes: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 120 }) },
    { weight: 1, arbitrary: fc.integer({ min: 600, max: 20_000 }) },
  ),
  act: fc.oneof(
    { weight: 6, arbitrary: fc.constant('die') },
    { weight: 2, arbitrary: fc.constantFrom('resume', 'deploy') },
    { weight: 1, arbitrary: fc.constantFrom('lead', 'pause', 'retire') },
  ),
  choice: fc.nat(11),
});

const schedules: ScheduleInput[] = [
  { cron: '*/15 * * * *' },
  { cron: '30 2 * * *', timeZone: 'Europe/Paris' },
  { every: '50m' },
  { cron: '0 * * * *', exclude: ['2026-01-03'] },
];

const policies = [
  { policy: 'coalesce', maxCatchUp: 100 },
  { policy: 'catch-up', maxCatchUp: 3 },
  { policy: 'skip', maxCatchUp: 1 },
] as const;

/** The kind of DAG with this number. */
function variant(id: string, number: number) {
  return definitionOf(id, schedules[number % schedules.length]!, {
    misfire: policies[number % policies.length]!,
    onResume: (['skip', 'latest', 'all'] as const)[number % 3]!,
  });
}

/** A stretch of time in which one schedule was in force: from after `from` up to `to`. */
interface Era {
  readonly variant: number;
  readonly from: number;
  to: number;
}

async function settle(id: string, by: Store): Promise<void> {
  while ((await by.settleSchedule(id)).more);
}

/** How many fires the runs and lines of a DAG stand for, and the dates of those that stand alone. */
async function accountOf(id: string): Promise<{ fires: number; single: number[] }> {
  const runs = await collections.runs.find({ dagId: id }).toArray();
  const lines = await collections.fires.find({ dagId: id }).toArray();
  const places = [
    ...runs.map((run) => ({ at: run.logicalDate!, count: run.coalesced })),
    ...lines.map((line) => ({ at: line.from, count: line.count })),
  ];
  return {
    fires: places.reduce((sum, place) => sum + place.count, 0),
    single: places.map((place) => place.at.getTime()),
  };
}

let dags = 0;

describe('over years of outages, pauses, deploys and deaths', () => {
  test('every date that came due is accounted for exactly once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(11),
        fc.array(step, { minLength: 30, maxLength: 40 }),
        async (first, steps) => {
          dags += 1;
          const id = `simulated-${dags}`;
          const eras: Era[] = [];
          const begin = (number: number) =>
            eras.push({ variant: number, from: nowMs, to: Infinity });
          const end = () => {
            if (eras.length > 0) eras.at(-1)!.to = Math.min(eras.at(-1)!.to, nowMs);
          };
          left = Number.POSITIVE_INFINITY;
          await store.deployDag(deployment(variant(id, first)));
          begin(first);
          for (const { minutes, act, choice } of steps) {
            nowMs += minutes * 60_000 + choice * 1_000 + 1;
            if (act === 'lead') await settle(id, store);
            else if (act === 'pause') await store.pauseDag(id);
            else if (act === 'resume') {
              await store.resumeDag(
                id,
                ([undefined, 'skip', 'latest', 'all'] as const)[choice % 4],
              );
            } else if (act === 'deploy') {
              const { change } = await store.deployDag(deployment(variant(id, choice)));
              if (change === 'changed') end();
              if (change !== 'unchanged') begin(choice);
            } else if (act === 'retire') {
              if (await store.retireDag(id, 'tests')) end();
            } else {
              left = choice % 8;
              try {
                await settle(id, mortal);
              } catch (error) {
                if (!(error instanceof Killed)) throw error;
              }
              left = Number.POSITIVE_INFINITY;
            }
          }
          await store.resumeDag(id);
          await settle(id, store);
          end();
          const dag = (await collections.dags.findOne({ _id: id }))!;
          expect(dag.pending).toBeNull();
          expect(dag.carry).toBeNull();
          const due = eras.flatMap((era) => {
            const { schedule } = variant(id, era.variant);
            const { exclude: _, ...calendar } = schedule as { exclude?: unknown } & typeof schedule;
            return firesBetween(
              calendar as typeof schedule & object,
              new Date(era.from + 1),
              new Date(era.to + 1),
            ).map((date) => date.getTime());
          });
          const account = await accountOf(id);
          expect(account.fires).toBe(new Set(due).size);
          expect(new Set(account.single).size).toBe(account.single.length);
          const dueDates = new Set(due);
          expect(account.single.filter((at) => !dueDates.has(at))).toEqual([]);
          nowMs += hour;
        },
      ),
      { numRuns: 6, seed: 20_261_130 },
    );
  }, 180_000);
});
