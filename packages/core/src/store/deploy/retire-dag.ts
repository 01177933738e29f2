import type { StoreContext } from '../context.js';
import { cancelHeldRuns } from '../operations/cancel-held-runs.js';
import { isDueExpression, isReachedExpression, readDag } from '../schedule/dag-cursor.js';
import { busy, maxTries } from '../schedule/lost-races.js';
import { afterRetire } from '../schedule/schedule-state.js';
import { settleBroken } from '../schedule/settle-broken.js';
import { settleAll } from '../schedule/settle-schedule.js';

/**
 * Stops the schedule of a DAG that left the code. A decision that is stored already is carried out; fires that are due and
 * not decided become lines (`skipped`, `paused` inside a pause, or `broken`): nothing new runs. Runs that exist go on, queued ones too, but for
 * those that a pause holds: nobody resumes it, so they are cancelled. History stays.
 * Idempotent: false when there is no such DAG in `project`, or it is retired already.
 *
 * One compare-and-set, as a deploy's (deploy-dag.ts): dying before it leaves an active DAG with a settled cursor, dying after it
 * runs that the next admission cancels.
 */
export async function retireDag(
  context: StoreContext,
  dagId: string,
  project: string,
): Promise<boolean> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const before = await readDag(context, dagId);
    if (before === null || before.dag.project !== project) return false;
    if (before.dag.state === 'retired') return false;
    await settleAll(context, dagId, 'retire');
    await settleBroken(context, dagId);
    const settled = await readDag(context, dagId);
    if (settled === null) return false;
    const { dag } = settled;
    const { matchedCount } = await context.collections.dags.updateOne(
      {
        _id: dagId,
        project,
        scheduleRev: dag.scheduleRev,
        state: 'active',
        pending: null,
        carry: null,
        broken: dag.broken,
        $expr: { $not: [dag.broken === null ? isDueExpression : isReachedExpression] },
      },
      [{ $set: { ...afterRetire(dag), retiredAt: '$$NOW' } }],
    );
    if (matchedCount !== 1) continue;
    if (dag.pausedAt !== null) await cancelHeldRuns(context, dagId);
    return true;
  }
  throw busy(dagId, 'retired');
}
