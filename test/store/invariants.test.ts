import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DagDefinition } from '../../packages/core/src/model/definition.js';
import { dateSlot } from '../../packages/core/src/model/ids.js';
import type {
  AttemptDocument,
  RunDocument,
  TaskDocument,
} from '../../packages/core/src/store/collections.js';
import {
  type AuditOptions,
  type AuditReport,
  invariantNames,
} from '../../packages/core/src/store/verbs/audit-verbs.js';
import { failed, Graph } from './graphs.js';
import { Bench, betweenFires, minutesBefore } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

const atRest = { atRest: true, leaseMs: 0, pollMs: 0 } as const;

async function audit(dagId: string, options: AuditOptions = atRest): Promise<AuditReport> {
  return bench.store.audit({ ...options, dagIds: [dagId] });
}

/** The invariants that are broken, each once. */
async function broken(dagId: string, options?: AuditOptions): Promise<string[]> {
  const { violations } = await audit(dagId, options);
  for (const one of violations) expect(one.subject + one.expected + one.found).not.toBe('');
  return [...new Set(violations.map((one) => one.invariant))];
}

const edges = { a: [], b: ['a'] };

/** A closed run of two jobs, one after the other. */
async function closedRun(): Promise<{ graph: Graph; runId: string }> {
  const graph = await Graph.deploy(bench, edges);
  const runId = await graph.start();
  await graph.work();
  expect(await broken(graph.id)).toEqual([]);
  return { graph, runId };
}

const setTask = (id: string, fields: Partial<TaskDocument>) =>
  bench.collections.tasks.updateOne({ _id: id }, { $set: fields });
const setRun = (id: string, fields: Partial<RunDocument>) =>
  bench.collections.runs.updateOne({ _id: id }, { $set: fields });

/** Changes one attempt of a task. */
async function setAttempt(id: string, at: number, fields: Partial<AttemptDocument>) {
  const task = await bench.collections.tasks.findOne({ _id: id });
  const attempts = task!.attempts.map((one, index) => (index === at ? { ...one, ...fields } : one));
  await setTask(id, { attempts });
}

const day = 24 * 60;

/** A scheduled DAG whose fires of the last ten days are settled. */
async function settledDag(policy: DagDefinition['misfire']['policy'], days = 10): Promise<string> {
  const id = bench.id('settled');
  await bench.deploy(id, betweenFires(24), {
    misfire: { policy, maxCatchUp: 3 },
    overlap: 'allow',
  });
  const { nextFireAt } = await bench.dag(id);
  const first = minutesBefore(nextFireAt!, days * day);
  await bench.rewind(id, first);
  await bench.collections.dags.updateOne(
    { _id: id },
    { $set: { scheduledFrom: minutesBefore(first, 0.5) } },
  );
  await bench.settle(id);
  return id;
}

async function drain(id: string): Promise<void> {
  do await bench.store.admitRuns(id);
  while ((await bench.work(id)).length > 0);
}

