import type { StoreContext } from '../context.js';
import { narrowTo } from '../server-time.js';
import { NOW } from '../task-transitions.js';
import { propagate } from './propagate.js';
import { nextPortion, owedAtMost } from './rounds.js';
import { workThrough } from './work-through.js';

const marksAtOnce = 200;

/**
 * Propagates for finishers that died: every closed task whose mark `propagated: false` is older than `olderThanMs` by the
 * database's clock. Safe beside a finisher that is only slow: see propagate.ts.
 */
export async function payPropagation(context: StoreContext, olderThanMs: number): Promise<number> {
  const { tasks } = context.collections;
  const latest = new Date((await narrowTo(context.clock)).getTime() - olderThanMs);
  const owed = await tasks
    .find(
      {
        propagated: false,
        endedAt: { $lte: latest },
        $expr: { $lte: ['$endedAt', { $subtract: [NOW, olderThanMs] }] },
      },
      { projection: { _id: 1 } },
    )
    .sort({ endedAt: 1 })
    .limit(owedAtMost)
    .toArray();
  const ids = owed.map(({ _id }) => _id);
  const portion = nextPortion(context, 'propagation', ids, marksAtOnce);
  // One after the other: the first of a run often pays for the others, which then cost one read.
  await workThrough(portion, (taskId) => propagate(context, taskId));
  return portion.length;
}
