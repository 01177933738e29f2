/**
 * Whatever died between taking a place and giving it back: the leader looks at every id in every `activeRunIds`.
 * Closed or gone: pulled. Still queued: its admission is completed, or given up if it may not start any more, or not now
 * since the DAG is paused.
 * Running without `started`: its roots are released. Runs that take no place are found by that mark alone.
 */

import { isClosedRun } from '../../model/states.js';
import type { StoreContext } from '../context.js';
import { isHeldByPause, revToStart } from './hold-runs.js';
import { openingOf } from './place-key.js';
import { byOpening, releaseRoots, startRun } from './start-run.js';
import { releaseHeldPlace, releasePlace } from './take-place.js';
import { workThrough } from './work-through.js';

export async function repairPlaces(context: StoreContext): Promise<number> {
  const { dags, backfills, runs } = context.collections;
  const projection = { activeRunIds: 1, dagId: 1, pausedAt: 1, scheduleRev: 1 } as const;
  // Any id: an empty array has none, and the index holds only those that there are.
  const taken = { activeRunIds: { $gt: '' } };
  const inDags = await dags.find(taken, { projection }).toArray();
  const inBackfills = await backfills.find(taken, { projection }).toArray();
  const holders = [
    ...inDags.flatMap((dag) =>
      dag.activeRunIds.map((key) => ({
        ...openingOf(key),
        dagId: dag._id,
        backfillId: null as string | null,
        dag,
      })),
    ),
    ...inBackfills.flatMap((backfill) =>
      backfill.activeRunIds.map((key) => ({
        ...openingOf(key),
        dagId: backfill.dagId,
        backfillId: backfill._id as string | null,
        dag: null,
      })),
    ),
  ];
  const found = await runs
    .find(
      { _id: { $in: holders.map((holder) => holder._id) } },
      { projection: { state: 1, cause: 1, started: 1, openEpoch: 1 } },
    )
    .toArray();
  const byId = new Map(found.map((run) => [run._id, run]));
  let repaired = 0;
  await workThrough(holders, async (holder) => {
    const { dag, ...placed } = holder;
    const run = byId.get(holder._id);
    const isOver =
      run === undefined || isClosedRun(run.state) || run.openEpoch !== holder.openEpoch;
    if (!isOver && run.state !== 'queued') return;
    const isHeld = !isOver && dag !== null && dag.pausedAt !== null && isHeldByPause(run);
    if (isOver) await releasePlace(context, placed);
    else if (isHeld) await releaseHeldPlace(context, placed, dag.scheduleRev);
    else {
      const startsAtRev = dag === null ? null : revToStart(dag, run);
      await startRun(context, { ...placed, startsAtRev });
    }
    repaired += 1;
  });
  return repaired + (await finishStarts(context));
}

async function finishStarts(context: StoreContext): Promise<number> {
  const halfStarted = await context.collections.runs
    .find({ state: 'running', started: false }, { projection: { openEpoch: 1 } })
    .limit(1_000)
    .toArray();
  for (const [openEpoch, group] of byOpening(halfStarted)) {
    await releaseRoots(
      context,
      openEpoch,
      group.map((run) => run._id),
    );
  }
  return halfStarted.length;
}
