/**
 * Every fire that came due is a run or a line in `fires`.
 *
 * What history permits: a DAG's document has its present schedule, from when on it owes its fires (`scheduledFrom`: the first
 * deploy, or the last one that changed the schedule or brought the DAG back) and its cursor. So all fires after the one
 * and before the other must be accounted for, whatever pauses, policies and outages there were. Fires of earlier schedules
 * are not gone through again: nothing remembers how long each was in force. The time in which a schedule was broken is gone through
 * where the deploy that mended it had the dates from the schedule that holds now (deploy-dag.ts). A run that retention removed is remembered by its slot.
 */
import { dateSlot } from '../../model/ids.js';
import { firstDateAfter, firstFireAfter } from '../../time/misfire/due-fires.js';
import { rulesOf, type Schedule } from '../../time/schedule/schedule.js';
import { type CalendarFire, walkFires } from '../../time/schedule/walk-fires.js';
import { LATEST_MS } from '../../time/zone/instant-text.js';
import type { DagDocument, FireDocument, RunDocument, SlotDocument } from '../collections.js';
import { type Audit, type Inspection, type Invariant, show } from './inspection.js';

type DatedRun = Pick<
  RunDocument,
  '_id' | 'cause' | 'logicalDate' | 'slot' | 'coalesced' | 'dataInterval' | 'refused'
>;
type DatedSlot = Pick<
  SlotDocument,
  'runId' | 'logicalDate' | 'slot' | 'coalesced' | 'dataInterval'
>;

/** Consecutive fires of one DAG, and everything that may account for them. */
export interface Stretch {
  readonly dagId: string;
  readonly scheduledFrom: Date;
  /** Epoch milliseconds; the stretch reaches up to `endMs`, excluded: where the next one begins. */
  readonly fires: readonly CalendarFire[];
  readonly endMs: number;
  readonly runs: readonly DatedRun[];
  readonly slots: readonly DatedSlot[];
  readonly lines: readonly FireDocument[];
}

const firesAtOnce = 1_000;

const everyFireAccounted: Invariant<Stretch> = {
  name: 'every-fire-accounted',
  *check(stretch) {
    const { dagId, scheduledFrom } = stretch;
    const slots = new Set([...stretch.runs, ...stretch.slots].map((one) => one.slot));
    const covers = [...stretch.runs, ...stretch.slots].filter((one) => one.coalesced > 1);
    const spans = new Spans(stretch.lines);
    for (const { at } of stretch.fires) {
      const date = new Date(at);
      const isCovered = covers.some(
        ({ dataInterval }) =>
          dataInterval !== null && dataInterval.from < date && date <= dataInterval.to,
      );
      if (slots.has(dateSlot(date)) || spans.at(at) !== undefined || isCovered) continue;
      const found = 'nothing';
      yield { subject: `dag ${dagId} fire ${show(date)}`, expected: 'a run or a line', found };
    }
    const dates = new Set(stretch.fires.map((fire) => fire.at));
    for (const run of stretch.runs) {
      const at = run.logicalDate!.getTime();
      const isScheduled = run.cause === 'schedule' || run.cause === 'catch-up';
      // Up to then an earlier schedule may have had this date.
      if (!isScheduled || at <= scheduledFrom.getTime() || at >= stretch.endMs) continue;
      const subject = `run ${run._id}`;
      if (!dates.has(at)) {
        const expected = `a date of the schedule of ${dagId}`;
        yield { subject, expected, found: show(run.logicalDate) };
      }
      const line = spans.at(at);
      if (line === undefined || run.refused !== null) continue;
      yield { subject, expected: 'a run or a line, not both', found: `a line, ${line.reason}` };
    }
  },
};

/** Lines by date: a few hundred single ones, and spans. */
class Spans {
  readonly #single = new Map<number, FireDocument>();
  readonly #spans: FireDocument[] = [];

  constructor(lines: readonly FireDocument[]) {
    for (const line of lines) {
      this.#single.set(line.from.getTime(), line);
      // A count of 0 is a span of which nobody knows how many dates it has.
      if (line.count !== 1) this.#spans.push(line);
    }
  }

  at(ms: number): FireDocument | undefined {
    return (
      this.#single.get(ms) ??
      this.#spans.find((line) => line.from.getTime() <= ms && ms <= line.to.getTime())
    );
  }
}

