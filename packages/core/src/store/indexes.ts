/**
 * Every index of Flowline, in one place. What one query asks for is one index; indexes on states that few documents are in are
 * partial, so that a long history costs a claim nothing.
 */
import type { Db, IndexDescription } from 'mongodb';
import type { Collections } from './collections.js';

const retention: IndexDescription = {
  key: { expireAt: 1 },
  name: 'retention',
  expireAfterSeconds: 0,
};

/** Every index, by collection. `name` is stable: `doctor` and `explain` name it. */
export const indexes: Readonly<Record<keyof Collections, readonly IndexDescription[]>> = {
  dags: [
    // What is due, and when the scheduler has to look again: equality on the first three.
    { key: { state: 1, pausedAt: 1, broken: 1, nextFireAt: 1 }, name: 'due' },
    // Decisions whose writer died. Nearly always empty.
    {
      key: { 'pending.from': 1 },
      name: 'pending',
      partialFilterExpression: { 'pending.from': { $exists: true } },
    },
    { key: { project: 1, state: 1 }, name: 'project' },
    { key: { activeRunIds: 1 }, name: 'places' },
  ],
  dagVersions: [{ key: { dagId: 1, createdAt: -1 }, name: 'history' }],
  runs: [
    { key: { dagId: 1, slot: 1 }, name: 'slot', unique: true },
    { key: { dagId: 1, _id: -1 }, name: 'newest' },
    // Queued runs in order of admission; counts by state.
    { key: { dagId: 1, state: 1, dueAt: 1, _id: 1 }, name: 'admission' },
    { key: { dagId: 1, logicalDate: 1, generation: 1 }, name: 'dates' },
    // Which DAGs have a run to admit.
    { key: { state: 1, dagId: 1, materialized: 1, dueAt: 1 }, name: 'queued' },
    {
      key: { backfillId: 1, state: 1 },
      name: 'backfill',
      // An equality with a text implies this; `$type` it would not.
      partialFilterExpression: { backfillId: { $gt: '' } },
    },
    // Runs of backfills that wait for a place: few, and none that outlived its backfill.
    {
      key: { backfillId: 1 },
      name: 'backfill-queued',
      partialFilterExpression: { backfillId: { $gt: '' }, state: 'queued' },
    },
    {
      key: { createdAt: 1 },
      name: 'half-made',
      partialFilterExpression: { materialized: false },
    },
    // Queued runs too: asked for with `state: 'running'`.
    { key: { state: 1 }, name: 'half-started', partialFilterExpression: { started: false } },
    // Retries whose caller died. Nearly always empty.
    {
      key: { 'retrying.at': 1 },
      name: 'retrying',
      partialFilterExpression: { 'retrying.at': { $exists: true } },
    },
    {
      key: { cancelRequestedAt: 1 },
      name: 'cancelling',
      partialFilterExpression: { cancelling: true },
    },
    // Whose expectations are to be judged next. Only runs of DAGs that have any are in it.
    {
      key: { 'expects.by': 1 },
      name: 'expected',
      partialFilterExpression: { 'expects.by': { $exists: true } },
    },
    retention,
  ],
  tasks: [
    // The claim: equality on state, DAG and pool, then on serve keys, then priority and age.
    {
      key: { state: 1, dagId: 1, pool: 1, serveKey: 1, priority: -1, readyAt: 1 },
      name: 'claim',
      partialFilterExpression: { state: 'ready' },
    },
    // Is anything open; what a run's tasks are.
    { key: { runId: 1, state: 1 }, name: 'run' },
    // "Any open upstream?" of a join above the limit of fan-in.ts.
    {
      key: { runId: 1, feeds: 1, state: 1 },
      name: 'feeds',
      partialFilterExpression: { feeds: { $exists: true } },
    },
    {
      key: { 'lease.expiresAt': 1 },
      name: 'expiry',
      partialFilterExpression: { state: 'running' },
    },
    {
      key: { 'lease.runner': 1 },
      name: 'holder',
      partialFilterExpression: { state: 'running' },
    },
    { key: { delayedUntil: 1 }, name: 'delayed', partialFilterExpression: { state: 'delayed' } },
    {
      key: { dagId: 1, delayedUntil: 1 },
      name: 'delayed-by-dag',
      partialFilterExpression: { state: 'delayed' },
    },
    { key: { endedAt: 1 }, name: 'unpropagated', partialFilterExpression: { propagated: false } },
    retention,
  ],
  slots: [
    { key: { dagId: 1, logicalDate: 1, generation: 1 }, name: 'dates' },
    // "Which coalesced run covers these dates?" of a backfill's plan.
    {
      key: { dagId: 1, logicalDate: 1 },
      name: 'coalesced',
      partialFilterExpression: { coalesced: { $gt: 1 } },
    },
    retention,
  ],
  leases: [],
  presence: [],
  runners: [{ key: { heartbeatAt: -1 }, name: 'heartbeat' }, retention],
  backfills: [
    { key: { state: 1, createdAt: 1 }, name: 'state' },
    { key: { dagId: 1, createdAt: -1 }, name: 'newest' },
    { key: { activeRunIds: 1 }, name: 'places' },
    // Whose open runs have to be counted when they close, also after a cancellation.
    {
      key: { state: 1 },
      name: 'open',
      partialFilterExpression: { 'openRunIds.0': { $exists: true } },
    },
  ],
  backfillDates: [{ key: { backfillId: 1, start: 1 }, name: 'plan' }],
  fires: [{ key: { dagId: 1, from: 1 }, name: 'span', unique: true }],
  missed: [
    { key: { dagId: 1, missedAt: -1 }, name: 'newest' },
    // What no hook was told yet. Nearly always empty.
    {
      key: { announced: 1, missedAt: 1 },
      name: 'unannounced',
      partialFilterExpression: { announced: false },
    },
    retention,
  ],
  logs: [
    { key: { runId: 1, storedAt: 1, _id: 1 }, name: 'run' },
    { key: { runId: 1, jobId: 1, storedAt: 1, _id: 1 }, name: 'job' },
    retention,
  ],
};

/**
 * Creates collections and indexes. Idempotent, and safe from many processes at once: on a server that builds the same
 * index already the call waits for it, and "already exists" is what was asked for.
 */
export async function createIndexes(db: Db): Promise<void> {
  const existing = new Set<string>();
  for await (const one of db.listCollections({}, { nameOnly: true })) existing.add(one.name);
  await Promise.all(
    (Object.keys(indexes) as (keyof Collections)[]).map(async (name) => {
      if (!existing.has(name)) await createCollection(db, name);
      const wanted = indexes[name];
      if (wanted.length > 0) await db.collection(name).createIndexes([...wanted]);
    }),
  );
}

async function createCollection(db: Db, name: string): Promise<void> {
  try {
    await db.createCollection(name);
  } catch (error) {
    // 48 NamespaceExists: another process was first.
    if ((error as { code?: unknown }).code !== 48) throw error;
  }
}
