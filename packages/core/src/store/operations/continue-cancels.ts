import type { StoreContext } from '../context.js';
import { carryOutCancel } from './cancel-run.js';

const runsAtOnce = 200;

/** Goes on with every requested cancellation whose run is open: see cancel-run.ts. */
export async function continueCancels(context: StoreContext): Promise<number> {
  const open = await context.collections.runs
    .find({ cancelling: true }, { projection: { _id: 1 } })
    .sort({ cancelRequestedAt: 1 })
    .limit(runsAtOnce)
    .toArray();
  for (const run of open) await carryOutCancel(context, run._id);
  return open.length;
}
