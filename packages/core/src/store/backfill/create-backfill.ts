/**
 * Storing a backfill. Its plan is made once: which dates get a run, in which order, and in which generation.
 *
 * Authority: the backfill's document. The dates stand in `backfillDates`, in stretches, so that a plan may be long; they are
 * written first, and nobody reads them before the document is there. Dying in between leaves stretches without a backfill,
 * which a later call removes. The dates are removed when the backfill has ended.
 *
 * Two backfills over the same dates fix the same slots; the unique slot decides which of them makes the run, and the other
 * one counts the date as skipped (feed-backfills.ts).
 */
import type { Backfill } from '../../model/run.js';
import type { BackfillDatesDocument, BackfillDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { toPayload } from '../payload/payload.js';
import type { BackfillPlan, BackfillRequest } from '../verbs/backfill-verbs.js';
import { toBackfill } from './backfill-reads.js';
import { planBackfill } from './plan-backfill.js';

/** Dates in one document of `backfillDates`; about 12 KiB. */
const datesPerStretch = 200;
const stretchesPerInsert = 50;

/** Stretches without a backfill are somebody's who is still writing, or who died. */
const orphanAgeMs = 3_600_000;

/**
 * Plans and stores a backfill; the next {@link feedBackfills} begins with it. With no date to run it is stored closed.
 * Not idempotent: each call is a backfill of its own, which leaves dates alone that have runs by then. Throws as planBackfill.
 */
export async function createBackfill(
  context: StoreContext,
  request: BackfillRequest,
): Promise<Backfill> {
  const params = toPayload(request.params, 'params', context.payloadLimitBytes);
  const plan = await planBackfill(context, request);
  const now = await context.clock.read();
  await removeOrphans(context, now);
  const id = context.newId();
  const dates = datesOf(plan, request.order ?? 'oldest');
  for (let start = 0; start < dates.length; start += datesPerStretch * stretchesPerInsert) {
    const part = dates.slice(start, start + datesPerStretch * stretchesPerInsert);
    await context.collections.backfillDates.insertMany(stretchesOf(id, part, start, now));
  }
  const backfill: BackfillDocument = {
    _id: id,
    dagId: plan.dagId,
    version: plan.version,
    from: plan.from,
    to: plan.to,
    state: dates.length === 0 ? 'succeeded' : 'running',
    maxActive: request.maxActive ?? 1,
    order: request.order ?? 'oldest',
    reprocess: request.reprocess ?? 'none',
    ...(plan.jobs === null ? {} : { jobs: [...plan.jobs] }),
    params,
    reason: request.reason ?? null,
    activeRunIds: [],
    openRunIds: [],
    createdAt: now,
    endedAt: dates.length === 0 ? now : null,
    total: plan.dates.length,
    skipped: plan.dates.length - dates.length,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    planned: dates.length,
    cursor: 0,
  };
  await context.collections.backfills.insertOne(backfill);
  return toBackfill(backfill);
}

type WorkDate = BackfillDatesDocument['dates'][number];

/** The dates that get a run, in the order of work. */
function datesOf(plan: BackfillPlan, order: 'oldest' | 'newest'): WorkDate[] {
  const dates = plan.dates
    .filter((date) => date.action !== 'skip')
    .map(({ logicalDate, dataInterval, generation, source }) => ({
      at: logicalDate,
      from: dataInterval.from,
      generation,
      ...(source === null ? {} : { source }),
    }));
  return order === 'oldest' ? dates : dates.reverse();
}

function stretchesOf(
  backfillId: string,
  dates: readonly WorkDate[],
  start: number,
  createdAt: Date,
): BackfillDatesDocument[] {
  const stretches: BackfillDatesDocument[] = [];
  for (let index = 0; index < dates.length; index += datesPerStretch) {
    stretches.push({
      _id: `${backfillId}/${start + index}`,
      backfillId,
      start: start + index,
      dates: dates.slice(index, index + datesPerStretch),
      createdAt,
    });
  }
  return stretches;
}

/** Removes the dates of backfills that were never stored, or whose closing died before its last step. */
async function removeOrphans(context: StoreContext, now: Date): Promise<void> {
  const { backfills, backfillDates } = context.collections;
  const latest = new Date(now.getTime() - orphanAgeMs);
  const firsts = await backfillDates
    .find({ start: 0, createdAt: { $lt: latest } }, { projection: { backfillId: 1 } })
    .toArray();
  if (firsts.length === 0) return;
  const ids = firsts.map((first) => first.backfillId);
  const open = await backfills
    .find({ _id: { $in: ids }, state: { $in: ['running', 'paused'] } }, { projection: { _id: 1 } })
    .toArray();
  const needed = new Set(open.map((backfill) => backfill._id));
  const orphans = ids.filter((backfillId) => !needed.has(backfillId));
  if (orphans.length > 0) await backfillDates.deleteMany({ backfillId: { $in: orphans } });
}
