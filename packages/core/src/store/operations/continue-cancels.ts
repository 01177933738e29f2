import type { StoreContext } from '../context.js';
import { carryOutCancel } from './cancel-run.js';
import { nextPortion, owedAtMost } from './rounds.js';
import { workThrough } from './work-through.js';

const runsAtOnce = 200;

/** Goes on with every requested cancellation whose run is open: see cancel-run.ts. */
export async function continueCancels(context: StoreContext): Promise<number> {
  const open = await context.collections.runs
    .find({ cancelling: true }, { projection: { _id: 1 } })
    .sort({ cancelRequestedAt: 1 })
    .limit(owedAtMost)
    .toArray();
  const ids = open.map(({ _id }) => _id);
  // A run whose tasks do not yield is cancelling for long.
  const portion = nextPortion(context, 'cancels', ids, runsAtOnce);
  await workThrough(portion, (runId) => carryOutCancel(context, runId));
  return portion.length;
}