describe('a healthy history', () => {
  it('breaks nothing: retries, losses, failures, skips, hand-backs, cancellations', async () => {
    const graph = await Graph.deploy(
      bench,
      { a: [], b: ['a'], c: ['a'], d: ['b', 'c'], e: [] },
      { overlap: 'allow', retention: { runsMs: 30 * 86_400_000, logsMs: 86_400_000 } },
    );
    const retried = await graph.start();
    const error = { name: 'E', message: 'm' };
    for (const outcome of [
      { kind: 'retry', error, delayMs: 0 },
      { kind: 'returned', reason: 'drain' },
    ] as const) {
      const [task] = await graph.claim();
      await graph.finish(task!, outcome);
    }
    await graph.claim(2);
    await bench.store.rescueRunner(graph.runner);
    await graph.work({ b: failed });
    expect(await broken(graph.id)).toEqual([]);
    await bench.store.retryRun(retried);
    await bench.store.admitRuns(graph.id);
    expect(await broken(graph.id, {})).toEqual([]);
    await graph.work();
    await graph.start();
    await graph.work({ c: { kind: 'skipped', reason: 'not today' } });
    const cancelled = await graph.start();
    const held = await graph.claimOne();
    await bench.store.cancelRun(cancelled);
    await graph.finish(held);
    await bench.store.propagate(held.taskId);
    await bench.store.payPropagation(0);
    const report = await audit(graph.id);
    expect(report.violations).toEqual([]);
    expect(report.counts).toMatchObject({ dags: 1, runs: 3, tasks: 15 });
    expect(report.counts.attempts).toBeGreaterThan(10);
  });

  it.each(['coalesce', 'catch-up', 'skip'] as const)(
    'breaks nothing: a schedule under %s',
    async (policy) => {
      const id = await settledDag(policy, 150);
      await drain(id);
      const report = await audit(id);
      expect(report.violations).toEqual([]);
      expect(report.counts.fires).toBeGreaterThanOrEqual(150);
      // Retention takes the runs; their slots remember.
      await bench.collections.runs.deleteMany({ dagId: id });
      await bench.collections.tasks.deleteMany({ dagId: id });
      expect(await broken(id)).toEqual([]);
    },
  );

  it('breaks nothing: a pause, a backfill over it, and a retirement', async () => {
    const id = await settledDag('catch-up');
    const { nextFireAt } = await bench.dag(id);
    await bench.store.pauseDag(id);
    const { _id } = await bench.dag(id);
    const from = minutesBefore(nextFireAt!, 4 * day);
    await bench.store.createBackfill({ dagId: _id, from, maxActive: 2, reprocess: 'all' });
    while ((await bench.store.listBackfills({ dagId: id, state: ['running'] })).length > 0) {
      await bench.store.feedBackfills();
      await bench.work(id);
    }
    await bench.store.resumeDag(id, 'all');
    await drain(id);
    expect(await bench.store.retireDag(id, 'tests')).toBe(true);
    const report = await audit(id);
    expect(report.violations).toEqual([]);
    expect(report.counts.backfills).toBe(1);
  });

  it('breaks nothing while work is under way', async () => {
    const graph = await Graph.deploy(bench, edges);
    await graph.start();
    const task = await graph.claimOne();
    await graph.start();
    expect(await broken(graph.id, {})).toEqual([]);
    await graph.finish(task);
    // Its dependents do not know yet.
    expect(await broken(graph.id, {})).toEqual([]);
  });
});

