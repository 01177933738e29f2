import { Binary } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DagDefinition } from '../../packages/core/src/model/definition.js';
import { dateSlot } from '../../packages/core/src/model/ids.js';
import type { Cause } from '../../packages/core/src/model/states.js';
import { checkClosedRun, Graph, graphOf } from './graphs.js';
import { atEveryDeath, Bench, definitionOf, deployment } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

/** A DAG with a schedule that is never due here, so that scheduled runs can be made by hand. */
async function scheduled(options: Partial<DagDefinition>): Promise<Graph> {
  const { schedule } = definitionOf('x', { cron: '0 0 1 1 *' });
  const definition = graphOf(
    bench.id('overlap'),
    { a: [], b: ['a'] },
    { schedule: schedule!, ...options },
  );
  await bench.store.deployDag(deployment(definition));
  return new Graph(bench, definition);
}

let minute = 0;
async function make(graph: Graph, cause: Cause, more = {}): Promise<string> {
  minute += 1;
  const logicalDate = new Date(Date.UTC(2020, 0, 1, 0, minute));
  const { runId } = await bench.store.createRun({
    dagId: graph.id,
    cause,
    ...(cause === 'manual' || cause === 'api' ? {} : { slot: dateSlot(logicalDate), logicalDate }),
    ...more,
  });
  return runId;
}

const admit = (graph: Graph) => bench.store.admitRuns(graph.id);
const stateOf = async (runId: string) => (await bench.store.getRun(runId))?.state ?? 'gone';

describe('queue', () => {
  it('never has more runs active than places, whoever admits, and takes them in order', async () => {
    const graph = await scheduled({ maxActiveRuns: 2 });
    const made: string[] = [];
    for (const cause of ['schedule', 'manual', 'catch-up', 'api'] as const) {
      made.push(await make(graph, cause));
    }
    const stores = [bench.store, await bench.connect(), await bench.connect()];
    const admitted = await Promise.all(stores.map((store) => store.admitRuns(graph.id)));
    expect(new Set(admitted.flat())).toEqual(new Set(made.slice(0, 2)));
    expect(admitted.flat()).toHaveLength(2);
    expect((await bench.store.getDag(graph.id))?.activeRunIds).toHaveLength(2);
    expect(await admit(graph)).toEqual([]);
    await graph.work();
    expect(await admit(graph)).toEqual(made.slice(2));
    await graph.work();
    for (const runId of made) checkClosedRun(await graph.view(runId));
  });

  it('refuses the newest scheduled runs beyond the queue into fires, and never makes them again', async () => {
    const graph = await scheduled({ maxActiveRuns: 1, maxQueuedRuns: 2 });
    const made: string[] = [];
    for (let index = 0; index < 5; index++) made.push(await make(graph, 'schedule'));
    const manual = await make(graph, 'manual');
    const last = await bench.store.getRun(made[4]!);
    await admit(graph);
    expect(await Promise.all(made.map(stateOf))).toEqual([
      'running',
      'queued',
      'queued',
      'gone',
      'gone',
    ]);
    expect(await stateOf(manual)).toBe('queued');
    const fires = await bench.store.listFires(graph.id);
    expect(fires.map((fire) => [fire.reason, fire.count, fire.runId])).toEqual([
      ['overlap', 1, made[0]],
      ['overlap', 1, made[0]],
    ]);
    expect(fires[0]?.from).toEqual(last?.logicalDate);
    // The fire is carried out once more by a leader that died: its slot is used.
    const again = await bench.store.createRun({
      dagId: graph.id,
      cause: 'schedule',
      slot: last!.slot,
      logicalDate: last!.logicalDate!,
    });
    expect(again).toEqual({ runId: made[4], created: false });
    expect(await bench.collections.tasks.countDocuments({ runId: made[4]! })).toBe(0);
    expect(await admit(graph)).toEqual([]);
  });

  it('lets a run with a later start take no place until then', async () => {
    const graph = await scheduled({ maxActiveRuns: 1 });
    const later = await make(graph, 'api', { delayMs: 3_600_000 });
    const now = await make(graph, 'api');
    expect(await bench.store.findDagsWithQueuedRuns(100)).toContain(graph.id);
    expect(await admit(graph)).toEqual([now]);
    await graph.work();
    expect(await admit(graph)).toEqual([]);
    expect(await bench.store.findDagsWithQueuedRuns(100)).not.toContain(graph.id);
    await bench.collections.runs.updateOne({ _id: later }, { $set: { dueAt: new Date(0) } });
    expect(await admit(graph)).toEqual([later]);
    const { notBefore, createdAt } = (await bench.store.getRun(later))!;
    expect(notBefore!.getTime() - createdAt.getTime()).toBe(3_600_000);
  });
});

