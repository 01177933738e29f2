/**
 * Pausing and resuming a schedule.
 *
 * Authority: the DAG's document. A pause is a span `[from, to)` in the database's time; it is open (`to: null`, `pausedAt` set)
 * until the resume. Fires before it were settled before it began, fires inside it are decided after the resume, by
 * `onResume`. While it is open nothing of the schedule is decided.
 *
 * Each of the two is one compare-and-set on (nextFireAt, scheduleRev, pending: null), so it falls wholly before or wholly
 * after any decision. Pausing also asks the server that nothing is due at that moment: what came due since the settling is
 * settled first. Dying before the write changes nothing but what any leader would have settled anyway.
 *
 * When a pause has answered, no scheduled or catch-up run starts until the resume, not even one whose admission was under way.
 * So it also holds the runs in the queue, after its compare-and-set (hold-runs.ts). One that started before that, while the
 * pause was being written, goes on like all that run. Dying in between leaves the DAG paused, and an admission under way may
 * still start a run; a pause that finds the DAG paused holds the runs as well before it answers.
 */
import { NotFoundError } from '../../errors.js';
import type { DagDefinition } from '../../model/definition.js';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { holdQueuedRuns } from '../operations/hold-runs.js';
import { isDueExpression, readDag } from './dag-cursor.js';
import { busy, maxTries } from './lost-races.js';
import { afterPause, afterResume } from './schedule-state.js';
import { settleAll } from './settle-schedule.js';

/**
 * Opens a paused span at the database's now, after settling what is due, and holds what is queued. False when the DAG was paused already.
 * Throws NotFoundError.
 */
export async function pauseDag(context: StoreContext, dagId: string): Promise<boolean> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    await settleAll(context, dagId, 'due');
    const dag = await readExisting(context, dagId);
    if (dag.pausedAt !== null) {
      await holdQueuedRuns(context, dagId, dag.scheduleRev);
      return false;
    }
    const paused = afterPause(dag, '$$NOW');
    const { matchedCount } = await context.collections.dags.updateOne(
      {
        _id: dagId,
        nextFireAt: dag.nextFireAt,
        scheduleRev: dag.scheduleRev,
        state: dag.state,
        broken: dag.broken,
        pending: null,
        carry: null,
        // A retired or broken schedule decides nothing, however old its cursor is.
        ...(dag.state === 'active' && dag.broken === null
          ? { $expr: { $not: [isDueExpression] } }
          : {}),
      },
      [{ $set: paused }],
    );
    if (matchedCount !== 1) continue;
    await holdQueuedRuns(context, dagId, paused.scheduleRev);
    return true;
  }
  throw busy(dagId, 'paused');
}

/**
 * Closes the span at the database's now; the fires inside it are due from then on, under `onResume` or else the DAG's own
 * policy. False when the DAG was not paused. Throws NotFoundError.
 */
export async function resumeDag(
  context: StoreContext,
  dagId: string,
  onResume?: DagDefinition['onResume'],
): Promise<boolean> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    await settleAll(context, dagId, 'due');
    const dag = await readExisting(context, dagId);
    if (dag.pausedAt === null) return false;
    const { matchedCount } = await context.collections.dags.updateOne(
      {
        _id: dagId,
        nextFireAt: dag.nextFireAt,
        scheduleRev: dag.scheduleRev,
        pausedAt: dag.pausedAt,
        pending: null,
      },
      [{ $set: afterResume(dag, '$$NOW', onResume ?? null) }],
    );
    if (matchedCount === 1) return true;
  }
  throw busy(dagId, 'resumed');
}

async function readExisting(context: StoreContext, dagId: string): Promise<DagDocument> {
  const reading = await readDag(context, dagId);
  if (reading === null) throw new NotFoundError(`There is no DAG "${dagId}".`);
  return reading.dag;
}
