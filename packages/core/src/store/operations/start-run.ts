import type { Filter, UpdateFilter } from 'mongodb';
import type { RunDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { choose, NOW, settleStage } from '../task-transitions.js';
import type { BegunRuns } from './create-run.js';
import type { QueuedRun } from './queued-run.js';
import { releaseHeldPlace, releasePlace } from './take-place.js';

/** A run that has its place, or takes none. */
export interface PlacedRun extends Pick<QueuedRun, '_id' | 'dagId' | 'backfillId' | 'openEpoch'> {
  /** By which reading of its DAG it may start: see hold-runs.ts. */
  readonly startsAtRev: number | null;
}

export interface StartOptions<Run> {
  readonly begun?: BegunRuns | undefined;
  readonly onReady?: (started: readonly Run[]) => void;
}

/** {@link startRuns} for one run. False: it did not start. */
export async function startRun(context: StoreContext, run: PlacedRun): Promise<boolean> {
  return (await startRuns(context, [run])).length === 1;
}

/**
 * Takes admitted runs from `queued` to `running` and makes their roots ready: see admit-runs.ts. Each step is repeatable.
 * Answers with those that started; a run that cannot start any more (closed, refused, cancelled, held by a pause, not due) gives its place back.
 * `onReady` is told as soon as their roots can be claimed. Runs that are `begun` have all their tasks, but not the mark: it is set
 * here.
 */
export async function startRuns<Run extends PlacedRun>(
  context: StoreContext,
  placed: readonly Run[],
  { begun, onReady = () => {} }: StartOptions<Run> = {},
): Promise<Run[]> {
  const started: Run[] = [];
  for (const [openEpoch, group] of byOpening(placed)) {
    const starting = await moveToRunning(context, openEpoch, group, begun);
    await releaseRoots(
      context,
      openEpoch,
      starting.map((run) => run._id),
      () => onReady(starting),
    );
    started.push(...starting);
  }
  return started;
}

async function moveToRunning<Run extends PlacedRun>(
  context: StoreContext,
  openEpoch: number,
  group: readonly Run[],
  begun: BegunRuns | undefined,
): Promise<readonly Run[]> {
  const { runs } = context.collections;
  const areBegun = begun !== undefined && group.every((run) => begun.runIds.has(run._id));
  if (!areBegun) await begun?.mark();
  const which = { _id: { $in: group.map((run) => run._id) }, openEpoch };
  const isOne = group.length === 1;
  // The driver tries a write of one document again when its answer is lost.
  const moved = await runs[isOne ? 'updateOne' : 'updateMany'](
    {
      ...which,
      state: 'queued',
      ...(areBegun ? {} : { materialized: true }),
      refused: null,
      cancelRequestedAt: null,
      ...notHeld(group),
      $expr: { $lte: ['$dueAt', NOW] },
    },
    [
      { $set: { state: 'running', startedAt: NOW, materialized: true } },
    ] as unknown as UpdateFilter<RunDocument>,
  );
  if (moved.matchedCount === group.length) {
    if (areBegun) begun.marked(group.map((run) => run._id));
    return group;
  }
  const fields = { state: 1, started: 1, heldAtRev: 1 } as const;
  const seen = new Map(
    (await runs.find(which, { projection: fields }).toArray()).map((run) => [run._id, run]),
  );
  for (const run of group) {
    const found = seen.get(run._id);
    if (found?.state === 'running') continue;
    const { heldAtRev = null } = found?.state === 'queued' ? found : {};
    const isHeld = run.startsAtRev !== null && heldAtRev !== null && heldAtRev > run.startsAtRev;
    if (isHeld) await releaseHeldPlace(context, run, heldAtRev);
    else await releasePlace(context, run);
  }
  // Moved by this call, or by another process, or by this one before it died: what is missing is made up for.
  return group.filter(({ _id }) => {
    const found = seen.get(_id);
    return found?.state === 'running' && !found.started;
  });
}

/** That no pause holds any of them which was not over when its DAG was read. */
function notHeld(group: readonly PlacedRun[]): Filter<RunDocument> {
  const byRev = new Map<number | null, string[]>();
  for (const { _id, startsAtRev } of group) {
    byRev.set(startsAtRev, [...(byRev.get(startsAtRev) ?? []), _id]);
  }
  const conditions = [...byRev].map(([rev, ids]) => ({
    ids,
    is: rev === null ? {} : { heldAtRev: { $not: { $gt: rev } } },
  }));
  const [first, ...others] = conditions;
  if (others.length === 0) return first?.is ?? {};
  return { $or: conditions.map(({ ids, is }) => ({ _id: { $in: ids }, ...is })) };
}

/**
 * Makes the roots of running runs ready and marks the runs started. In a retry, or a run of a part of the graph, the roots are
 * the tasks that wait for none of those that run; what the others have left them (a skip, say) decides them.
 */
export async function releaseRoots(
  context: StoreContext,
  openEpoch: number,
  runIds: readonly string[],
  onReady: () => void = () => {},
): Promise<void> {
  if (runIds.length === 0) return;
  const { runs, tasks } = context.collections;
  const runId = { $in: [...runIds] };
  await tasks.updateMany(
    openEpoch === 0
      ? { runId, state: 'blocked', root: true, openEpoch: { $exists: false } }
      : { runId, state: 'blocked', root: true, openEpoch },
    decided as unknown as UpdateFilter<TaskDocument>,
  );
  onReady();
  // Whoever was told may ask first: what is left is for the leader alone.
  await new Promise((resolve) => setImmediate(resolve));
  await runs[runIds.length === 1 ? 'updateOne' : 'updateMany'](
    { _id: { $in: [...runIds] }, openEpoch, state: 'running' },
    { $set: { started: true } },
  );
}

/** Runs by the opening that they are in. */
export function byOpening<Run extends { readonly openEpoch: number }>(
  runs: readonly Run[],
): Map<number, Run[]> {
  const groups = new Map<number, Run[]>();
  for (const run of runs) {
    const group = groups.get(run.openEpoch);
    if (group === undefined) groups.set(run.openEpoch, [run]);
    else group.push(run);
  }
  return groups;
}

/** By what is known of the upstream tasks, all of which have reported: see propagate.ts. */
const decided = [
  {
    $set: {
      state: choose(
        [
          ['$upstream.failed', 'upstream-failed'],
          ['$upstream.cancelled', 'cancelled'],
          ['$upstream.skipped', 'skipped'],
        ],
        'ready',
      ),
    },
  },
  settleStage(),
];
