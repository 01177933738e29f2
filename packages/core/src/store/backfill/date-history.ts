import { isClosedRun, type RunState } from '../../model/states.js';
import type { StoreContext } from '../context.js';

/** A run, open or closed, that a plan has to respect. */
export interface KnownRun {
  readonly runId: string;
  readonly state: RunState;
  readonly generation: number;
  /** The jobs that the state is about, when it is not the whole run. */
  readonly jobs?: readonly string[];
}

/** What is known of one logical date. */
export interface DateHistory {
  /** The highest generation whose slot is used, also by a run that an overlap rule refused. */
  readonly generation: number;
  /**
   * The run with the highest generation; null when there is only a refusal. A closed run of a part of the graph says nothing
   * of the whole and does not count; an open one does: the date is being worked on.
   */
  readonly latest: KnownRun | null;
  /** All runs whose documents are there, newest generation first. */
  readonly runs: readonly KnownRun[];
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
  const histories = new Map<number, DraftHistory>();
  // Slots first: what a run says of the same generation counts more.
  const slotFields = { logicalDate: 1, generation: 1, outcome: 1, runId: 1, isPart: 1 } as const;
  for (const slot of await slots.find(filter, { projection: slotFields }).toArray()) {
    const { generation, runId, outcome } = slot;
    const isTold = outcome !== 'refused' && slot.isPart === undefined;
    const run = isTold ? { runId, state: outcome, generation } : null;
    add(histories, slot.logicalDate!, generation, run);
  }
  const runFields = { logicalDate: 1, generation: 1, state: 1, refused: 1, part: 1 } as const;
  for (const run of await runs.find(filter, { projection: runFields }).toArray()) {
    const { _id, generation, state, refused, part } = run;
    const known = { runId: _id, state, generation };
    const isTold = refused === null && (part === undefined || !isClosedRun(state));
    const history = add(histories, run.logicalDate!, generation, isTold ? known : null);
    if (refused === null) history.runs.push(known);
  }
  for (const { runs: known } of histories.values()) {
    known.sort((one, other) => other.generation - one.generation);
  }
  return histories;
}

/** A history that is being put together. */
interface DraftHistory extends DateHistory {
  generation: number;
  latest: KnownRun | null;
  readonly runs: KnownRun[];
}

function add(
  histories: Map<number, DraftHistory>,
  date: Date,
  generation: number,
  run: KnownRun | null,
): DraftHistory {
  const at = date.getTime();
  const known = histories.get(at);
  const history = known ?? { generation: -1, latest: null, runs: [] };
  if (known === undefined) histories.set(at, history);
  history.generation = Math.max(history.generation, generation);
  if (run !== null && isLater(run, history.latest)) history.latest = run;
  return history;
}

/** What is open counts before what is closed, then the generation. */
function isLater(run: KnownRun, before: KnownRun | null): boolean {
  if (before === null) return true;
  const isOpen = !isClosedRun(run.state);
  if (isOpen === isClosedRun(before.state)) return isOpen;
  return run.generation >= before.generation;
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
