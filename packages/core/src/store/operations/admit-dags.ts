/**
 * Admission for many DAGs at once. Whatever has a rule to apply (a refusal, a cancellation of older runs, a pause, a
 * spacing, a backfill) goes DAG by DAG through admit-runs.ts; the rest, which is nearly everything, takes each of its steps for all
 * DAGs in one operation. The steps, their guards and what a death leaves behind are those of admit-runs.ts.
 */
import type { DagDefinition } from '../../model/definition.js';
import { taskId } from '../../model/ids.js';
import type { DagDocument, RunDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { narrowTo } from '../server-time.js';
import { NOW } from '../task-transitions.js';
import type { FreshTask } from '../verbs/task-verbs.js';
import { admitRuns, queuedFields } from './admit-runs.js';
import type { BegunRuns } from './create-run.js';
import { revToStart } from './hold-runs.js';
import type { QueuedRun } from './queued-run.js';
import { startRuns } from './start-run.js';
import { type PlaceWish, takePlaces } from './take-place.js';
import { workThrough } from './work-through.js';

/** Beyond so many queued runs in all DAGs together each DAG is looked at by itself. */
const runsAtOnce = 500;

type WaitingRun = QueuedRun & Pick<RunDocument, 'refused' | 'cancelRequestedAt' | 'materialized'>;

/** Told of tasks that can be claimed, by name where the names are known. */
export type OnReady = (tasks?: readonly FreshTask[]) => void;

/**
 * Admits the queued runs of these DAGs; answers with the ids of the runs that this call started, and tells `onReady` as soon
 * as their tasks can be claimed. A DAG that fails does not keep the others from their turn: the first error is thrown at the end.
 * `begun`: runs whose tasks are still being made. What there is to read is read meanwhile.
 */
export async function admitDags(
  context: StoreContext,
  dagIds: readonly string[],
  onReady: OnReady = () => {},
  begun?: BegunRuns,
): Promise<string[]> {
  if (dagIds.length === 0) return [];
  const { dags, runs } = context.collections;
  const latest = await narrowTo(context.clock);
  const [found, waiting] = await Promise.all([
    dags
      .find(
        { _id: { $in: [...dagIds] } },
        { projection: { version: 1, pausedAt: 1, scheduleRev: 1, activeRunIds: 1 } },
      )
      .toArray(),
    runs
      .find(
        {
          dagId: { $in: [...dagIds] },
          state: 'queued',
          dueAt: { $lte: latest },
          ...(begun === undefined ? { materialized: true } : {}),
          $expr: { $lte: ['$dueAt', NOW] },
        },
        { projection: { ...queuedFields, refused: 1, cancelRequestedAt: 1, materialized: 1 } },
      )
      .sort({ dueAt: 1, _id: 1 })
      .limit(runsAtOnce + 1)
      .toArray() as Promise<WaitingRun[]>,
    begun?.whole,
  ]);
  const whole = waiting.filter((run) => run.materialized || begun?.runIds.has(run._id));
  const byDag = new Map<string, WaitingRun[]>();
  for (const run of whole) byDag.set(run.dagId, [...(byDag.get(run.dagId) ?? []), run]);
  const free: QueuedRun[] = [];
  const wishes: PlaceWish<QueuedRun>[] = [];
  const byRule: string[] = waiting.length > runsAtOnce ? [...dagIds] : [];
  for (const dag of byRule.length > 0 ? [] : found) {
    const queue = byDag.get(dag._id) ?? [];
    if (queue.length === 0) continue;
    // A version that cannot be read concerns its own DAG alone: there it is reported.
    const known = await context.versions.get(dag._id, dag.version).catch(() => null);
    const plan = known === null ? null : soundPlanOf(dag, known.definition, queue);
    if (plan === null) byRule.push(dag._id);
    else {
      free.push(...plan.free);
      wishes.push(...plan.wishes);
    }
  }
  const placed = await takePlaces(context, wishes);
  const dagOf = new Map(found.map((dag) => [dag._id, dag]));
  const starting = [...free, ...placed].map((run) => ({
    ...run,
    startsAtRev: revToStart(dagOf.get(run.dagId)!, run),
  }));
  const roots = new Map<string, readonly FreshTask[] | null>();
  for (const run of starting) roots.set(run._id, await rootsOf(context, run).catch(() => null));
  const started = await startRuns(context, starting, {
    begun,
    onReady: (runs) => {
      const tasks = runs.map((run) => roots.get(run._id) ?? null);
      onReady(tasks.includes(null) ? undefined : tasks.flatMap((some) => some ?? []));
    },
  });
  const admitted = started.map((run) => run._id);
  if (byRule.length > 0) await begun?.mark();
  await workThrough(byRule, async (dagId) => {
    const runIds = await admitRuns(context, dagId);
    if (runIds.length > 0) onReady();
    admitted.push(...runIds);
  });
  return admitted;
}

/** The tasks that a run begins with; null where that cannot be told from its definition alone. */
async function rootsOf(
  context: StoreContext,
  run: QueuedRun,
): Promise<readonly FreshTask[] | null> {
  if (run.openEpoch > 0) return null;
  const known = await context.versions.get(run.dagId, run.version);
  if (known === null) return null;
  const { _id: runId, dagId, version, cause, logicalDate, dataInterval } = run;
  const roots = known.definition.jobs.filter((job) => job.dependsOn.length === 0);
  return roots.map(({ id: jobId, serveKey }) => ({
    taskId: taskId(runId, jobId),
    runId,
    dagId,
    version,
    jobId,
    serveKey,
    cause,
    logicalDate,
    dataInterval,
  }));
}

/** {@link planOf}; what is damaged goes its own way, too. */
function soundPlanOf(...args: Parameters<typeof planOf>): ReturnType<typeof planOf> {
  try {
    return planOf(...args);
  } catch {
    return null;
  }
}

/** Who starts without a place, and who wishes for one, in order. Null where a rule has to be applied. */
function planOf(
  dag: Pick<DagDocument, 'pausedAt' | 'activeRunIds'>,
  rules: Pick<DagDefinition, 'overlap' | 'maxActiveRuns' | 'maxQueuedRuns' | 'misfire'>,
  queue: readonly WaitingRun[],
): {
  readonly free: readonly QueuedRun[];
  readonly wishes: readonly PlaceWish<QueuedRun>[];
} | null {
  const isSpaced = rules.misfire.spacingMs !== undefined;
  const isPlain = (run: WaitingRun) =>
    run.refused === null &&
    run.cancelRequestedAt === null &&
    run.backfillId === null &&
    !(isSpaced && run.cause === 'catch-up');
  if (dag.pausedAt !== null || !queue.every(isPlain)) return null;
  const { overlap, maxActiveRuns: maxActive, maxQueuedRuns } = rules;
  const places = Math.max(0, maxActive - dag.activeRunIds.length);
  const wishesOf = (runs: readonly QueuedRun[]) =>
    runs.slice(0, places).map((run) => ({ run, maxActive }));
  switch (overlap) {
    case 'allow':
      return {
        free: queue.filter((run) => run.cause !== 'catch-up'),
        wishes: wishesOf(queue.filter((run) => run.cause === 'catch-up')),
      };
    case 'queue': {
      const left = queue.slice(places).filter((run) => run.cause === 'schedule').length;
      return left > maxQueuedRuns ? null : { free: [], wishes: wishesOf(queue) };
    }
    case 'skip':
      return queue.length > places ? null : { free: [], wishes: wishesOf(queue) };
    case 'cancel-previous': {
      // The DAG and its queue were read side by side: an older run that took its place in between is in neither. The one place
      // that there is decides; where there are more, the rule does.
      const isAlone = queue.length === 1 && dag.activeRunIds.length === 0 && maxActive === 1;
      return isAlone ? { free: [], wishes: wishesOf(queue) } : null;
    }
  }
}
