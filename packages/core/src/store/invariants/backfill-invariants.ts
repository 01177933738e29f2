/** A backfill with the runs of its window, and what its counters count. */
import { isClosedRun, type RunState } from '../../model/states.js';
import type { BackfillDocument, RunDocument } from '../collections.js';
import { openingOf, placeKey } from '../operations/place-key.js';
import { type Audit, type Finding, type Inspection, type Invariant, show } from './inspection.js';
import { checkPlaces } from './place-invariants.js';

type Member = Pick<RunDocument, '_id' | 'state' | 'endedAt' | 'openEpoch' | 'dueAt'>;

interface BackfillSubject {
  readonly backfill: BackfillDocument;
  /** The runs behind `openRunIds` and `activeRunIds`; those that are gone are missing. */
  readonly window: ReadonlyMap<string, Member>;
  readonly running: readonly Member[];
  readonly queued: readonly Member[];
  /** How many of its runs are stored, by state. */
  readonly closed: Readonly<Partial<Record<RunState, number>>>;
}

const fields = { state: 1, endedAt: 1, openEpoch: 1, dueAt: 1 } as const;

const backfillPlaces: Invariant<BackfillSubject> = {
  name: 'backfill-places',
  *check({ backfill, window, running }, audit) {
    const subject = `backfill ${backfill._id}`;
    const { activeRunIds, openRunIds, maxActive } = backfill;
    yield* checkPlaces(subject, activeRunIds, window, audit);
    if (activeRunIds.length > maxActive) {
      const found = `${activeRunIds.length}`;
      yield { subject: `${subject} places`, expected: `at most ${maxActive}`, found };
    }
    for (const id of activeRunIds) {
      if (openRunIds.includes(id)) continue;
      yield { subject: `${subject} run ${id}`, expected: 'in openRunIds', found: 'a place only' };
    }
    for (const run of running) {
      if (activeRunIds.includes(placeKey(run))) continue;
      yield { subject: `${subject} run ${run._id}`, expected: 'a place', found: 'none' };
    }
  },
};

const backfillCounters: Invariant<BackfillSubject> = {
  name: 'backfill-counters',
  *check({ backfill, closed }, audit) {
    const subject = `backfill ${backfill._id}`;
    const { total, planned, cursor, skipped, succeeded, failed, cancelled, openRunIds } = backfill;
    const sum = skipped + succeeded + failed + cancelled + openRunIds.length + planned - cursor;
    if (sum !== total || cursor > planned) {
      yield {
        subject,
        expected: `${total} dates, each counted once`,
        found: `${sum} (${skipped} skipped, ${succeeded} succeeded, ${failed} failed, ${cancelled} cancelled, ${openRunIds.length} open, ${planned - cursor} to come)`,
      };
    }
    // A run closes before it is counted; retention takes runs that were.
    const uncounted = openRunIds.length;
    yield* checkCount(`${subject} succeeded`, succeeded + uncounted, closed.succeeded ?? 0);
    yield* checkCount(`${subject} failed`, failed + uncounted, closed.failed ?? 0);
    // Dates that had no turn count as cancelled, too, without a run.
    const isEnded = !['running', 'paused'].includes(backfill.state);
    if (isEnded !== (backfill.endedAt !== null)) {
      const expected = `${isEnded ? 'an' : 'no'} end, being ${backfill.state}`;
      yield { subject: `${subject} end`, expected, found: show(backfill.endedAt) };
    }
    const isDone = cursor >= planned && openRunIds.length === 0;
    if (isEnded && backfill.state !== 'cancelled' && !isDone) {
      yield {
        subject: `${subject} state`,
        expected: 'open, as dates are left',
        found: backfill.state,
      };
    }
    if (!isEnded && isDone && audit.isOverdue(backfill.createdAt)) {
      yield {
        subject: `${subject} state`,
        expected: 'ended, as all is done',
        found: backfill.state,
      };
    }
  },
};

function* checkCount(subject: string, most: number, there: number): Iterable<Finding> {
  if (there <= most) return;
  yield { subject, expected: `at most ${most} closed runs, as it counts`, found: `${there}` };
}

const nothingWaits: Invariant<BackfillSubject> = {
  name: 'nothing-left-undone',
  *check({ backfill, window, queued }, audit) {
    const subject = `backfill ${backfill._id}`;
    for (const key of backfill.openRunIds) {
      const { _id, openEpoch } = openingOf(key);
      const run = window.get(_id);
      // A retry that is being prepared has its key here before its run is open: the run's own mark says so.
      if (run !== undefined && run.openEpoch < openEpoch) continue;
      const since = run === undefined ? backfill.createdAt : run.endedAt;
      if (run !== undefined && !isClosedRun(run.state)) continue;
      if (!audit.isOverdue(since)) continue;
      const expected = 'counted, as it is closed';
      yield { subject: `${subject} run ${_id}`, expected, found: `open since ${show(since)}` };
    }
    if (backfill.state === 'paused') return;
    const isFull = backfill.activeRunIds.length >= backfill.maxActive;
    const isStuck = backfill.state === 'running' && !isFull;
    for (const run of queued) {
      const isStray = backfill.state !== 'running';
      if (!(isStray || isStuck) || !audit.isOverdue(run.dueAt)) continue;
      const expected = isStray ? 'cancelled, as its backfill has ended' : 'admitted';
      yield { subject: `run ${run._id}`, expected, found: `queued since ${show(run.dueAt)}` };
    }
    const hasRoom = backfill.openRunIds.length < backfill.maxActive;
    if (isStuck && hasRoom && backfill.cursor < backfill.planned) {
      if (!audit.isOverdue(backfill.createdAt)) return;
      const found = `${backfill.planned - backfill.cursor} dates without a turn`;
      yield { subject: `${subject} plan`, expected: 'a full window', found };
    }
  },
};

export const backfills: Inspection<BackfillSubject> = {
  async *read(audit) {
    const cursor = audit.context.collections.backfills
      .find(audit.ofDags, { projection: { _id: 1 } })
      .sort({ _id: 1 });
    for (let one = await cursor.next(); one !== null; one = await cursor.next()) {
      const subject = await subjectOf(audit, one._id);
      if (subject === null) continue;
      audit.counts.backfills += 1;
      yield subject;
    }
  },
  again: (audit, { backfill }) => subjectOf(audit, backfill._id),
  invariants: [backfillPlaces, backfillCounters, nothingWaits],
};

/** The closed runs are counted before the backfill is read, so that its counters are never behind them. */
async function subjectOf(audit: Audit, backfillId: string): Promise<BackfillSubject | null> {
  const { backfills: collection, runs } = audit.context.collections;
  const counted = await runs
    .aggregate<{ _id: RunState; count: number }>([
      { $match: { backfillId, openEpoch: 0 } },
      { $group: { _id: '$state', count: { $sum: 1 } } },
    ])
    .toArray();
  const backfill = await collection.findOne({ _id: backfillId });
  if (backfill === null) return null;
  const keys = [...backfill.openRunIds, ...backfill.activeRunIds];
  const ids = [...new Set(keys.map((key) => openingOf(key)._id))];
  const [window, open] = await Promise.all([
    runs.find({ _id: { $in: ids } }, { projection: fields }).toArray(),
    runs
      .find({ backfillId, state: { $in: ['queued', 'running'] } }, { projection: fields })
      .toArray(),
  ]);
  return {
    backfill,
    window: new Map(window.map((run) => [run._id, run])),
    running: open.filter((run) => run.state === 'running'),
    queued: open.filter((run) => run.state === 'queued'),
    closed: Object.fromEntries(counted.map(({ _id, count }) => [_id, count])),
  };
}
