import type { StoreContext } from '../context.js';
import { carryOutCancel } from './cancel-run.js';
import { workThrough } from './work-through.js';

const runsAtOnce = 200;

/** Goes on with every requested cancellation whose run is open: see cancel-run.ts. */
export async function continueCancels(context: StoreContext): Promise<number> {
  const open = await context.collections.runs
    .find({ cancelling: true }, { projection: { _id: 1 } })
    .sort({ cancelRequestedAt: 1 })
    .limit(runsAtOnce)
    .toArray();
  await workThrough(open, (run) => carryOutCancel(context, run._id));
  return open.length;
}
