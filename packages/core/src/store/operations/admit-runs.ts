/**
 * Admission: which queued runs of a DAG may start.
 *
 * Authority: `activeRunIds` of the DAG, or of the backfill for its runs. One conditional write takes a place; nothing is
 * counted anywhere else, so nothing can drift. Any process may admit at any time, and two at once.
 *
 * States: queued -> place taken -> run `running` -> roots `ready` -> `started`. Dying
 *   after the place: the id stands in `activeRunIds`, and repair-places.ts goes on from the run's state;
 *   after `running` or the roots: the same, and for runs that take no place the mark `started: false` is found.
 *
 * Overlap rules (design 7). `queue` is first come, first served by `dueAt`; scheduled runs beyond `maxQueuedRuns` are
 * refused, the newest first. `skip` and `cancel-previous` apply to scheduled runs; all others queue. `allow` takes no
 * place, except for catch-up, which would otherwise start a flood. While the DAG is paused, scheduled and catch-up runs stay queued,
 * also those that were under way here when the pause came: hold-runs.ts. Of a DAG that is retired then they are cancelled.
 */
import type { Filter } from 'mongodb';
import type { Cause } from '../../model/states.js';
import type { DagDocument, RunDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { markBroken } from '../schedule/mark-broken.js';
import { readVersion } from '../schedule/read-version.js';
import { narrowTo } from '../server-time.js';
import { NOW } from '../task-transitions.js';
import { cancelHeldRuns, isGoneWhilePaused } from './cancel-held-runs.js';
import { requestCancel } from './cancel-run.js';
import { revToStart } from './hold-runs.js';
import { openingOf, placeKey } from './place-key.js';
import type { QueuedRun } from './queued-run.js';
import { finishRefusals, refuseRun } from './refuse-run.js';
import { spaceCatchUp } from './space-catch-up.js';
import { startRun } from './start-run.js';
import { takePlace } from './take-place.js';

/** How many runs one call looks at. */
const runsAtOnce = 100;
const startsAtOnce = 8;

/** What admission reads of a queued run. */
export const queuedFields = {
  dagId: 1,
  version: 1,
  cause: 1,
  dueAt: 1,
  backfillId: 1,
  logicalDate: 1,
  dataInterval: 1,
  slot: 1,
  generation: 1,
  openEpoch: 1,
} as const;

export async function admitRuns(
  context: StoreContext,
  dagId: string,
  only?: string,
): Promise<string[]> {
  const [dag] = await Promise.all([
    context.collections.dags.findOne({ _id: dagId }),
    finishRefusals(context, dagId),
  ]);
  if (dag === null) return [];
  if (isGoneWhilePaused(dag)) await cancelHeldRuns(context, dagId);
  const definition = await readVersion(context, dag);
  if (typeof definition === 'string') {
    await markUnreadable(context, dag, definition);
    return [];
  }
  const { overlap, maxActiveRuns, maxQueuedRuns } = definition;
  const admission = new Admission(
    context,
    dag,
    await narrowTo(context.clock),
    definition.misfire.spacingMs,
  );
  if (only === undefined) await admission.admitBackfills();
  if (overlap === 'allow') {
    await admission.admitWithoutPlace(['schedule', 'manual', 'api'], only);
    await admission.admitInTurn(['catch-up'], maxActiveRuns);
  } else {
    if (overlap === 'skip') await admission.skipScheduled(maxActiveRuns);
    if (overlap === 'cancel-previous') await admission.cancelPrevious();
    await admission.admitInTurn(['schedule', 'catch-up', 'manual', 'api'], maxActiveRuns, overlap);
    // Nothing but a schedule makes scheduled runs.
    if (overlap === 'queue' && definition.schedule !== undefined)
      await admission.refuseBeyond(maxQueuedRuns);
  }
  return admission.admitted;
}

/** As the settlement of its schedule would: what it has begun is left to that. */
async function markUnreadable(
  context: StoreContext,
  dag: DagDocument,
  reason: string,
): Promise<void> {
  if (dag.state !== 'active' || dag.broken !== null || dag.pending !== null) return;
  await markBroken(context, { dag, now: await context.clock.read() }, reason);
}

class Admission {
  readonly admitted: string[] = [];
  readonly #context: StoreContext;
  readonly #dag: DagDocument;
  readonly #latest: Date;
  readonly #spacingMs: number | undefined;
  /** Places that were taken when the DAG was read, or by this call. */
  readonly #active: string[];

  constructor(
    context: StoreContext,
    dag: DagDocument,
    latest: Date,
    spacingMs: number | undefined,
  ) {
    this.#context = context;
    this.#dag = dag;
    this.#latest = latest;
    this.#spacingMs = spacingMs;
    this.#active = [...dag.activeRunIds];
  }

  /** Backfill runs take places of their own: see take-place.ts. */
  async admitBackfills(): Promise<void> {
    const { backfills, runs } = this.#context.collections;
    const active = await backfills
      .find({ dagId: this.#dag._id, state: 'running' }, { projection: { _id: 1 } })
      .toArray();
    for (const backfill of active) {
      const queued = await runs
        .find({ backfillId: backfill._id, ...this.#due() }, { projection: queuedFields })
        .sort({ dueAt: 1, _id: 1 })
        .limit(runsAtOnce)
        .toArray();
      for (const run of queued) {
        if (!(await takePlace(this.#context, run, 0))) break;
        await this.#start(run);
      }
    }
  }

  /** `only`: just this run. Of many that trigger at once each then starts its own, and not everybody's. */
  async admitWithoutPlace(causes: readonly Cause[], only?: string): Promise<void> {
    const admissible = this.#admissible(causes);
    const queue =
      only === undefined
        ? await this.#queued(admissible, runsAtOnce)
        : await this.#find(admissible, 1, only).toArray();
    const worker = async () => {
      for (let run = queue.shift(); run !== undefined; run = queue.shift()) await this.#start(run);
    };
    await Promise.all(Array.from({ length: Math.min(startsAtOnce, queue.length) }, worker));
  }

  /** First come, first served, while there are places. */
  async admitInTurn(causes: readonly Cause[], maxActive: number, overlap?: string): Promise<void> {
    const free = maxActive - this.#active.length;
    if (free <= 0) return;
    const queued = await this.#queued(this.#admissible(causes), Math.min(free, runsAtOnce));
    for (const run of queued) {
      const waits = overlap === 'cancel-previous' && run.cause === 'schedule';
      if (waits && (await this.#hasOlderScheduled(run))) continue;
      if (!(await this.#isSpaced(run))) continue;
      // A place lost to another process is given back in its own turn.
      if (!(await takePlace(this.#context, run, maxActive))) return;
      this.#active.push(placeKey(run));
      await this.#start(run);
    }
  }

  /** Catch-up runs keep their distance; one that an operator runs again need not. */
  async #isSpaced(run: QueuedRun): Promise<boolean> {
    if (run.cause !== 'catch-up' || run.openEpoch > 0 || this.#spacingMs === undefined) return true;
    return spaceCatchUp(this.#context, run, this.#spacingMs);
  }

  /** Under `cancel-previous` a run starts when the older ones have closed, even where there are more places. */
  async #hasOlderScheduled(run: QueuedRun): Promise<boolean> {
    const older = await this.#context.collections.runs.findOne(
      {
        dagId: run.dagId,
        state: { $in: ['queued', 'running'] },
        cause: 'schedule',
        _id: { $lt: run._id },
      },
      { projection: { _id: 1 } },
    );
    return older !== null;
  }

  /**
   * `skip`: a scheduled run that would have to wait is refused; those that wait before it count as well. So the first in the
   * queue, as many as there are places, may stay, and behind them no scheduled run, however long the queue is.
   */
  async skipScheduled(maxActive: number): Promise<void> {
    if (this.#dag.pausedAt !== null) return;
    // A run that has its place and does not run yet is active, and waits for nobody.
    const placed = this.#active.map((key) => openingOf(key)._id);
    const waiting: Filter<RunDocument>[] = [
      ofCauses(['schedule', 'catch-up', 'manual', 'api']),
      ...(placed.length === 0 ? [] : [{ _id: { $nin: placed } }]),
    ];
    const free = maxActive - this.#active.length;
    if (free > 0) {
      const [last] = await this.#find({ $and: waiting }, 1)
        .skip(free - 1)
        .limit(1)
        .toArray();
      if (last === undefined) return;
      const { dueAt, _id } = last;
      waiting.push({ $or: [{ dueAt: { $gt: dueAt } }, { dueAt, _id: { $gt: _id } }] });
    }
    const scheduled = { $and: waiting, cause: 'schedule', openEpoch: 0 } as const;
    for (const run of await this.#queued(scheduled, runsAtOnce)) {
      await refuseRun(this.#context, run, this.#holder());
    }
  }

  /** `cancel-previous`: the newest scheduled run ends all older ones, and starts when they have closed. */
  async cancelPrevious(): Promise<void> {
    if (this.#dag.pausedAt !== null) return;
    const { runs } = this.#context.collections;
    const [newest] = await this.#queued(ofCauses(['schedule']), 1, -1);
    if (newest === undefined) return;
    const older = await runs
      .find(
        {
          dagId: this.#dag._id,
          state: { $in: ['queued', 'running'] },
          cause: 'schedule',
          cancelRequestedAt: null,
          dueAt: { $lte: newest.dueAt },
          _id: { $lt: newest._id },
        },
        { projection: { _id: 1 } },
      )
      .limit(runsAtOnce)
      .toArray();
    for (const run of older) {
      await requestCancel(this.#context, run._id, `overlap: ${newest._id} took its place`);
    }
  }

  /** `queue`: of the scheduled runs that still wait, so many may; the newest beyond them are refused. */
  async refuseBeyond(maxQueued: number): Promise<void> {
    const beyond = await this.#find(ofCauses(['schedule']), 1)
      .skip(maxQueued)
      .limit(runsAtOnce)
      .toArray();
    for (const run of beyond.reverse()) {
      await refuseRun(this.#context, run, this.#holder());
    }
  }

  /** A run that holds a place. */
  #holder(): string | null {
    return this.#active[0] === undefined ? null : openingOf(this.#active[0])._id;
  }

  async #start(run: QueuedRun): Promise<void> {
    const startsAtRev = revToStart(this.#dag, run);
    if (await startRun(this.#context, { ...run, startsAtRev })) this.admitted.push(run._id);
  }

  /** A pause stops the admission of scheduled and catch-up runs; all others go on, and what somebody retries. */
  #admissible(causes: readonly Cause[]): Filter<RunDocument> {
    if (this.#dag.pausedAt === null) return ofCauses(causes);
    const goOn = causes.filter((cause) => cause !== 'schedule' && cause !== 'catch-up');
    return { $or: [ofCauses(goOn), { ...ofCauses(causes), openEpoch: { $gt: 0 } }] };
  }

  async #queued(
    which: Filter<RunDocument>,
    limit: number,
    order: 1 | -1 = 1,
  ): Promise<QueuedRun[]> {
    return this.#find(which, order).limit(limit).toArray();
  }

  #find(which: Filter<RunDocument>, order: 1 | -1, only?: string) {
    return this.#context.collections.runs
      .find(
        {
          dagId: this.#dag._id,
          ...which,
          ...(only === undefined ? {} : { _id: only }),
          ...this.#due(),
        },
        { projection: queuedFields },
      )
      .sort({ dueAt: order, _id: order });
  }

  #due(): Filter<RunDocument> {
    return {
      state: 'queued',
      dueAt: { $lte: this.#latest },
      materialized: true,
      refused: null,
      cancelRequestedAt: null,
      $expr: { $lte: ['$dueAt', NOW] },
    };
  }
}

function ofCauses(causes: readonly Cause[]): Filter<RunDocument> {
  return { cause: { $in: [...causes] } };
}