export const stretches: Inspection<Stretch> = {
  async *read(audit) {
    for await (const span of accountableSpans(audit)) {
      const { dag, schedule, fromMs, toMs } = span;
      let fires: CalendarFire[] = [];
      for (const fire of walkFires(rulesOf(schedule), fromMs, toMs)) {
        if (fires.length === firesAtOnce) {
          audit.counts.fires += fires.length;
          yield await stretchOf(audit, dag, fires, fire.at);
          fires = [];
        }
        fires.push(fire);
      }
      if (fires.length === 0) continue;
      audit.counts.fires += fires.length;
      yield await stretchOf(audit, dag, fires, toMs);
    }
  },
  async again(audit, { dagId, fires, endMs }) {
    const dag = await audit.context.collections.dags.findOne({ _id: dagId });
    return dag === null ? null : stretchOf(audit, dag, fires, endMs);
  },
  invariants: [everyFireAccounted],
};

/** A DAG, and the instants between which all its fires are settled. */
export interface AccountableSpan {
  readonly dag: DagDocument;
  readonly schedule: Schedule;
  /** Included. */
  readonly fromMs: number;
  /** Excluded. */
  readonly toMs: number;
}

/** See the head of this file. A schedule that cannot be evaluated has none: `broken` says so. */
export async function* accountableSpans(audit: Audit): AsyncIterable<AccountableSpan> {
  const filter = audit.dagIds === null ? {} : { _id: { $in: [...audit.dagIds] } };
  const cursor = audit.context.collections.dags.find(filter).sort({ _id: 1 });
  for (let dag = await cursor.next(); dag !== null; dag = await cursor.next()) {
    if (dag.broken !== null) continue;
    const known = await audit.context.versions.get(dag._id, dag.version);
    const schedule = known?.definition.schedule;
    if (schedule === undefined) continue;
    const from = new Date(Math.max(scheduledFromOf(dag).getTime(), audit.firesSince.getTime()));
    const first = firstDateAfter(schedule, dag._id, from);
    if (first === null) continue;
    const fromMs = first.nextFireAt.getTime();
    const toMs = settledUpToMs(dag, schedule);
    if (fromMs < toMs) yield { dag, schedule, fromMs, toMs };
  }
}

export function scheduledFromOf(dag: DagDocument): Date {
  return dag.scheduledFrom ?? dag.deployedAt;
}

/** The first date that need not be settled yet. What a settlement over several batches carries with it is not. */
function settledUpToMs(dag: DagDocument, schedule: Schedule): number {
  let upToMs = dag.nextFireAt?.getTime() ?? LATEST_MS;
  if (dag.state === 'retired' && dag.retiredAt !== null) {
    // What was due then was settled; the cursor is gone.
    const next = firstFireAfter(schedule, dag._id, dag.retiredAt);
    upToMs = Math.min(next?.nextFireAt.getTime() ?? LATEST_MS, dag.retiredAt.getTime() + 1);
  }
  const { carry } = dag;
  if (carry?.folding) upToMs = Math.min(upToMs, carry.folding.from.getTime() + 1);
  if (carry?.line) upToMs = Math.min(upToMs, carry.line.from.getTime());
  return upToMs;
}

async function stretchOf(
  audit: Audit,
  dag: DagDocument,
  fires: readonly CalendarFire[],
  endMs: number,
): Promise<Stretch> {
  const { runs, slots, fires: lines } = audit.context.collections;
  const from = new Date(fires[0]!.at);
  const to = new Date(Math.min(endMs, LATEST_MS));
  const dated = { dagId: dag._id, logicalDate: { $gte: from, $lt: to } };
  // A coalesced run stands for fires long before its date.
  const covering = {
    dagId: dag._id,
    coalesced: { $gt: 1 },
    logicalDate: { $gte: to },
    'dataInterval.from': { $lt: to },
  };
  const runFields = {
    cause: 1,
    logicalDate: 1,
    slot: 1,
    coalesced: 1,
    dataInterval: 1,
    refused: 1,
  } as const;
  const slotFields = { runId: 1, logicalDate: 1, slot: 1, coalesced: 1, dataInterval: 1 } as const;
  return {
    dagId: dag._id,
    scheduledFrom: scheduledFromOf(dag),
    fires,
    endMs,
    // Slots after runs: a run that is removed in between has left its slot.
    runs: [
      ...(await runs.find(dated, { projection: runFields }).toArray()),
      ...(await runs.find(covering, { projection: runFields }).toArray()),
    ],
    slots: [
      ...(await slots.find(dated, { projection: slotFields }).toArray()),
      ...(await slots.find(covering, { projection: slotFields }).toArray()),
    ],
    lines: await lines
      .find({ dagId: dag._id, from: { $lt: to }, to: { $gte: from } })
      .sort({ from: 1 })
      .toArray(),
  };
}