describe('a start in the past', () => {
  it('puts a run before nobody who came first', async () => {
    const graph = await scheduled({ maxActiveRuns: 1 });
    const first = await make(graph, 'manual');
    const past = await make(graph, 'manual', { notBefore: new Date(0) });
    const { createdAt, notBefore } = (await bench.store.getRun(past))!;
    expect(notBefore).toEqual(new Date(0));
    const { dueAt } = (await bench.collections.runs.findOne({ _id: past }))!;
    expect(dueAt).toEqual(createdAt);
    expect(await admit(graph)).toEqual([first]);
    await graph.work();
    expect(await admit(graph)).toEqual([past]);
  });
});

describe('skip', () => {
  it('refuses a scheduled run that would wait, also behind a queued one; others queue', async () => {
    const graph = await scheduled({ overlap: 'skip', maxActiveRuns: 1 });
    const first = await make(graph, 'schedule');
    expect(await admit(graph)).toEqual([first]);
    const second = await make(graph, 'schedule');
    const manual = await make(graph, 'manual');
    expect(await admit(graph)).toEqual([]);
    expect([await stateOf(second), await stateOf(manual)]).toEqual(['gone', 'queued']);
    await graph.work();
    const third = await make(graph, 'schedule');
    expect(await admit(graph)).toEqual([manual]);
    expect(await stateOf(third)).toBe('gone');
    expect((await bench.store.countFires(graph.id)).overlap).toBe(2);
  });

  it('refuses it behind a queue that is longer than one look', async () => {
    const graph = await scheduled({ overlap: 'skip', maxActiveRuns: 2 });
    await Promise.all(Array.from({ length: 101 }, () => make(graph, 'manual')));
    const second = await make(graph, 'schedule');
    expect(await admit(graph)).toHaveLength(2);
    expect(await stateOf(second)).toBe('gone');
    expect((await bench.store.countFires(graph.id)).overlap).toBe(1);
  });

  it('keeps as many as there are places, in the order of the queue', async () => {
    const graph = await scheduled({ overlap: 'skip', maxActiveRuns: 3 });
    const made: string[] = [];
    for (const cause of ['schedule', 'manual', 'schedule', 'schedule', 'manual'] as const) {
      made.push(await make(graph, cause));
    }
    expect(await admit(graph)).toEqual(made.slice(0, 3));
    expect(await Promise.all(made.slice(3).map(stateOf))).toEqual(['gone', 'queued']);
  });

  it('does not refuse a run that has its place already, and only does not run yet', async () => {
    const graph = await scheduled({ overlap: 'skip', maxActiveRuns: 1 });
    const runId = await make(graph, 'schedule');
    // Whoever gave it its place has not come further.
    await bench.collections.dags.updateOne({ _id: graph.id }, { $set: { activeRunIds: [runId] } });
    await admit(graph);
    expect(await stateOf(runId)).toBe('queued');
    await bench.store.repairPlaces();
    expect(await stateOf(runId)).toBe('running');
    expect(await bench.store.listFires(graph.id)).toEqual([]);
  });
});

