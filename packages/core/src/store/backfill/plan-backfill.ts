import { ConflictError, NotFoundError, OptionError, UsageError } from '../../errors.js';
import { dataIntervalOf, fireBatches } from '../../time/schedule/fires.js';
import type { Schedule } from '../../time/schedule/schedule.js';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { inputsOfPart } from '../operations/leave-out-tasks.js';
import { noSuchJob } from '../retry/choose-tasks.js';
import { readDag } from '../schedule/dag-cursor.js';
import type { BackfillPlan, BackfillRequest, PlannedDate } from '../verbs/backfill-verbs.js';
import type { KnownVersion } from '../version-cache.js';
import { readCovers, readHistories } from './date-history.js';
import { type Part, readPartHistories } from './part-history.js';
import { planDate } from './plan-date.js';

type Reprocess = NonNullable<BackfillRequest['reprocess']>;

/** Dates in one plan. */
const maxDates = 1_000_000;

/** A plan whose dates are worked out as they are asked for. */
export interface OpenPlan extends Omit<BackfillPlan, 'counts' | 'first' | 'last' | 'dates'> {
  /** All dates, oldest first, in batches of a thousand at most. */
  readonly batches: AsyncIterable<readonly PlannedDate[]>;
}

/** Says what a backfill would do: {@link openPlan}, gone through and counted. Writes nothing. */
export async function planBackfill(
  context: StoreContext,
  request: BackfillRequest,
  { datesAtMost = Number.POSITIVE_INFINITY }: { readonly datesAtMost?: number } = {},
): Promise<BackfillPlan> {
  const { batches, ...plan } = await openPlan(context, request);
  const counts = { create: 0, rerun: 0, skip: 0 };
  const dates: PlannedDate[] = [];
  let first: Date | null = null;
  let last: Date | null = null;
  for await (const batch of batches) {
    for (const date of batch) {
      counts[date.action] += 1;
      if (dates.length < datesAtMost) dates.push(date);
    }
    first ??= batch[0]?.logicalDate ?? null;
    last = batch.at(-1)?.logicalDate ?? last;
  }
  return { ...plan, counts, first, last, dates };
}

/**
 * Says what a backfill would do, date by date, oldest first. Writes nothing. The range is `[from, to)`, cut at the cursor: later
 * dates belong to the scheduler. Throws NotFoundError for an unknown DAG, UsageError for one without a schedule, ConflictError
 * for a retired one, OptionError for a request that cannot be right.
 */
export async function openPlan(context: StoreContext, request: BackfillRequest): Promise<OpenPlan> {
  checkRequest(request);
  const reading = await readDag(context, request.dagId);
  if (reading === null) {
    throw new NotFoundError(`There is no DAG "${request.dagId}".`, {
      hint: 'flow dags lists what is deployed.',
    });
  }
  const { dag, now } = reading;
  const { schedule, known } = await scheduleOf(context, dag);
  const part = partOf(known, request);
  const { from } = request;
  const limit = limitOf(dag, now);
  const asked = request.to ?? limit;
  const to = new Date(Math.max(from.getTime(), Math.min(asked.getTime(), limit.getTime())));
  return {
    dagId: dag._id,
    version: dag.version,
    jobs: part?.jobs ?? null,
    from,
    to,
    batches: planDates(
      context,
      dag._id,
      schedule,
      { from, to },
      {
        reprocess: request.reprocess ?? 'none',
        part,
      },
    ),
    // Also of a range that begins beyond it: an empty plan should say why.
    note: (request.to ?? from) > limit ? noteOnCut(limit) : null,
  };
}

