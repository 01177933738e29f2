import type { StoreContext } from '../context.js';
import type { HeldLease } from '../verbs/task-verbs.js';

const longestNote = 500;

/** Guarded by state, holder and token: a stale holder changes nothing, and is not told here. */
export async function reportProgress(
  context: StoreContext,
  lease: HeldLease,
  runnerId: string,
  fraction: number,
  note?: string,
): Promise<void> {
  const bounded = Number.isNaN(fraction) ? 0 : Math.min(1, Math.max(0, fraction));
  await context.collections.tasks.updateOne(
    { _id: lease.taskId, state: 'running', token: lease.token, 'lease.runner': runnerId },
    { $set: { progress: { fraction: bounded, note: note?.slice(0, longestNote) ?? null } } },
  );
}
