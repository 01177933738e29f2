/**
 * What a leader's duties should have paid by now. Each kind is one indexed query: the one by which its duty finds it, with an
 * age. Places have none: an id in `activeRunIds` whose run is closed is looked at once more before it is told.
 */
import type { Collection, Document, Filter } from 'mongodb';
import { isClosedRun } from '../../model/states.js';
import type { StoreContext } from '../context.js';
import { openingOf, placeKey } from '../operations/place-key.js';
import { dueAtExpression } from '../schedule/dag-cursor.js';
import { NOW } from '../task-transitions.js';
import type { OwedKind, OwedWork } from '../verbs/examination-verbs.js';

const examplesAtMost = 5;
const countedAtMost = 10_000;

export async function examineOwed(context: StoreContext, olderThanMs: number): Promise<OwedWork[]> {
  const { tasks, runs, dags } = context.collections;
  const before = (field: string) => ({
    $expr: { $lte: [`$${field}`, { $subtract: [NOW, olderThanMs] }] },
  });
  const kinds: readonly (readonly [OwedKind, Collection<never>, Filter<Document>])[] = [
    ['expired-leases', tasks as never, { state: 'running', ...before('lease.expiresAt') }],
    ['unpropagated-tasks', tasks as never, { propagated: false, ...before('endedAt') }],
    ['half-made-runs', runs as never, { materialized: false, ...before('createdAt') }],
    [
      'half-started-runs',
      runs as never,
      { state: 'running', started: false, ...before('startedAt') },
    ],
    [
      'unfinished-cancellations',
      runs as never,
      { cancelling: true, ...before('cancelRequestedAt'), state: 'queued' },
    ],
    ['unfinished-retries', runs as never, { 'retrying.at': exists, ...before('retrying.at') }],
    [
      'unfinished-decisions',
      dags as never,
      { 'pending.from': exists, ...before('pending.decidedAt') },
    ],
    [
      'overdue-schedules',
      dags as never,
      {
        state: 'active',
        pausedAt: null,
        broken: null,
        nextFireAt: { $gt: new Date(0) },
        $expr: { $lte: [dueAtExpression, { $subtract: [NOW, olderThanMs] }] },
      },
    ],
  ];
  const found = await Promise.all(
    kinds.map(([kind, collection, filter]) => owed(kind, collection, filter)),
  );
  return [...found, await stalePlaces(context)].filter(({ count }) => count > 0);
}

const exists = { $exists: true };

async function owed(
  kind: OwedKind,
  collection: Collection<never>,
  filter: Filter<Document>,
): Promise<OwedWork> {
  // A count may not compare with the database's clock; ids are small.
  const found = await collection
    .find(filter as never, { projection: { _id: 1 } })
    .limit(countedAtMost)
    .toArray();
  const ids = found.map(({ _id }) => String(_id));
  return { kind, count: ids.length, examples: ids.slice(0, examplesAtMost) };
}

async function stalePlaces(context: StoreContext): Promise<OwedWork> {
  const first = await closedHolders(context);
  const second = first.size === 0 ? first : await closedHolders(context);
  const ids = [...first].filter((id) => second.has(id));
  return { kind: 'stale-places', count: ids.length, examples: ids.slice(0, examplesAtMost) };
}

/** Runs that hold a place and are closed or gone. */
async function closedHolders(context: StoreContext): Promise<Set<string>> {
  const { dags, backfills, runs } = context.collections;
  const taken = { activeRunIds: { $gt: '' } };
  const projection = { activeRunIds: 1 } as const;
  const holders = [
    ...(await dags.find(taken, { projection }).toArray()),
    ...(await backfills.find(taken, { projection }).toArray()),
  ].flatMap(({ activeRunIds }) => activeRunIds);
  const ids = holders.map((key) => openingOf(key)._id);
  const found = await runs
    .find({ _id: { $in: ids } }, { projection: { state: 1, openEpoch: 1 } })
    .toArray();
  const open = new Set(found.filter(({ state }) => !isClosedRun(state)).map(placeKey));
  return new Set(holders.filter((key) => !open.has(key)));
}