describe('of a task', () => {
  it('one-success', async () => {
    const { graph, runId } = await closedRun();
    const [first] = (await graph.task(runId, 'a')).attempts;
    const { loss: _, ...done } = first!;
    const second = { ...done, n: 2, token: 2, startedAt: done.endedAt! };
    await setTask(`${runId}/a`, { attempts: [done, second], token: 2 });
    // The first attempt after a success is a stale write, too.
    expect(await broken(graph.id)).toEqual(['one-success', 'no-stale-write']);
  });

  it('attempts-without-gap', async () => {
    const { graph, runId } = await closedRun();
    await setAttempt(`${runId}/a`, 0, { n: 2 });
    expect(await broken(graph.id)).toEqual(['attempts-without-gap']);
  });

  it('tokens-grow', async () => {
    const { graph, runId } = await closedRun();
    await setTask(`${runId}/a`, { token: 7 });
    expect(await broken(graph.id)).toEqual(['tokens-grow']);
    const { graph: other, runId: otherRun } = await closedRun();
    await setAttempt(`${otherRun}/a`, 0, { token: 0 });
    expect(await broken(other.id)).toEqual(['tokens-grow']);
  });

  it('no-stale-write: an open attempt of a closed task, or an end by another attempt', async () => {
    const { graph, runId } = await closedRun();
    await setAttempt(`${runId}/a`, 0, { outcome: null, endedAt: null });
    expect(await broken(graph.id)).toEqual(['no-stale-write']);
    const { graph: other, runId: otherRun } = await closedRun();
    await setAttempt(`${otherRun}/b`, 0, { outcome: 'returned' });
    expect(await broken(other.id)).toEqual(['no-stale-write']);
  });

  it('no-stale-write: a lease that is not that of the last attempt', async () => {
    const graph = await Graph.deploy(bench, edges);
    const runId = await graph.start();
    await graph.claimOne();
    const { lease } = (await bench.collections.tasks.findOne({ _id: `${runId}/a` }))!;
    await setTask(`${runId}/a`, { lease: { ...lease!, runner: 'somebody' } });
    expect(await broken(graph.id, {})).toEqual(['no-stale-write']);
  });

  it('task-counters', async () => {
    const { graph, runId } = await closedRun();
    await setTask(`${runId}/a`, { losses: 1 });
    expect(await broken(graph.id)).toEqual(['task-counters']);
  });

  it('dependencies-first', async () => {
    const { graph, runId } = await closedRun();
    const { attempts } = await graph.task(runId, 'a');
    const startedAt = new Date(attempts[0]!.startedAt.getTime() - 1_000);
    await setAttempt(`${runId}/b`, 0, { startedAt });
    expect(await broken(graph.id)).toEqual(['dependencies-first']);
    const waiting = await Graph.deploy(bench, edges);
    const waitingRun = await waiting.start();
    await setTask(`${waitingRun}/b`, { state: 'ready' });
    expect(await broken(waiting.id, {})).toEqual(['dependencies-first']);
  });

  it('no-orphan-task', async () => {
    const { graph, runId } = await closedRun();
    await setTask(`${runId}/a`, { runId: 'gone' });
    await bench.collections.tasks.deleteMany({ runId });
    await bench.collections.runs.deleteMany({ _id: runId });
    expect(await broken(graph.id)).toEqual(['no-orphan-task']);
  });
});

describe('of a run', () => {
  it('run-has-end', async () => {
    const { graph, runId } = await closedRun();
    await setRun(runId, { endedAt: null });
    expect(await broken(graph.id)).toEqual(['run-has-end']);
    await setRun(runId, { endedAt: new Date(0) });
    expect(await broken(graph.id)).toEqual(['run-has-end']);
  });

  it('run-is-whole', async () => {
    const { graph, runId } = await closedRun();
    await bench.collections.tasks.deleteOne({ _id: `${runId}/b` });
    expect(await broken(graph.id)).toEqual(['run-is-whole']);
    const { graph: other, runId: otherRun } = await closedRun();
    await setRun(otherRun, { state: 'failed' });
    expect(await broken(other.id)).toEqual(['run-is-whole']);
  });

  it('no-open-task-in-closed-run', async () => {
    const graph = await Graph.deploy(bench, { a: [] });
    const runId = await graph.start();
    await graph.work();
    await setTask(`${runId}/a`, { state: 'blocked', attempts: [], token: 0, endedAt: null });
    expect(await broken(graph.id)).toEqual(['no-open-task-in-closed-run']);
  });

  it('one-run-per-date and one-run-per-slot, where the unique index is gone', async () => {
    const own = await Bench.open();
    try {
      const id = own.id();
      await own.deploy(id);
      await own.collections.runs.dropIndex('slot');
      const logicalDate = new Date(Date.UTC(2020, 0, 1));
      const slot = dateSlot(logicalDate);
      await own.store.createRun({ dagId: id, cause: 'schedule', slot, logicalDate });
      await own.store.createRun({ dagId: id, cause: 'schedule', slot, logicalDate });
      const { violations } = await own.store.audit();
      expect(violations.map((one) => one.invariant)).toEqual([
        'one-run-per-date',
        'one-run-per-slot',
      ]);
    } finally {
      await own.close();
    }
  });

  it('slot-remembers-run', async () => {
    const graph = await Graph.deploy(bench, { a: [] });
    const slot = 'k:mine';
    const { runId } = await bench.store.createRun({ dagId: graph.id, cause: 'api', slot });
    await bench.store.admitRuns(graph.id);
    await graph.work();
    expect(await broken(graph.id)).toEqual([]);
    const { slots } = bench.collections;
    await slots.updateOne({ runId }, { $set: { outcome: 'failed' } });
    expect(await broken(graph.id)).toEqual(['slot-remembers-run']);
    await slots.deleteOne({ runId });
    expect(await broken(graph.id)).toEqual(['slot-remembers-run']);
  });

  it('no-early-fire', async () => {
    const id = await settledDag('catch-up');
    await drain(id);
    const run = (await bench.collections.runs.findOne({ dagId: id }))!;
    await setRun(run._id, { createdAt: minutesBefore(run.logicalDate!, 1) });
    expect(await broken(id)).toEqual(['no-early-fire']);
  });
});

