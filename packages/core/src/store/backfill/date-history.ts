import type { RunState } from '../../model/states.js';
import type { StoreContext } from '../context.js';

/** A run, open or closed, that a plan has to respect. */
export interface KnownRun {
  readonly runId: string;
  readonly state: RunState;
  readonly generation: number;
}

/** What is known of one logical date. */
export interface DateHistory {
  /** The highest generation whose slot is used, also by a run that an overlap rule refused. */
  readonly generation: number;
  /** The run with the highest generation; null when there is only a refusal. */
  readonly latest: KnownRun | null;
}

/** A coalesced run and the dates that it stands for: after `from`, and before `to`, its own. */
export interface Cover {
  readonly from: Date;
  readonly to: Date;
  readonly run: KnownRun;
}

/**
 * The histories of the dates in `[from, to]` that have one, by epoch milliseconds. Runs say how open ones stand (also
 * reopened ones); slots remember those that retention has removed.
 */
export async function readHistories(
  context: StoreContext,
  dagId: string,
  from: Date,
  to: Date,
): Promise<Map<number, DateHistory>> {
  const filter = { dagId, logicalDate: { $gte: from, $lte: to } };
  const { runs, slots } = context.collections;
  const histories = new Map<number, DateHistory>();
  // Slots first: what a run says of the same generation counts more.
  const slotFields = { logicalDate: 1, generation: 1, outcome: 1, runId: 1 } as const;
  for (const slot of await slots.find(filter, { projection: slotFields }).toArray()) {
    const { generation, runId, outcome } = slot;
    const run = outcome === 'refused' ? null : { runId, state: outcome, generation };
    add(histories, slot.logicalDate!, generation, run);
  }
  const runFields = { logicalDate: 1, generation: 1, state: 1, refused: 1 } as const;
  for (const run of await runs.find(filter, { projection: runFields }).toArray()) {
    const { _id, generation, state, refused } = run;
    const known = refused === null ? { runId: _id, state, generation } : null;
    add(histories, run.logicalDate!, generation, known);
  }
  return histories;
}

function add(
  histories: Map<number, DateHistory>,
  date: Date,
  generation: number,
  run: KnownRun | null,
): void {
  const before = histories.get(date.getTime()) ?? { generation: -1, latest: null };
  const isLater = run !== null && run.generation >= (before.latest?.generation ?? -1);
  histories.set(date.getTime(), {
    generation: Math.max(before.generation, generation),
    latest: isLater ? run : before.latest,
  });
}

/** The coalesced runs that stand for dates in `[from, to)`, in order of their dates. */
export async function readCovers(
  context: StoreContext,
  dagId: string,
  from: Date,
  to: Date,
): Promise<Cover[]> {
  const filter = {
    dagId,
    coalesced: { $gt: 1 },
    logicalDate: { $gte: from },
    'dataInterval.from': { $lt: to },
  };
  const { runs, slots } = context.collections;
  const covers = new Map<string, Cover>();
  for (const slot of await slots.find(filter).toArray()) {
    if (slot.outcome === 'refused' || slot.dataInterval === null) continue;
    const { runId, outcome, generation } = slot;
    covers.set(runId, { ...slot.dataInterval, run: { runId, state: outcome, generation } });
  }
  for (const run of await runs.find(filter).toArray()) {
    if (run.refused !== null || run.dataInterval === null) continue;
    const { _id, state, generation } = run;
    covers.set(_id, { ...run.dataInterval, run: { runId: _id, state, generation } });
  }
  return [...covers.values()].sort((one, other) => one.to.getTime() - other.to.getTime());
}