describe('cancel-previous', () => {
  it('ends all older scheduled runs, and starts when they have closed', async () => {
    const graph = await scheduled({ overlap: 'cancel-previous', maxActiveRuns: 2 });
    const oldest = await make(graph, 'schedule');
    await admit(graph);
    const task = await graph.claimOne();
    const manual = await make(graph, 'manual');
    const middle = await make(graph, 'schedule');
    const newest = await make(graph, 'schedule');
    expect(await admit(graph)).toEqual([manual]);
    expect([await stateOf(oldest), await stateOf(middle)]).toEqual(['running', 'cancelled']);
    expect(await stateOf(newest)).toBe('queued');
    // The lease of the old one has not ended yet.
    expect(await admit(graph)).toEqual([]);
    await graph.finish(task, { kind: 'cancelled', error: { name: 'E', message: 'aborted' } });
    await bench.store.propagate(task.taskId);
    expect(await stateOf(oldest)).toBe('cancelled');
    expect(await admit(graph)).toEqual([newest]);
  });

  it('starts beside nothing that took its place while it was looked whether it is alone', async () => {
    const graph = await scheduled({ overlap: 'cancel-previous', maxActiveRuns: 2 });
    const older = await make(graph, 'schedule');
    let begins = () => {};
    const isRead = new Promise<void>((resolve) => {
      begins = resolve;
    });
    // The DAG is read before the older one has its place, the queue when it is running and the newer one is there.
    const slow = await bench.connect(async ({ collection, method, args }, run) => {
      const [filter] = args as [{ dagId?: unknown }?];
      if (collection === 'dags') {
        const found = await run();
        begins();
        return found;
      }
      if (collection === 'runs' && method === 'find' && filter?.dagId !== undefined) {
        await isRead;
        if ((await stateOf(older)) === 'queued') {
          await admit(graph);
          await graph.claimOne();
          await make(graph, 'schedule');
        }
      }
      return run();
    });
    expect(await slow.admitDags([graph.id])).toEqual([]);
    expect(await stateOf(older)).toBe('running');
    expect((await bench.store.getDag(graph.id))?.activeRunIds).toEqual([older]);
  });
});

describe('allow', () => {
  it('takes no place, except for catch-up', async () => {
    const graph = await scheduled({ overlap: 'allow', maxActiveRuns: 1 });
    for (const cause of ['schedule', 'manual', 'api', 'catch-up', 'catch-up'] as const) {
      await make(graph, cause);
    }
    expect(await admit(graph)).toHaveLength(4);
    expect((await bench.store.getDag(graph.id))?.activeRunIds).toHaveLength(1);
  });
});

describe('a paused DAG', () => {
  it('admits neither scheduled nor catch-up runs; manual ones go on', async () => {
    const graph = await scheduled({ maxActiveRuns: 5 });
    await bench.store.pauseDag(graph.id);
    const waiting = [await make(graph, 'schedule'), await make(graph, 'catch-up')];
    const manual = await make(graph, 'manual');
    expect(await admit(graph)).toEqual([manual]);
    await bench.store.resumeDag(graph.id);
    expect(await admit(graph)).toEqual(waiting);
  });
});

