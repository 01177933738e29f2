/** A coalesced run counts the fires that it stands for; a line in `fires` likewise. */
import { rulesOf, type Schedule } from '../../time/schedule/schedule.js';
import { walkFires } from '../../time/schedule/walk-fires.js';
import type { DagDocument, FireDocument, RunDocument } from '../collections.js';
import { accountableSpans, scheduledFromOf } from './fire-invariants.js';
import type { Audit, Finding, Inspection, Invariant } from './inspection.js';

/** Something with a count, and what is in its interval. */
interface Counted {
  readonly subject: string;
  readonly count: number;
  /** The least and the most that it may count. */
  readonly least: number;
  readonly most: number;
  readonly reread: () => Promise<Counted | null>;
}

const countsAgree: Invariant<Counted> = {
  name: 'every-fire-accounted',
  *check({ subject, count, least, most }): Iterable<Finding> {
    if (count >= least && count <= most) return;
    const expected = least === most ? `${least} fires` : `${least} to ${most} fires`;
    yield { subject, expected, found: `${count}` };
  },
};

/** Runs and lines of more than this many fires are not counted through again. */
const mostFires = 1_000_000;

export const coalescedRuns: Inspection<Counted> = {
  async *read(audit) {
    const { runs, fires } = audit.context.collections;
    for await (const { dag, schedule, fromMs, toMs } of accountableSpans(audit)) {
      // Before that an earlier schedule may have made them.
      const from = new Date(Math.max(fromMs, scheduledFromOf(dag).getTime() + 1));
      const to = new Date(toMs);
      const coalesced = runs
        .find({ dagId: dag._id, coalesced: { $gt: 1 }, logicalDate: { $gte: from, $lt: to } })
        .project<RunDocument>({ params: 0 });
      for (let run = await coalesced.next(); run !== null; run = await coalesced.next()) {
        const counted = await countRun(audit, dag, schedule, run, fromMs);
        if (counted !== null) yield counted;
      }
      const lines = fires.find({ dagId: dag._id, from: { $gte: from }, to: { $lt: to } });
      for (let line = await lines.next(); line !== null; line = await lines.next()) {
        const counted = countLine(schedule, line);
        if (counted !== null) yield counted;
      }
    }
  },
  again: (_audit, counted) => counted.reread(),
  invariants: [countsAgree],
};

/** The fires of its interval that are neither runs nor lines of their own. */
async function countRun(
  audit: Audit,
  dag: DagDocument,
  schedule: Schedule,
  run: RunDocument,
  fromMs: number,
): Promise<Counted | null> {
  const { runs, slots, fires } = audit.context.collections;
  if (run.dataInterval === null || run.coalesced > mostFires) return null;
  const { from, to } = run.dataInterval;
  const calendar = countFires(schedule, Math.max(from.getTime() + 1, fromMs), to.getTime() + 1);
  const inside = { dagId: dag._id, generation: 0, logicalDate: { $gt: from, $lt: to } };
  const own = await runs
    .find({ ...inside, cause: { $in: ['schedule', 'catch-up'] } }, { projection: { slot: 1 } })
    .toArray();
  const used = await slots.find(inside, { projection: { slot: 1 } }).toArray();
  const lines = await fires
    .find({ dagId: dag._id, from: { $gt: from, $lte: to } }, { projection: { count: 1 } })
    .toArray();
  const recorded = lines.reduce((sum, line) => sum + line.count, 0);
  const most = calendar - recorded - own.length;
  // A slot does not say whether it was a backfill's, which does not take the date from the coalesced run.
  const known = new Set(own.map((one) => one.slot));
  const unclear = used.filter((slot) => !known.has(slot.slot)).length;
  return {
    subject: `run ${run._id} coalesced`,
    count: run.coalesced,
    least: most - unclear,
    most,
    reread: async () => {
      const now = await runs.findOne({ _id: run._id });
      return now === null ? null : countRun(audit, dag, schedule, now, fromMs);
    },
  };
}

function countLine(schedule: Schedule, line: FireDocument): Counted | null {
  if (line.count > mostFires) return null;
  const isExcluded = line.reason === 'excluded';
  const calendar = countFires(schedule, line.from.getTime(), line.to.getTime() + 1, isExcluded);
  return {
    subject: `fires ${line._id}`,
    count: line.count,
    least: calendar,
    most: calendar,
    reread: async () => countLine(schedule, line),
  };
}

function countFires(schedule: Schedule, from: number, to: number, excluded?: boolean): number {
  let count = 0;
  for (const fire of walkFires(rulesOf(schedule), from, to)) {
    if (excluded === undefined || fire.isExcluded === excluded) count += 1;
    if (count > mostFires) break;
  }
  return count;
}
