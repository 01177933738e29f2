import { NotFoundError } from '../../errors.js';
import type { Backfill } from '../../model/run.js';
import type { BackfillState } from '../../model/states.js';
import type { BackfillDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { fromPayload } from '../payload/payload.js';

/** Null when there is no such backfill. */
export async function getBackfill(context: StoreContext, id: string): Promise<Backfill | null> {
  const backfill = await context.collections.backfills.findOne({ _id: id });
  return backfill === null ? null : toBackfill(backfill);
}

/** Newest first. Default limit 100. */
export async function listBackfills(
  context: StoreContext,
  filter: {
    readonly dagId?: string;
    readonly state?: readonly BackfillState[];
    readonly limit?: number;
  } = {},
): Promise<Backfill[]> {
  const found = await context.collections.backfills
    .find({
      ...(filter.dagId === undefined ? {} : { dagId: filter.dagId }),
      ...(filter.state === undefined ? {} : { state: { $in: [...filter.state] } }),
    })
    // Ids grow with the database's time.
    .sort({ _id: -1 })
    .limit(filter.limit ?? 100)
    .toArray();
  return found.map(toBackfill);
}

const durationsRead = 20;

/** How long the newest succeeded runs of a DAG took, of whatever cause, in milliseconds. Runs of a part of the graph do not count. */
export async function readDurations(context: StoreContext, dagId: string): Promise<number[]> {
  const found = await context.collections.runs
    .find(
      { dagId, state: 'succeeded', startedAt: { $ne: null }, part: { $exists: false } },
      { projection: { startedAt: 1, endedAt: 1 } },
    )
    .sort({ dueAt: -1, _id: -1 })
    .limit(durationsRead)
    .toArray();
  return found.map(({ startedAt, endedAt }) => endedAt!.getTime() - startedAt!.getTime());
}

/** What every verb on a backfill that is not there throws. */
export function noSuchBackfill(id: string): NotFoundError {
  return new NotFoundError(`There is no backfill ${id}.`, {
    hint: 'flow backfill ls lists them.',
  });
}

/** Every date is in exactly one of the counts, at any moment. */
export function toBackfill(backfill: BackfillDocument): Backfill {
  const running = backfill.activeRunIds.length;
  return {
    id: backfill._id,
    dagId: backfill.dagId,
    version: backfill.version,
    from: backfill.from,
    to: backfill.to,
    state: backfill.state,
    maxActive: backfill.maxActive,
    order: backfill.order,
    reprocess: backfill.reprocess,
    jobs: backfill.jobs ?? null,
    params: fromPayload(backfill.params),
    reason: backfill.reason,
    createdAt: backfill.createdAt,
    endedAt: backfill.endedAt,
    total: backfill.total,
    succeeded: backfill.succeeded,
    failed: backfill.failed,
    cancelled: backfill.cancelled,
    skipped: backfill.skipped,
    running,
    queued: backfill.planned - backfill.cursor + backfill.openRunIds.length - running,
    durationsMs: (backfill.recent ?? []).map(({ ms }) => ms),
    recentEnds: (backfill.recent ?? [])
      .map(({ at }) => at)
      .filter((at) => backfill.resumedAt === undefined || at >= backfill.resumedAt),
    passedOver: backfill.passedOver ?? [],
  };
}
