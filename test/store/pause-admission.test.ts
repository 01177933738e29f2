/**
 * A pause against an admission that is under way: whoever stands still at any of its operations, nothing of the schedule starts
 * once the pause has answered, and everything that was held starts after the resume.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dateSlot } from '../../packages/core/src/model/ids.js';
import type { Cause } from '../../packages/core/src/model/states.js';
import type { Store } from '../../packages/core/src/store/store.js';
import { atEveryDeath, Bench, betweenFires, minutesBefore } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

const everyDay = betweenFires(24);
const day = 24 * 60;

let minute = 0;
async function make(dagId: string, cause: Cause): Promise<string> {
  minute += 1;
  const logicalDate = new Date(Date.UTC(2020, 0, 1, 0, minute));
  const slot = cause === 'manual' ? {} : { slot: dateSlot(logicalDate), logicalDate };
  return (await bench.store.createRun({ dagId, cause, ...slot })).runId;
}

async function statesOf(dagId: string): Promise<Map<string, string>> {
  const runs = await bench.collections.runs.find({ dagId }).toArray();
  return new Map(runs.map((run) => [run._id, run.state]));
}

/** Stops before the operation with this number, counted from 1, until `meanwhile` is over. False: there were not so many. */
async function stoppedAt(
  operation: number,
  act: (store: Store) => Promise<unknown>,
  meanwhile: () => Promise<void>,
): Promise<boolean> {
  let seen = 0;
  const store = await bench.connect(async (_operation, run) => {
    seen += 1;
    if (seen === operation) await meanwhile();
    return run();
  });
  await act(store);
  return seen >= operation;
}

/** With places, and without. */
const overlaps = ['queue', 'allow'] as const;

describe.each(overlaps)('under overlap %s', (overlap) => {
  const options = { overlap, maxActiveRuns: 2 };
  const ways: Record<string, (store: Store, dagId: string) => Promise<unknown>> = {
    'an admission': (store, dagId) => store.admitRuns(dagId),
    'an admission of many': (store, dagId) => store.admitDags([dagId]),
  };

  test.each(Object.keys(ways))(
    'nothing starts after the answer, wherever %s stands',
    async (way) => {
      let held = 0;
      for (let operation = 1; ; operation += 1) {
        const dagId = bench.id();
        await bench.deploy(dagId, everyDay, options);
        const scheduled = await make(dagId, 'schedule');
        const waiting = [scheduled, await make(dagId, 'catch-up')];
        let atAnswer = new Map<string, string>();
        const reached = await stoppedAt(
          operation,
          (store) => ways[way]!(store, dagId),
          async () => {
            expect(await bench.store.pauseDag(dagId)).toBe(true);
            atAnswer = await statesOf(dagId);
          },
        );
        if (!reached) break;
        const where = `before operation ${operation}`;
        await bench.store.repairPlaces();
        await bench.store.admitRuns(dagId);
        const after = await statesOf(dagId);
        for (const runId of waiting) {
          expect([where, runId, after.get(runId)]).toEqual([where, runId, atAnswer.get(runId)]);
          if (after.get(runId) === 'queued') held += 1;
        }
        // What is held keeps no place from others.
        const running = waiting.filter((runId) => after.get(runId) === 'running');
        const { activeRunIds } = await bench.dag(dagId);
        expect([where, running]).toEqual([where, expect.arrayContaining(activeRunIds)]);
        const manual = await make(dagId, 'manual');
        await bench.store.admitRuns(dagId);
        if (running.length < 2) expect((await statesOf(dagId)).get(manual)).toBe('running');
        await bench.store.cancelRun(manual);
        await bench.store.resumeDag(dagId);
        await bench.store.admitRuns(dagId);
        const resumed = await statesOf(dagId);
        expect([where, waiting.map((runId) => resumed.get(runId))]).toEqual([
          where,
          ['running', 'running'],
        ]);
      }
      expect(held).toBeGreaterThan(5);
    },
    60_000,
  );

  test('nor wherever the settlement stands that makes the run', async () => {
    for (let operation = 1; ; operation += 1) {
      const dagId = bench.id();
      await bench.deploy(dagId, everyDay, options);
      const { nextFireAt } = await bench.dag(dagId);
      await bench.rewind(dagId, minutesBefore(nextFireAt!, day));
      let atAnswer = new Map<string, string>();
      const reached = await stoppedAt(
        operation,
        (store) => store.settleDue({ limit: 100 }),
        async () => {
          await bench.store.pauseDag(dagId);
          atAnswer = await statesOf(dagId);
        },
      );
      if (!reached) break;
      const where = `before operation ${operation}`;
      await bench.store.repairPlaces();
      expect([where, await statesOf(dagId)]).toEqual([where, atAnswer]);
      expect([where, atAnswer.size]).toEqual([where, 1]);
    }
  }, 60_000);
});

