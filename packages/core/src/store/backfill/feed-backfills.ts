/**
 * Making the runs of backfills, a sliding window of `maxActive` at a time.
 *
 * Authority: the backfill's document. `cursor` is the place in the plan, `openRunIds` the window, `activeRunIds` the places that
 * admission gives. Any process may feed at any time, several at once.
 *
 * Some dates, as many as there is room for and at most twenty:
 * 1. Their runs are created, each in the slot that the plan fixed. Dying here leaves queued runs that nobody admits on their
 *    own: the next feeding, at the same cursor, finds the slots taken by runs of this backfill and goes on with them.
 * 2. One compare-and-set on (state, cursor, room) moves the cursor, puts the runs into `openRunIds` and gives them their places;
 *    dates whose slot belongs to somebody else are counted as skipped. Of two feeders at one cursor one wins; both meant the
 *    same runs.
 * 3. The runs start (start-run.ts). Dying before or in it: repair-places.ts does it.
 *
 * A cancellation between 1 and 2 leaves a queued run outside the window. Each feeding looks at the few queued runs of
 * backfills and cancels those whose backfill has ended.
 */
import { dateSlot } from '../../model/ids.js';
import { isClosedRun } from '../../model/states.js';
import type { BackfillDatesDocument, BackfillDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { createRuns } from '../operations/create-run.js';
import { knownVersion } from '../operations/known-version.js';
import { inputsOfPart, readResults } from '../operations/leave-out-tasks.js';
import { openingOf, type RunOpening } from '../operations/place-key.js';
import { startRuns } from '../operations/start-run.js';
import { takePlace } from '../operations/take-place.js';
import { worstOf } from '../operations/work-through.js';
import { fromPayload } from '../payload/payload.js';
import type { FeedOptions } from '../verbs/backfill-verbs.js';
import { cancelStrays } from './cancel-strays.js';
import { type CountedRun, countBackfillRun, endBackfill, isDone } from './count-backfill-run.js';
import { countClosed, countedFields } from './count-closed.js';

const backfillsAtOnce = 1_000;

/**
 * Creates and admits the next runs of every running backfill, up to its `maxActive`; counts runs that closed unnoticed; ends
 * backfills that are done. `placesOnly` is for whoever has just closed a run: nothing but room is looked for. `only` is for
 * whoever has just made or resumed this backfill: it is fed like by a leader, and no other one is looked at. Returns how
 * many runs were admitted. Repeatable. One backfill that fails does not stop the others:
 * the first error is thrown at the end.
 */
export async function feedBackfills(
  context: StoreContext,
  options: FeedOptions = {},
): Promise<number> {
  const { backfills } = context.collections;
  const { placesOnly = false, only } = options;
  const errors: unknown[] = [];
  const attempt = (work: () => Promise<unknown>) => work().catch((error) => errors.push(error));
  if (!placesOnly && only === undefined) {
    await attempt(() => cancelStrays(context));
    const ended = await backfills
      .find({ state: { $in: ['paused', 'cancelled'] }, 'openRunIds.0': { $exists: true } })
      .limit(backfillsAtOnce)
      .toArray();
    for (const backfill of ended) await attempt(() => countClosed(context, backfill));
  }
  const running = await backfills
    .find({ state: 'running', ...(only === undefined ? {} : { _id: only }) })
    .sort({ createdAt: 1 })
    .limit(backfillsAtOnce)
    .toArray();
  let admitted = 0;
  for (const backfill of running) {
    await attempt(async () => {
      admitted += await new Feeding(context, backfill).run(!placesOnly);
    });
  }
  if (errors.length > 0) throw worstOf(errors);
  return admitted;
}

type PlannedTurn = BackfillDatesDocument['dates'][number];
type Turn = { readonly runId: string } | { readonly at: Date; readonly because: string };

const passedOverKept = 20;

/** Dates that are fed together. */
const datesAtOnce = 20;

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

  /** `isThorough`: also what somebody left who died. */
  async run(isThorough: boolean): Promise<number> {
    if (isThorough) {
      await this.#admitWaiting();
      if (await countClosed(this.#context, this.#backfill)) await this.#read();
    }
    while (this.#hasRoom()) {
      if (!(await this.#feedSome())) await this.#read();
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

  /** The next dates, steps 1 to 3. False: another process moved the cursor, or the backfill stopped. */
  async #feedSome(): Promise<boolean> {
    const { _id, cursor, maxActive, openRunIds, from } = this.#backfill;
    const dates = await this.#datesAt(cursor, Math.min(datesAtOnce, maxActive - openRunIds.length));
    const turns =
      dates.length === 0
        ? [{ at: from, because: 'its place in the plan is gone' }]
        : await this.#take(dates);
    const made = turns.flatMap((turn) => ('runId' in turn ? [turn.runId] : []));
    const passedOver = turns.flatMap((turn) => ('runId' in turn ? [] : [turn]));
    const fed = await this.#context.collections.backfills.findOneAndUpdate(
      // The window is never exceeded, also by two feeders.
      {
        _id,
        state: 'running',
        cursor,
        ...(made.length === 0 ? {} : hasRoomFor(made.length, maxActive)),
      },
      {
        $inc: { cursor: turns.length, skipped: passedOver.length },
        $push: {
          openRunIds: { $each: made },
          // Whoever is in the window for the first time has its place at once: there are as many.
          activeRunIds: { $each: made },
          passedOver: { $each: passedOver, $slice: -passedOverKept },
        },
      },
      { returnDocument: 'after' },
    );
    if (fed === null) return false;
    this.#backfill = fed;
    await this.#start(made.map((runId) => ({ _id: runId, openEpoch: 0 })));
    return true;
  }

  /**
   * The run of each date, or why it gets none: its slot belongs to a run of somebody else, or what it stands on is gone. Of
   * several feeders all make the same runs.
   */
  async #take(dates: readonly PlannedTurn[]): Promise<Turn[]> {
    const { _id, dagId, version, params, reason, jobs } = this.#backfill;
    const areSound = await Promise.all(
      dates.map(({ source }) => (source === undefined ? true : this.#hasInputs(source))),
    );
    const sound = dates.filter((_date, index) => areSound[index]);
    const wanted = sound.map((date) => ({
      dagId,
      version,
      slot: dateSlot(date.at, date.generation),
      cause: 'backfill' as const,
      logicalDate: date.at,
      dataInterval: { from: date.from, to: date.at },
      generation: date.generation,
      backfillId: _id,
      ...(jobs === undefined ? {} : { part: { jobs, source: date.source ?? null } }),
      ...(params === null ? {} : { params: fromPayload(params) }),
      ...(reason === null ? {} : { reason }),
    }));
    const outcomes = wanted.length === 0 ? [] : await createRuns(this.#context, wanted);
    const made = new Map<PlannedTurn, Turn>();
    for (const [index, outcome] of outcomes.entries()) {
      if ('error' in outcome) throw outcome.error;
      const date = sound[index]!;
      const isOurs = outcome.created || (await this.#owns(outcome.runId));
      const { runId } = outcome;
      made.set(date, isOurs ? { runId } : { at: date.at, because: `run ${runId} has it` });
    }
    return dates.map(
      (date) =>
        made.get(date) ?? {
          at: date.at,
          because: `the results of run ${date.source} are gone or about to be`,
        },
    );
  }

  async #owns(runId: string): Promise<boolean> {
    const run = await this.#context.collections.runs.findOne(
      { _id: runId },
      { projection: { backfillId: 1 } },
    );
    return run?.backfillId === this.#backfill._id;
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

  /** A run of the window that has no place yet: a retried one, or one whose place was given back. */
  async #admit(opening: RunOpening): Promise<void> {
    const { _id, dagId } = this.#backfill;
    const seen = await this.#look(opening);
    if (seen?.state === 'queued') {
      const run = { ...opening, dagId, backfillId: _id, cause: 'backfill' } as const;
      if (await takePlace(this.#context, run, 0)) await this.#start([opening]);
    } else if (seen !== null && isClosedRun(seen.state)) {
      await this.#count(seen);
    }
  }

  /** Starts runs that have their places; counts those that closed before: cancelled, or so quick. */
  async #start(openings: readonly RunOpening[]): Promise<void> {
    if (openings.length === 0) return;
    const { _id, dagId } = this.#backfill;
    const placed = openings.map((opening) => ({
      ...opening,
      dagId,
      backfillId: _id,
      // No pause of the DAG holds a backfill.
      startsAtRev: null,
    }));
    const started = new Set((await startRuns(this.#context, placed)).map((run) => run._id));
    this.#admitted += started.size;
    for (const opening of openings) {
      const seen = started.has(opening._id) ? null : await this.#look(opening);
      if (seen !== null && isClosedRun(seen.state)) await this.#count(seen);
    }
  }

  /** Null when it is gone, or is not in this opening: a retry that is being prepared has its key here before its run is open. */
  #look({ _id, openEpoch }: RunOpening) {
    return this.#context.collections.runs.findOne(
      { _id, openEpoch },
      { projection: countedFields },
    );
  }

  async #count(run: CountedRun): Promise<void> {
    await countBackfillRun(this.#context, run);
    await this.#read();
  }

  /** Up to so many dates from a place of the plan on. None when its stretch is not there: somebody removed it. */
  async #datesAt(place: number, most: number): Promise<PlannedTurn[]> {
    const has = (stretch: BackfillDatesDocument | null) =>
      stretch !== null && place >= stretch.start && place < stretch.start + stretch.dates.length;
    if (!has(this.#stretch)) {
      this.#stretch = await this.#context.collections.backfillDates
        .find({ backfillId: this.#backfill._id, start: { $lte: place } })
        .sort({ start: -1 })
        .limit(1)
        .next();
    }
    if (!has(this.#stretch)) return [];
    const { dates, start } = this.#stretch!;
    return dates.slice(place - start, place - start + most);
  }
}

function hasRoomFor(runs: number, maxActive: number): Record<string, unknown> {
  return { [`openRunIds.${maxActive - runs}`]: { $exists: false } };
}
