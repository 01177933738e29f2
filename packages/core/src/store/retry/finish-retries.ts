import type { StoreContext } from '../context.js';
import { nextPortion, owedAtMost } from '../operations/rounds.js';
import { workThrough } from '../operations/work-through.js';
import { carryOut } from './retry-run.js';

const runsAtOnce = 100;

/** Completes retries whose caller died: see retry-run.ts. Safe beside a caller that is only slow. Returns how many. */
export async function finishRetries(context: StoreContext): Promise<number> {
  const { runs } = context.collections;
  const owed = await runs
    .find({ 'retrying.at': { $exists: true } }, { projection: { _id: 1 } })
    .limit(owedAtMost)
    .toArray();
  if (owed.length === 0) return 0;
  const ids = owed.map(({ _id }) => _id);
  const portion = nextPortion(context, 'retries', ids, runsAtOnce);
  const marked = await runs
    .find({ _id: { $in: portion }, 'retrying.at': { $exists: true } })
    .toArray();
  await workThrough(marked, (run) => carryOut(context, run));
  return marked.length;
}
