import type { FireRecord } from '../../model/run.js';
import type { FireReason } from '../../model/states.js';
import type { StoreContext } from '../context.js';

/** Fires of a DAG that did not become runs of their own, newest first; spans that overlap `[from, to)` whole. Default limit 100. */
export async function listFires(
  context: StoreContext,
  dagId: string,
  options: { readonly from?: Date; readonly to?: Date; readonly limit?: number } = {},
): Promise<FireRecord[]> {
  const found = await context.collections.fires
    .find({
      dagId,
      ...(options.to === undefined ? {} : { from: { $lt: options.to } }),
      ...(options.from === undefined ? {} : { to: { $gte: options.from } }),
    })
    .sort({ from: -1 })
    .limit(options.limit ?? 100)
    .project<FireRecord>({ _id: 0 })
    .toArray();
  return found;
}

/** How many fires of a DAG were written down, by reason; a span counts all its fires. */
export async function countFires(
  context: StoreContext,
  dagId: string,
): Promise<Partial<Record<FireReason, number>>> {
  const groups = await context.collections.fires
    .aggregate<{ _id: FireReason; count: number }>([
      { $match: { dagId } },
      { $group: { _id: '$reason', count: { $sum: '$count' } } },
    ])
    .toArray();
  return Object.fromEntries(groups.map((group) => [group._id, group.count]));
}
