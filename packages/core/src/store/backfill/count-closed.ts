import { isClosedRun } from '../../model/states.js';
import type { BackfillDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { openingOf } from '../operations/place-key.js';
import { countBackfillRun } from './count-backfill-run.js';

/** What counting needs of a run. */
export const countedFields = {
  state: 1,
  backfillId: 1,
  openEpoch: 1,
  startedAt: 1,
  endedAt: 1,
} as const;

/** Counts the runs of the window that are closed, or gone: whoever closed them died before counting. True if there was one. */
export async function countClosed(
  context: StoreContext,
  backfill: BackfillDocument,
): Promise<boolean> {
  if (backfill.openRunIds.length === 0) return false;
  const { runs, slots } = context.collections;
  const openings = backfill.openRunIds.map(openingOf);
  const found = await runs
    .find({ _id: { $in: openings.map(({ _id }) => _id) } }, { projection: countedFields })
    .toArray();
  for (const run of found) await countBackfillRun(context, run);
  let isChanged = found.some((run) => isClosedRun(run.state));
  const there = new Set(found.map((run) => run._id));
  for (const { _id, openEpoch } of openings) {
    if (there.has(_id)) continue;
    isChanged = true;
    // Removed by retention: its slot remembers how it ended.
    const slot = await slots.findOne({ dagId: backfill.dagId, runId: _id });
    const outcome = slot?.outcome ?? 'refused';
    const state = outcome === 'refused' ? 'cancelled' : outcome;
    await countBackfillRun(context, {
      ...{ _id, openEpoch, backfillId: backfill._id, state },
      ...{ startedAt: null, endedAt: null },
    });
  }
  return isChanged;
}