async function* planDates(
  context: StoreContext,
  dagId: string,
  schedule: Schedule,
  range: { readonly from: Date; readonly to: Date },
  { reprocess, part }: { readonly reprocess: Reprocess; readonly part: Part | null },
): AsyncGenerator<readonly PlannedDate[]> {
  const covers = await readCovers(context, dagId, range.from, range.to);
  let count = 0;
  // Of a date without any run: it has no inputs either.
  const none = part === null ? undefined : { ...noHistory, missing: part.inputs };
  let intervalFrom: Date | null = null;
  let cover = 0;
  // A thousand dates at a time: the reads between them let the event loop breathe.
  for (const batch of fireBatches(schedule, range.from, range.to)) {
    count += batch.length;
    if (count > maxDates) {
      throw new OptionError('to', `a range of at most ${maxDates} dates`, range.to, {
        hint: 'Cut the range into several backfills.',
      });
    }
    const whole = await readHistories(context, dagId, batch[0]!, batch.at(-1)!);
    const histories = part === null ? whole : await readPartHistories(context, whole, part);
    const dates: PlannedDate[] = [];
    for (const logicalDate of batch) {
      while (cover < covers.length && covers[cover]!.to <= logicalDate) cover += 1;
      const next = covers[cover];
      const standsForIt = next !== undefined && next.from < logicalDate ? next : undefined;
      intervalFrom ??= dataIntervalOf(schedule, logicalDate).from;
      dates.push({
        logicalDate,
        dataInterval: { from: intervalFrom, to: logicalDate },
        ...planDate(histories.get(logicalDate.getTime()) ?? none, standsForIt, reprocess),
      });
      intervalFrom = logicalDate;
    }
    yield dates;
  }
}

/** The first date that is the scheduler's: the cursor, or the first of those that a coalesced run in the making stands for. */
function limitOf(dag: DagDocument, now: Date): Date {
  const folding = dag.carry?.folding ?? null;
  if (folding !== null) return new Date(folding.from.getTime() + 1);
  return dag.nextFireAt ?? now;
}

function noteOnCut(limit: Date): string {
  return `Cut at ${limit.toISOString()}: later dates belong to the scheduler.`;
}

async function scheduleOf(
  context: StoreContext,
  dag: DagDocument,
): Promise<{ readonly schedule: Schedule; readonly known: KnownVersion }> {
  if (dag.state === 'retired') {
    throw new ConflictError(`DAG "${dag._id}" is retired: it left the code.`, {
      hint: 'Deploy it again, then backfill.',
    });
  }
  const known = await context.versions.get(dag._id, dag.version);
  const schedule = known?.definition.schedule;
  if (known !== null && schedule !== undefined) return { schedule, known };
  throw new UsageError(`DAG "${dag._id}" has no schedule, so there are no dates to backfill.`, {
    hint: `Start one run with flow run ${dag._id}.`,
  });
}

const noHistory = { generation: -1, latest: null, runs: [], source: null } as const;

/** The jobs that were asked for, with `downstream` also everything after them; null: all. Throws NotFoundError, OptionError. */
function partOf(known: KnownVersion, { jobs, downstream }: BackfillRequest): Part | null {
  if (jobs === undefined) {
    if (downstream !== true) return null;
    throw new OptionError('downstream', 'jobs beside it: downstream of what?', downstream);
  }
  if (jobs.length === 0) throw new OptionError('jobs', 'at least one job', jobs);
  const chosen = new Set<string>();
  const queue = [...jobs];
  for (const job of jobs) {
    if (!known.jobs.has(job)) throw noSuchJob(job, [...known.jobs.keys()]);
  }
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
    if (chosen.has(job)) continue;
    chosen.add(job);
    if (downstream === true) queue.push(...(known.dependents.get(job) ?? []));
  }
  const inOrder = known.definition.jobs.map((job) => job.id).filter((job) => chosen.has(job));
  // All of it is no part.
  if (inOrder.length === known.definition.jobs.length) return null;
  return { jobs: inOrder, inputs: inputsOfPart(known, inOrder) };
}

function checkRequest(request: BackfillRequest): void {
  checkDate('from', request.from);
  if (request.to !== undefined) {
    checkDate('to', request.to);
    if (request.to < request.from) {
      throw new OptionError(
        'to',
        `an instant at or after ${request.from.toISOString()}`,
        request.to,
      );
    }
  }
  const { maxActive = 1, order = 'oldest', reprocess = 'none' } = request;
  if (!Number.isSafeInteger(maxActive) || maxActive < 1 || maxActive > maxActiveLimit) {
    throw new OptionError('maxActive', `a whole number from 1 to ${maxActiveLimit}`, maxActive);
  }
  checkChoice('order', ['oldest', 'newest'], order);
  checkChoice('reprocess', ['none', 'failed', 'all'], reprocess);
}

/** Open runs stand in the backfill's document. */
const maxActiveLimit = 10_000;

function checkDate(field: string, value: unknown): void {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return;
  throw new OptionError(field, 'a valid Date', value);
}

function checkChoice(field: string, choices: readonly string[], value: string): void {
  if (choices.includes(value)) return;
  throw new OptionError(field, `one of ${choices.join(', ')}`, value);
}
