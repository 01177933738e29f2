/**
 * Making the runs of backfills, a sliding window of `maxActive` at a time.
 *
 * Authority: the backfill's document. `cursor` is the place in the plan, `openRunIds` the window, `activeRunIds` the places that
 * admission gives. Any process may feed at any time, several at once.
 *
 * One date:
 * 1. Its run is created, in the slot that the plan fixed. Dying here leaves a queued run that nobody admits on its own:
 *    the next feeding, at the same cursor, finds the slot taken by a run of this backfill and goes on with it.
 * 2. One compare-and-set on (state, cursor) moves the cursor and puts the run into `openRunIds`, or counts the date as skipped
 *    when the slot belongs to somebody else. Of two feeders at one cursor one wins; both meant the same run.
 * 3. The run takes a place and starts (admit-runs.ts, start-run.ts). Dying before or in it: the next feeding, or any
 *    admission of the DAG, does it.
 *
 * A cancellation between 1 and 2 leaves a queued run outside the window. Each feeding looks at the few queued runs of
 * backfills and cancels those whose backfill has ended.
 */
import type { UpdateFilter } from 'mongodb';
import { dateSlot } from '../../model/ids.js';
import { isClosedRun } from '../../model/states.js';
import type { BackfillDatesDocument, BackfillDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { createRun } from '../operations/create-run.js';
import { knownVersion } from '../operations/known-version.js';
import { inputsOfPart, readResults } from '../operations/leave-out-tasks.js';
import { openingOf, type RunOpening } from '../operations/place-key.js';
import { startRun } from '../operations/start-run.js';
import { takePlace } from '../operations/take-place.js';
import { fromPayload } from '../payload/payload.js';
import { cancelStrays } from './cancel-strays.js';
import { countBackfillRun, endBackfill, isDone } from './count-backfill-run.js';

const backfillsAtOnce = 1_000;

const countedFields = {
  state: 1,
  backfillId: 1,
  openEpoch: 1,
  startedAt: 1,
  endedAt: 1,
} as const;

/**
 * Creates and admits the next runs of every running backfill, up to its `maxActive`; counts runs that closed unnoticed; ends
 * backfills that are done. Returns how many runs were admitted. Repeatable. One backfill that fails does not stop the others:
 * the first error is thrown at the end.
 */
export async function feedBackfills(context: StoreContext): Promise<number> {
  const { backfills } = context.collections;
  await cancelStrays(context);
  const ended = await backfills
    .find({ state: { $in: ['paused', 'cancelled'] }, 'openRunIds.0': { $exists: true } })
    .limit(backfillsAtOnce)
    .toArray();
  for (const backfill of ended) await countClosed(context, backfill);
  const running = await backfills
    .find({ state: 'running' })
    .sort({ createdAt: 1 })
    .limit(backfillsAtOnce)
    .toArray();
  let admitted = 0;
  const errors: unknown[] = [];
  for (const backfill of running) {
    try {
      admitted += await new Feeding(context, backfill).run();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
  return admitted;
}

type PlannedTurn = BackfillDatesDocument['dates'][number];
type Turn = { readonly runId: string } | { readonly because: string };

const passedOverKept = 20;

function passedOver(because: string): Turn {
  return { because };
}

/** One look at one backfill. */
class Feeding {
  readonly #context: StoreContext;
  /** As it was after the last write or reading. */
  #backfill: BackfillDocument;
  #stretch: BackfillDatesDocument | null = null;
  #admitted = 0;

  constructor(context: StoreContext, backfill: BackfillDocument) {
    this.#context = context;
    this.#backfill = backfill;
  }

  async run(): Promise<number> {
    await this.#admitWaiting();
    await countClosed(this.#context, this.#backfill);
    await this.#read();
    while (this.#hasRoom()) {
      if (!(await this.#feedOne())) await this.#read();
    }
    if (this.#backfill.state === 'running' && isDone(this.#backfill)) {
      await endBackfill(this.#context, this.#backfill._id);
    }
    return this.#admitted;
  }

  #hasRoom(): boolean {
    const { state, openRunIds, maxActive, cursor, planned } = this.#backfill;
    return state === 'running' && openRunIds.length < maxActive && cursor < planned;
  }

  async #read(): Promise<void> {
    const { backfills } = this.#context.collections;
    this.#backfill = (await backfills.findOne({ _id: this.#backfill._id })) ?? {
      ...this.#backfill,
      state: 'cancelled',
    };
  }

  /** Runs that were made and never got their place: whoever made them died. */
  async #admitWaiting(): Promise<void> {
    const { openRunIds, activeRunIds } = this.#backfill;
    for (const key of openRunIds) {
      if (!activeRunIds.includes(key)) await this.#admit(openingOf(key));
    }
  }

  /** One date, steps 1 to 3. False: another process moved the cursor, or the backfill stopped. */
  async #feedOne(): Promise<boolean> {
    const { _id, cursor } = this.#backfill;
    const date = await this.#dateAt(cursor);
    const turn =
      date === null ? passedOver('its place in the plan is gone') : await this.#take(date);
    const runId = 'runId' in turn ? turn.runId : null;
    const update: UpdateFilter<BackfillDocument> =
      'runId' in turn
        ? { $inc: { cursor: 1 }, $push: { openRunIds: turn.runId } }
        : {
            $inc: { cursor: 1, skipped: 1 },
            $push: {
              passedOver: {
                $each: [{ at: date?.at ?? this.#backfill.from, because: turn.because }],
                $slice: -passedOverKept,
              },
            },
          };
    const fed = await this.#context.collections.backfills.findOneAndUpdate(
      { _id, state: 'running', cursor, ...(runId === null ? {} : this.#windowGuard()) },
      update,
      { returnDocument: 'after' },
    );
    if (fed === null) return false;
    this.#backfill = fed;
    if (runId !== null) await this.#admit({ _id: runId, openEpoch: 0 });
    return true;
  }

  /** The window is never exceeded, also by two feeders. */
  #windowGuard(): Record<string, unknown> {
    return { [`openRunIds.${this.#backfill.maxActive - 1}`]: { $exists: false } };
  }

  /** The run of a date, or why it gets none: its slot belongs to a run of somebody else, or what it stands on is gone. */
  async #take(date: PlannedTurn): Promise<Turn> {
    const { _id, dagId, version, params, reason, jobs } = this.#backfill;
    if (date.source !== undefined && !(await this.#hasInputs(date.source))) {
      return passedOver(`the results of run ${date.source} are gone or about to be`);
    }
    const { runId, created } = await createRun(this.#context, {
      dagId,
      version,
      slot: dateSlot(date.at, date.generation),
      cause: 'backfill',
      logicalDate: date.at,
      dataInterval: { from: date.from, to: date.at },
      generation: date.generation,
      backfillId: _id,
      ...(jobs === undefined ? {} : { part: { jobs, source: date.source ?? null } }),
      ...(params === null ? {} : { params: fromPayload(params) }),
      ...(reason === null ? {} : { reason }),
    });
    if (created) return { runId };
    const run = await this.#context.collections.runs.findOne(
      { _id: runId },
      { projection: { backfillId: 1 } },
    );
    return run?.backfillId === _id ? { runId } : passedOver(`run ${runId} has it`);
  }

  /** An hour is left at least: the copies are made at once. */
  async #hasInputs(source: string): Promise<boolean> {
    const { dagId, version, jobs } = this.#backfill;
    const { collections, clock } = this.#context;
    const soon = new Date(clock.estimate().getTime() + 3_600_000);
    const run = await collections.runs.findOne(
      { _id: source, $or: [{ expireAt: null }, { expireAt: { $gt: soon } }] },
      { projection: { _id: 1 } },
    );
    if (run === null) return false;
    const inputs = inputsOfPart(await knownVersion(this.#context, dagId, version), jobs ?? []);
    return (await readResults(this.#context, source, inputs)).size === inputs.length;
  }

  async #admit(opening: RunOpening): Promise<void> {
    const { _id, dagId } = this.#backfill;
    const run = { ...opening, dagId, backfillId: _id };
    const seen = await this.#context.collections.runs.findOne(
      { _id: opening._id },
      { projection: countedFields },
    );
    // A retry that is being prepared has its key here before its run is open.
    if (seen?.openEpoch !== opening.openEpoch) return;
    if (seen.state === 'queued') {
      if (!(await takePlace(this.#context, run, 0))) return;
      if (await startRun(this.#context, run)) this.#admitted += 1;
    } else if (isClosedRun(seen.state)) {
      // Cancelled before it had its turn, or so quick that it closed before the cursor moved.
      await countBackfillRun(this.#context, seen);
      await this.#read();
    }
  }

  /** The date at a place of the plan. Null when its stretch is not there (somebody removed it): the date is skipped. */
  async #dateAt(place: number): Promise<BackfillDatesDocument['dates'][number] | null> {
    const has = (stretch: BackfillDatesDocument | null) =>
      stretch !== null && place >= stretch.start && place < stretch.start + stretch.dates.length;
    if (!has(this.#stretch)) {
      this.#stretch = await this.#context.collections.backfillDates
        .find({ backfillId: this.#backfill._id, start: { $lte: place } })
        .sort({ start: -1 })
        .limit(1)
        .next();
    }
    if (!has(this.#stretch)) return null;
    return this.#stretch!.dates[place - this.#stretch!.start] ?? null;
  }
}

/** Counts the runs of the window that are closed, or gone: whoever closed them died before counting. */
async function countClosed(context: StoreContext, backfill: BackfillDocument): Promise<void> {
  if (backfill.openRunIds.length === 0) return;
  const { runs, slots } = context.collections;
  const openings = backfill.openRunIds.map(openingOf);
  const found = await runs
    .find({ _id: { $in: openings.map(({ _id }) => _id) } }, { projection: countedFields })
    .toArray();
  for (const run of found) await countBackfillRun(context, run);
  const there = new Set(found.map((run) => run._id));
  for (const { _id, openEpoch } of openings) {
    if (there.has(_id)) continue;
    // Removed by retention: its slot remembers how it ended.
    const slot = await slots.findOne({ dagId: backfill.dagId, runId: _id });
    const outcome = slot?.outcome ?? 'refused';
    const state = outcome === 'refused' ? 'cancelled' : outcome;
    await countBackfillRun(context, {
      ...{ _id, openEpoch, backfillId: backfill._id, state },
      ...{ startedAt: null, endedAt: null },
    });
  }
}