describe('of a DAG', () => {
  it('places-match-runs: a place of a closed run, and a run without a place', async () => {
    const { graph, runId } = await closedRun();
    const { dags } = bench.collections;
    await dags.updateOne({ _id: graph.id }, { $set: { activeRunIds: [runId] } });
    expect(await broken(graph.id)).toEqual(['places-match-runs']);
    // A place is given back a moment after the run has closed.
    expect(await broken(graph.id, {})).toEqual([]);
    const open = await Graph.deploy(bench, edges);
    await open.start();
    await dags.updateOne({ _id: open.id }, { $set: { activeRunIds: [] } });
    expect(await broken(open.id, {})).toEqual(['places-match-runs']);
  });

  it('every-fire-accounted: a date of no run and no line, and one of both', async () => {
    const id = await settledDag('catch-up');
    await drain(id);
    const { runs, slots, fires, tasks } = bench.collections;
    const line = (await fires.findOneAndDelete({ dagId: id }))!;
    const { violations } = await audit(id);
    expect(violations).toEqual([
      {
        invariant: 'every-fire-accounted',
        subject: `dag ${id} fire ${line.from.toISOString()}`,
        expected: 'a run or a line',
        found: 'nothing',
      },
    ]);
    const run = (await runs.findOne({ dagId: id }))!;
    const at = run.logicalDate!;
    await fires.insertMany([line, { ...line, _id: `${id}/both`, from: at, to: at }]);
    expect(await broken(id)).toEqual(['every-fire-accounted']);
    await fires.deleteOne({ _id: `${id}/both` });
    expect(await broken(id)).toEqual([]);
    await runs.deleteOne({ _id: run._id });
    await slots.deleteOne({ runId: run._id });
    await tasks.deleteMany({ runId: run._id });
    expect(await broken(id)).toEqual(['every-fire-accounted']);
  });

  it('every-fire-accounted: a coalesced run or a span that counts wrong', async () => {
    const id = await settledDag('coalesce');
    await drain(id);
    const coalesced = { dagId: id, coalesced: { $gt: 1 } };
    const { runs, fires } = bench.collections;
    await runs.updateOne(coalesced, { $inc: { coalesced: 1 } });
    expect(await broken(id)).toEqual(['every-fire-accounted']);
    const other = await settledDag('skip', 150);
    await drain(other);
    await fires.updateOne({ dagId: other, count: { $gt: 1 } }, { $inc: { count: -1 } });
    expect(await broken(other)).toEqual(['every-fire-accounted']);
  });

  it('cursor-keeps-up', async () => {
    const id = bench.id('behind');
    await bench.deploy(id, betweenFires(24));
    expect(await broken(id)).toEqual([]);
    await bench.rewind(id, minutesBefore((await bench.dag(id)).nextFireAt!, 5 * day));
    expect(await broken(id)).toEqual(['cursor-keeps-up']);
    // Of a live system nobody can say that its leader will not come to it.
    expect(await broken(id, {})).toEqual([]);
  });
});

