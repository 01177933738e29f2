/**
 * The cursor protocol: every fire of a schedule becomes exactly one run or one line in `fires`, whoever dies when.
 *
 * Authority: the DAG's document. `(nextFireAt, scheduleRev)` names a place in the schedule; it never comes back, since the
 * cursor only grows under one revision and the revision only grows. `pending` is the decision made at that place. What is due
 * is the database's clock's to say. Any process may settle at any time; the leader merely does so regularly.
 *
 * States:
 *
 *   at rest (pending: null) --store the decision--> decided (pending: {...}) --carry it out, move--> at rest, cursor later
 *
 * 1. Store: one compare-and-set on (nextFireAt, scheduleRev, pending: null), guarded by "due" against `$$NOW`. What to do
 *    with a late fire depends on how late it is, so two processes, or one before and after a death, would decide
 *    differently. Storing the decision first makes it one decision.
 * 2. Carry out: the runs, each under its unique slot; then the lines, each under its unique (dagId, from). Everything is
 *    named by the decision, so doing it twice, or half and then whole, comes to the same.
 * 3. Move: one compare-and-set on (nextFireAt, scheduleRev, decidedAt) sets the next cursor and clears `pending`.
 *
 * Dying before 1: nothing happened. Between 1 and 3: whoever looks next finds `pending` and does 2 and 3 as it stands,
 * before anything new is decided. After 3: done. A process that was asleep in 2 repeats writes that are there already,
 * and its 3 matches nothing. Deploys, pauses and retirements ask for `pending: null` in their own compare-and-sets, so a
 * decision is never carried out under another revision than its own.
 */
import { NotFoundError } from '../../errors.js';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import type { SettleResult } from '../verbs/dag-verbs.js';
import { carryOutPending } from './carry-out-pending.js';
import { isDue, isDueExpression, isReachedExpression, readDag } from './dag-cursor.js';
import { decidePending, type SettleMode } from './decide-pending.js';
import type { PendingDecision } from './pending-decision.js';
import { readVersion } from './read-version.js';

const nothing: SettleResult = { created: 0, recorded: 0, more: false };

/**
 * Finishes a stored decision as it stands, else decides one batch of what is due by the database's clock and carries it
 * out. Repeatable; losing to another process is no error: that one does the work. A schedule that cannot be evaluated is
 * marked broken and throws nothing. Throws NotFoundError for a DAG that was never deployed.
 */
export async function settleSchedule(context: StoreContext, dagId: string): Promise<SettleResult> {
  return settleBatch(context, dagId, 'due');
}

/**
 * Settles batch after batch until nothing is left that `mode` covers. What a change of the schedule does before it changes
 * anything; the change's own compare-and-set then finds out whether something came due in between.
 */
export async function settleAll(
  context: StoreContext,
  dagId: string,
  mode: SettleMode,
): Promise<void> {
  while ((await settleBatch(context, dagId, mode)).more);
}

async function settleBatch(
  context: StoreContext,
  dagId: string,
  mode: SettleMode,
): Promise<SettleResult> {
  const reading = await readDag(context, dagId);
  if (reading === null) throw new NotFoundError(`There is no DAG "${dagId}".`);
  const { dag, now } = reading;
  if (dag.pending !== null) {
    const done = await carryOutPending(context, dag, dag.pending);
    return { ...done, more: hasMore(dag.pending, now, mode) };
  }
  if (!isForDeciding(dag, now, mode)) return nothing;
  const pending = decidePending(dag, await readVersion(context, dag), now, mode);
  if (!(await storePending(context, dag, pending, mode))) return nothing;
  const done = await carryOutPending(context, dag, pending);
  return { ...done, more: hasMore(pending, now, mode) };
}

/** The part of the guard that can be told from the document alone; {@link storePending} repeats it on the server. */
function isForDeciding(dag: DagDocument, now: Date, mode: SettleMode): boolean {
  if (dag.state !== 'active' || dag.broken !== null || dag.nextFireAt === null) return false;
  if (mode === 'replace') return dag.nextFireAt <= now;
  return isDue(dag, now) && (dag.pausedAt === null || mode === 'retire');
}

/** Step 1. False: another process decided, or changed the DAG, since it was read. */
async function storePending(
  context: StoreContext,
  dag: DagDocument,
  pending: PendingDecision,
  mode: SettleMode,
): Promise<boolean> {
  const { matchedCount } = await context.collections.dags.updateOne(
    {
      _id: dag._id,
      state: 'active',
      // A run decided after a deploy is a run of the new version.
      version: dag.version,
      nextFireAt: dag.nextFireAt,
      scheduleRev: dag.scheduleRev,
      pending: null,
      $expr: mode === 'replace' ? isReachedExpression : isDueExpression,
    },
    { $set: { pending } },
  );
  return matchedCount === 1;
}

/** By the clock of the reading: an early "no" is put right by the next look, a "yes" costs one look. */
function hasMore(pending: PendingDecision, now: Date, mode: SettleMode): boolean {
  if (pending.broken !== null || pending.next === null) return false;
  const jitterMs = mode === 'replace' ? 0 : pending.nextJitterMs;
  return pending.next.getTime() + jitterMs <= now.getTime();
}