describe('places', () => {
  it('are taken and given back by whoever is left, at every death of an admission', async () => {
    const graph = await scheduled({ maxActiveRuns: 1 });
    const deaths = await atEveryDeath(bench, {
      scene: () => make(graph, 'manual'),
      act: (store) => store.admitRuns(graph.id),
      async check(runId, where) {
        await bench.store.repairPlaces();
        await admit(graph);
        expect([where, await stateOf(runId)]).toEqual([where, 'running']);
        await graph.work();
        checkClosedRun(await graph.view(runId));
        expect((await bench.store.getDag(graph.id))?.activeRunIds).toEqual([]);
      },
    });
    expect(deaths).toBeGreaterThan(5);
  });

  it('are not lost at any death of a run that takes none', async () => {
    const graph = await scheduled({ overlap: 'allow' });
    await atEveryDeath(bench, {
      scene: () => make(graph, 'manual'),
      act: (store) => store.admitRuns(graph.id),
      async check(runId, where) {
        await bench.store.repairPlaces();
        await admit(graph);
        expect([where, await graph.work()]).toEqual([where, ['a', 'b']]);
        checkClosedRun(await graph.view(runId));
      },
    });
  });

  it('of runs that are closed or gone are given back', async () => {
    const graph = await scheduled({ maxActiveRuns: 2 });
    const closed = await make(graph, 'manual');
    await bench.store.cancelRun(closed);
    await bench.collections.dags.updateOne(
      { _id: graph.id },
      { $set: { activeRunIds: [closed, 'gone'] } },
    );
    expect(await bench.store.repairPlaces()).toBe(2);
    expect((await bench.store.getDag(graph.id))?.activeRunIds).toEqual([]);
  });

  it('refusals end as one line and no run, at every death', async () => {
    const graph = await scheduled({ overlap: 'skip' });
    await make(graph, 'schedule');
    await admit(graph);
    await atEveryDeath(bench, {
      scene: () => make(graph, 'schedule'),
      act: (store) => store.admitRuns(graph.id),
      async check(runId) {
        await admit(graph);
        expect(await stateOf(runId)).toBe('gone');
        expect(await bench.collections.slots.countDocuments({ runId, outcome: 'refused' })).toBe(1);
        expect(await bench.collections.tasks.countDocuments({ runId })).toBe(0);
      },
    });
    const fires = await bench.store.listFires(graph.id);
    const refused = await bench.collections.slots.countDocuments({ dagId: graph.id });
    expect(fires).toHaveLength(refused);
  });
});

describe('many DAGs at once', () => {
  it('one whose version cannot be read keeps none of the others waiting', async () => {
    const damaged = await scheduled({ overlap: 'allow' });
    const sound = await scheduled({ overlap: 'allow' });
    await make(damaged, 'manual');
    const runId = await make(sound, 'manual');
    await bench.collections.dagVersions.updateOne(
      { dagId: damaged.id },
      { $set: { definition: new Binary(Buffer.from('damaged')) } },
    );
    // A process that has not read the version before.
    const store = await bench.connect();
    await store.admitDags([damaged.id, sound.id]);
    expect(await stateOf(runId)).toBe('running');
    expect((await bench.store.getDag(damaged.id))?.broken).toContain('cannot be read');
    // The same code again: its version is stored anew.
    await store.deployDag(deployment(damaged.definition));
    expect((await bench.store.getDag(damaged.id))?.broken).toBeNull();
    expect(await store.admitDags([damaged.id])).toHaveLength(1);
  });

  it('each has its turn, however few are looked at in one call', async () => {
    const other = await Bench.open();
    try {
      const ids = ['e', 'a', 'd', 'c', 'b'].map((name) => `waits-${name}`);
      for (const id of ids) {
        await other.deploy(id, { cron: '0 0 1 1 *' });
        for (const day of [1, 2]) {
          const logicalDate = new Date(Date.UTC(2020, 0, day));
          const slot = dateSlot(logicalDate);
          await other.store.createRun({ dagId: id, cause: 'schedule', slot, logicalDate });
        }
        await other.store.pauseDag(id);
      }
      const ask = async (limit: number, after?: string) =>
        (await other.store.findDagsWithQueuedRuns(limit, after)).map((id) => id.slice(-1)).join('');
      expect(await ask(2)).toBe('ab');
      expect(await ask(2, 'waits-b')).toBe('cd');
      expect(await ask(2, 'waits-d')).toBe('ea');
      expect(await ask(10, 'waits-c')).toBe('deabc');
      expect(await ask(10, 'waits-e')).toBe('abcde');
      // By the name of one that is gone, too.
      expect(await ask(2, 'waits-bb')).toBe('cd');
      const answer = await other.db.command({
        explain: {
          distinct: 'runs',
          key: 'dagId',
          query: {
            state: 'queued',
            dagId: { $gt: 'waits-b' },
            materialized: true,
            dueAt: { $lte: new Date() },
          },
        },
      });
      expect(JSON.stringify(answer.queryPlanner.winningPlan)).not.toContain('COLLSCAN');
    } finally {
      await other.close();
    }
  });
});
