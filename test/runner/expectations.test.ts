/** The leader watches what is expected of runs, whoever serves them, and tells its event and its hook. */
import { Job, type MissedExpectation } from '@flowline/core';
import { MongoClient } from 'mongodb';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunDocument } from '../../packages/core/src/store/collections.js';
import { openSystem, type System } from '../support/system.ts';
import { until } from '../support/until.ts';

@Job({ id: 'nobodys', expectWithin: { start: '1s', finish: '1h' } })
class Nobodys {
  async run() {}
}

/** Whatever the machine does besides, it is served in time. */
@Job({ id: 'served', expectWithin: { start: '1h', finish: '3h' } })
class Served {
  async run() {}
}

let system: System;
beforeEach(async () => {
  system = await openSystem();
  await system.deploy([Nobodys, Served]);
});
afterEach(() => system.close());

const isAnnounced = async (id: string) =>
  (await system.store.listUnannounced(100)).every((one) => one.id !== id);

test('a job that no runner serves: the leader says that it did not start', async () => {
  const hooked: MissedExpectation[] = [];
  const runner = await system.startRunner([], {
    lead: 'only',
    onExpectationMissed: (missed) => hooked.push(missed),
  });
  const events: MissedExpectation[] = [];
  runner.events.on('expectation-missed', (missed) => events.push(missed));
  const runId = await system.trigger('nobodys');
  await until('the hook', () => hooked.length > 0);
  expect(hooked).toEqual([
    expect.objectContaining({ id: `${runId}/start`, dagId: 'nobodys', kind: 'start', runId }),
  ]);
  expect(events).toEqual(hooked);
  await until('the mark', () => isAnnounced(`${runId}/start`));
  expect((await system.store.getRun(runId))?.missed).toEqual(['start']);
  expect(hooked).toHaveLength(1);
});

test('a run that is served in time is no news', async () => {
  const runner = await system.startRunner([Served]);
  const events: MissedExpectation[] = [];
  runner.events.on('expectation-missed', (missed) => events.push(missed));
  const runId = await system.trigger('served');
  const { tasks } = await system.closed(runId);
  const client = await MongoClient.connect(system.connection.uri);
  try {
    const runs = client.db(system.connection.database).collection<RunDocument>('runs');
    // As if the limit of its start, an hour, had been so short that it passed after the start; that of its end is far away.
    const by = new Date((tasks[0]?.attempts[0]?.startedAt.getTime() as number) + 1);
    await runs.updateOne({ _id: runId, 'expects.kind': 'start' }, { $set: { 'expects.$.by': by } });
    await until('the judgement on its start', async () => {
      const run = await runs.findOne({ _id: runId });
      return run?.expects?.length === 1 && run.expects[0]?.kind === 'finish';
    });
  } finally {
    await client.close();
  }
  expect((await system.store.getRun(runId))?.missed).toEqual([]);
  expect(events).toEqual([]);
});

test('a record that a dead leader left untold is told by the next; a hook that fails is called again', async () => {
  const runId = await system.trigger('nobodys');
  // The leader that noticed it died before it could tell anybody.
  await until('the record', async () => (await system.store.noticeMissed(100)).noticed > 0);
  let calls = 0;
  const runner = await system.startRunner([], {
    lead: 'only',
    onExpectationMissed() {
      calls += 1;
      if (calls < 3) throw new Error('the mail server is away');
    },
  });
  const events: MissedExpectation[] = [];
  runner.events.on('expectation-missed', (missed) => events.push(missed));
  await until('the mark', () => isAnnounced(`${runId}/start`));
  expect(calls).toBe(3);
  expect(events).toHaveLength(1);
});

test('a hook that never ends keeps nobody from leading', async () => {
  const runId = await system.trigger('nobodys');
  let calls = 0;
  const runner = await system.startRunner([], {
    lead: 'only',
    onExpectationMissed() {
      calls += 1;
      return new Promise(() => {});
    },
  });
  await until('the hook', () => calls > 0);
  let ticks = 0;
  runner.events.on('ticked', () => {
    ticks += 1;
  });
  await until('more ticks', () => ticks > 2);
  expect(runner.isLeading).toBe(true);
  expect(calls).toBe(1);
  expect(await isAnnounced(`${runId}/start`)).toBe(false);
});
