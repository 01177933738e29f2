import type { StoreContext } from '../context.js';

/**
 * Those of the backfills that have not ended. By their ids alone, and judged here: asked for by their states, one that is paused
 * at that moment could be passed over in the index (unmoving.ts), and be taken for ended.
 */
export async function livingBackfills(
  context: StoreContext,
  ids: readonly string[],
): Promise<Set<string>> {
  const found = await context.collections.backfills
    .find({ _id: { $in: [...ids] } }, { projection: { state: 1 } })
    .toArray();
  const living = found.filter(({ state }) => state === 'running' || state === 'paused');
  return new Set(living.map((backfill) => backfill._id));
}
