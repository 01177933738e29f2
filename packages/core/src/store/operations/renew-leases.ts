import type { UpdateFilter } from 'mongodb';
import type { TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { NOW } from '../task-transitions.js';
import type { HeldLease, RenewResult } from '../verbs/task-verbs.js';

/**
 * Extends leases to `leaseMs` from the database's now, never backwards: one updateMany on exactly these grants (task and
 * token in one text), then one find by id for what did not match and for cancel flags. Repeatable.
 *
 * A lease that has expired and that nobody has taken is still the holder's: only a rescue ends it.
 */
export async function renewLeases(
  context: StoreContext,
  runnerId: string,
  held: readonly HeldLease[],
  leaseMs: number,
): Promise<RenewResult> {
  if (held.length === 0) return { lost: [], cancelRequested: [] };
  const { tasks } = context.collections;
  const ids = held.map((lease) => lease.taskId);
  const grants = new Set(held.map(grantOf));
  const renewed = await tasks.updateMany(
    {
      _id: { $in: ids },
      state: 'running',
      'lease.runner': runnerId,
      'lease.grant': { $in: [...grants] },
    },
    [
      { $set: { 'lease.expiresAt': { $max: ['$lease.expiresAt', { $add: [NOW, leaseMs] }] } } },
    ] as unknown as UpdateFilter<TaskDocument>,
  );
  const allMatched = renewed.matchedCount === held.length;
  const found = await tasks
    .find(
      { _id: { $in: ids }, ...(allMatched ? { cancelRequestedAt: { $ne: null } } : {}) },
      { projection: { lease: 1, cancelRequestedAt: 1 } },
    )
    .toArray();
  const ours = found.filter(
    (task) => task.lease !== null && task.lease.runner === runnerId && grants.has(task.lease.grant),
  );
  const kept = new Set(ours.map((task) => task._id));
  return {
    lost: allMatched ? [] : ids.filter((id) => !kept.has(id)),
    cancelRequested: ours.filter((task) => task.cancelRequestedAt !== null).map((task) => task._id),
  };
}

function grantOf({ taskId, token }: HeldLease): string {
  return `${taskId}#${token}`;
}
