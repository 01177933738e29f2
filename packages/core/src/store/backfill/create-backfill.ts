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
import type { BackfillRequest, PlannedDate } from '../verbs/backfill-verbs.js';
import { toBackfill } from './backfill-reads.js';
import { livingBackfills } from './living-backfills.js';
import { openPlan } from './plan-backfill.js';

/** Dates in one document of `backfillDates`; about 12 KiB. */
const datesPerStretch = 200;
const datesPerInsert = 50 * datesPerStretch;

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
  const plan = await openPlan(context, request);
  const now = await context.clock.read();
  await removeOrphans(context, now);
  const id = context.newId();
  const writer = new DatesWriter(context, id, now, request.order ?? 'oldest');
  let total = 0;
  for await (const batch of plan.batches) {
    total += batch.length;
    await writer.add(batch.flatMap(workDateOf));
  }
  const planned = await writer.end();
  const backfill: BackfillDocument = {
    _id: id,
    dagId: plan.dagId,
    version: plan.version,
    from: plan.from,
    to: plan.to,
    state: planned === 0 ? 'succeeded' : 'running',
    maxActive: request.maxActive ?? 1,
    order: request.order ?? 'oldest',
    reprocess: request.reprocess ?? 'none',
    ...(plan.jobs === null ? {} : { jobs: [...plan.jobs] }),
    params,
    reason: request.reason ?? null,
    activeRunIds: [],
    openRunIds: [],
    createdAt: now,
    endedAt: planned === 0 ? now : null,
    total,
    skipped: total - planned,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    planned,
    cursor: 0,
  };
  await context.collections.backfills.insertOne(backfill);
  return toBackfill(backfill);
}

type WorkDate = BackfillDatesDocument['dates'][number];

function workDateOf(date: PlannedDate): WorkDate[] {
  if (date.action === 'skip') return [];
  const { logicalDate, dataInterval, generation, source } = date;
  return [
    {
      at: logicalDate,
      from: dataInterval.from,
      generation,
      ...(source === null ? {} : { source }),
    },
  ];
}

/**
 * Writes the dates that get a run, in the order of work. Oldest first they are written as they come; newest first they have to
 * be known all before the first one is.
 */
class DatesWriter {
  readonly #context: StoreContext;
  readonly #backfillId: string;
  readonly #createdAt: Date;
  readonly #order: 'oldest' | 'newest';
  #waiting: WorkDate[] = [];
  #written = 0;

  constructor(
    context: StoreContext,
    backfillId: string,
    createdAt: Date,
    order: 'oldest' | 'newest',
  ) {
    this.#context = context;
    this.#backfillId = backfillId;
    this.#createdAt = createdAt;
    this.#order = order;
  }

  /** The next dates, oldest first. */
  async add(dates: readonly WorkDate[]): Promise<void> {
    this.#waiting.push(...dates);
    if (this.#order === 'oldest') await this.#write(datesPerInsert);
  }

  /** Writes what is left; answers with how many there are. */
  async end(): Promise<number> {
    if (this.#order === 'newest') this.#waiting.reverse();
    await this.#write(1);
    return this.#written;
  }

  /** While there are so many, in full stretches but for the last. */
  async #write(atLeast: number): Promise<void> {
    while (this.#waiting.length >= atLeast) {
      const some = this.#waiting.splice(0, datesPerInsert);
      const stretches = stretchesOf(this.#backfillId, some, this.#written, this.#createdAt);
      await this.#context.collections.backfillDates.insertMany(stretches);
      this.#written += some.length;
    }
  }
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
  const { backfillDates } = context.collections;
  const latest = new Date(now.getTime() - orphanAgeMs);
  const firsts = await backfillDates
    .find({ start: 0, createdAt: { $lt: latest } }, { projection: { backfillId: 1 } })
    .toArray();
  if (firsts.length === 0) return;
  const ids = firsts.map((first) => first.backfillId);
  const needed = await livingBackfills(context, ids);
  const orphans = ids.filter((backfillId) => !needed.has(backfillId));
  if (orphans.length > 0) await backfillDates.deleteMany({ backfillId: { $in: orphans } });
}