describe('a pause', () => {
  test('that died before it held the queue is made whole by the next call', async () => {
    const deaths = await atEveryDeath(bench, {
      async scene() {
        const dagId = bench.id();
        await bench.deploy(dagId, everyDay, { overlap: 'allow' });
        return { dagId, runId: await make(dagId, 'schedule') };
      },
      act: (store, { dagId }) => store.pauseDag(dagId),
      async check({ dagId, runId }, where) {
        // Stands before its first write, having read the DAG before the pause or after half of it.
        let writes = 0;
        const slow = await bench.connect(async (operation, run) => {
          if (operation.isWrite && ++writes === 1) await bench.store.pauseDag(dagId);
          return run();
        });
        await slow.admitRuns(dagId);
        await bench.store.pauseDag(dagId);
        expect([where, (await statesOf(dagId)).get(runId)]).toEqual([where, 'queued']);
      },
    });
    expect(deaths).toBeGreaterThan(2);
  });

  test('does not hold what somebody runs again, nor other causes', async () => {
    const dagId = bench.id();
    await bench.deploy(dagId, everyDay, { overlap: 'allow' });
    const manual = await make(dagId, 'manual');
    await bench.store.pauseDag(dagId);
    const run = await bench.collections.runs.findOne({ _id: manual });
    expect(run).not.toHaveProperty('heldAtRev');
    const scheduled = await make(dagId, 'schedule');
    await bench.collections.runs.updateOne(
      { _id: scheduled },
      { $set: { openEpoch: 1, heldAtRev: 99 } },
    );
    await bench.collections.tasks.updateMany({ runId: scheduled }, { $set: { openEpoch: 1 } });
    await bench.store.admitRuns(dagId);
    expect(Object.fromEntries(await statesOf(dagId))).toEqual({
      [manual]: 'running',
      [scheduled]: 'running',
    });
  });

  test('that is over holds up nobody: an admission which read the DAG after it starts the run', async () => {
    const dagId = bench.id();
    await bench.deploy(dagId, everyDay);
    const runId = await make(dagId, 'schedule');
    await bench.store.pauseDag(dagId);
    await bench.store.resumeDag(dagId);
    expect(await bench.store.admitDags([dagId])).toEqual([runId]);
  });

  test('which ended meanwhile takes no place from the run that has started since', async () => {
    const dagId = bench.id();
    await bench.deploy(dagId, everyDay);
    const runId = await make(dagId, 'schedule');
    let hasPaused = false;
    // Wants to give back the place of a run that the pause holds; stands still until that pause is over.
    const slow = await bench.connect(async ({ collection, isWrite, args }, run) => {
      if (collection === 'runs' && isWrite && !hasPaused) {
        hasPaused = true;
        await bench.store.pauseDag(dagId);
      }
      if (collection === 'dags' && JSON.stringify(args).includes('$pull')) {
        await bench.store.resumeDag(dagId);
        await bench.store.repairPlaces();
        expect((await statesOf(dagId)).get(runId)).toBe('running');
      }
      return run();
    });
    expect(await slow.admitRuns(dagId)).toEqual([]);
    expect((await statesOf(dagId)).get(runId)).toBe('running');
    expect((await bench.dag(dagId)).activeRunIds).toEqual([runId]);
  });
});
