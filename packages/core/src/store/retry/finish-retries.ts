import type { StoreContext } from '../context.js';
import { workThrough } from '../operations/work-through.js';
import { carryOut } from './retry-run.js';

const runsAtOnce = 100;

/** Completes retries whose caller died: see retry-run.ts. Safe beside a caller that is only slow. Returns how many. */
export async function finishRetries(context: StoreContext): Promise<number> {
  const marked = await context.collections.runs
    .find({ 'retrying.at': { $exists: true } })
    .limit(runsAtOnce)
    .toArray();
  await workThrough(marked, (run) => carryOut(context, run));
  return marked.length;
}
