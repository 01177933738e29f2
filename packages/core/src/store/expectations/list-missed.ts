import type { Filter } from 'mongodb';
import {
  type ExpectationKind,
  expectationKinds,
  type MissedExpectation,
} from '../../model/expectation.js';
import type { MissedExpectationDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import type { MissedFilter } from '../verbs/expectation-verbs.js';
import { missedOfRun } from './record-missed.js';

/** Missed expectations of a DAG or of one run, newest first; default limit 100. */
export async function listMissed(
  context: StoreContext,
  filter: MissedFilter,
): Promise<MissedExpectation[]> {
  return find(
    context,
    'runId' in filter
      ? { _id: { $in: expectationKinds.map((kind) => missedOfRun(filter.runId, kind)) } }
      : { dagId: filter.dagId },
    filter.limit ?? 100,
  );
}

/** How many a DAG has missed, by kind; a stretch of fires that never became runs counts all of them. */
export async function countMissed(
  context: StoreContext,
  dagId: string,
): Promise<Partial<Record<ExpectationKind, number>>> {
  const groups = await context.collections.missed
    .aggregate<{ _id: ExpectationKind; count: number }>([
      { $match: { dagId } },
      { $group: { _id: '$kind', count: { $sum: '$count' } } },
    ])
    .toArray();
  return Object.fromEntries(groups.map(({ _id, count }) => [_id, count]));
}

/** Those that nobody has told about yet, the oldest first. */
export async function listUnannounced(
  context: StoreContext,
  limit: number,
): Promise<MissedExpectation[]> {
  const found = await context.collections.missed
    .find({ announced: false })
    .sort({ missedAt: 1 })
    .limit(limit)
    .toArray();
  return found.map(missedOf);
}

/** Notes that it was told. False when it was noted before. */
export async function markAnnounced(context: StoreContext, id: string): Promise<boolean> {
  const { matchedCount } = await context.collections.missed.updateOne(
    { _id: id, announced: false },
    { $set: { announced: true } },
  );
  return matchedCount === 1;
}

async function find(
  context: StoreContext,
  filter: Filter<MissedExpectationDocument>,
  limit: number,
): Promise<MissedExpectation[]> {
  const found = await context.collections.missed
    .find(filter)
    .sort({ missedAt: -1 })
    .limit(limit)
    .toArray();
  return found.map(missedOf);
}

function missedOf(document: MissedExpectationDocument): MissedExpectation {
  const { _id, dagId, kind, runId, logicalDate, count, expectedBy, missedAt } = document;
  return { id: _id, dagId, kind, runId, logicalDate, count, expectedBy, missedAt };
}