describe('of a backfill', () => {
  async function filled(): Promise<{ id: string; dagId: string }> {
    const dagId = await settledDag('skip');
    const { nextFireAt } = await bench.dag(dagId);
    const from = minutesBefore(nextFireAt!, 2 * day);
    const { id } = await bench.store.createBackfill({ dagId, from, reprocess: 'all' });
    while ((await bench.backfill(id)).endedAt === null) {
      await bench.store.feedBackfills();
      await bench.work(dagId);
    }
    await drain(dagId);
    expect(await broken(dagId)).toEqual([]);
    return { id, dagId };
  }

  it('backfill-counters', async () => {
    const { id, dagId } = await filled();
    const { backfills } = bench.collections;
    await backfills.updateOne({ _id: id }, { $inc: { succeeded: 1 } });
    expect(await broken(dagId)).toEqual(['backfill-counters']);
    await backfills.updateOne({ _id: id }, { $inc: { succeeded: -2, failed: 1 } });
    expect(await broken(dagId)).toEqual(['backfill-counters']);
  });

  it('backfill-places', async () => {
    const { id, dagId } = await filled();
    const run = await bench.collections.runs.findOne({ backfillId: id });
    await bench.collections.backfills.updateOne(
      { _id: id },
      { $set: { activeRunIds: [run!._id] } },
    );
    expect(await broken(dagId)).toEqual(['backfill-places']);
  });
});

describe('at rest', () => {
  const undone = ['nothing-left-undone'];

  it('nothing is ready, running or due, and every mark is paid', async () => {
    const graph = await Graph.deploy(bench, edges);
    await graph.start();
    expect(await broken(graph.id)).toEqual(undone);
    // It has not been ready for long.
    expect(await broken(graph.id, { atRest: true })).toEqual([]);
    const task = await graph.claimOne();
    expect(await broken(graph.id)).toEqual(undone);
    await graph.finish(task);
    expect(await broken(graph.id)).toEqual(undone);
    await bench.store.propagate(task.taskId);
    await graph.work();
    expect(await broken(graph.id)).toEqual([]);
  });

  it('nothing waits for what has ended', async () => {
    const graph = await Graph.deploy(bench, edges);
    const runId = await graph.start();
    const task = await graph.claimOne();
    await graph.finish(task);
    // As if the mark had never been set.
    await setTask(`${runId}/a`, { propagated: true });
    expect(await broken(graph.id)).toEqual(undone);
    await setTask(`${runId}/b`, { state: 'cancelled', endedAt: new Date(), propagated: true });
    expect(await broken(graph.id)).toEqual(undone);
  });

  it('no run is half made, half started, half refused, half cancelled or left in the queue', async () => {
    for (const fields of [
      { materialized: false },
      { started: false },
      { cancelling: true, cancelRequestedAt: new Date(0) },
    ]) {
      const graph = await Graph.deploy(bench, { a: [] });
      const runId = await graph.start();
      await setTask(`${runId}/a`, { state: 'delayed', delayedUntil: new Date(8e14) });
      expect(await broken(graph.id)).toEqual([]);
      await setRun(runId, fields);
      expect([fields, await broken(graph.id)]).toEqual([fields, undone]);
    }
    const graph = await Graph.deploy(bench, { a: [] });
    const { runId } = await bench.store.createRun({ dagId: graph.id, cause: 'api' });
    expect(await broken(graph.id)).toEqual(undone);
    await setRun(runId, { refused: 'overlap' });
    expect(await broken(graph.id)).toEqual(undone);
  });
});

describe('docs/invariants.md', () => {
  it('lists every invariant, and no other', () => {
    const page = readFileSync(new URL('../../docs/invariants.md', import.meta.url), 'utf8');
    const listed = [...page.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
    expect(listed).toEqual([...invariantNames]);
  });
});
