/**
 * What a backfill of a part of the graph asks of a date: whether its jobs are done, and where their inputs come from.
 *
 * The question "does this date have a run?" becomes "did these jobs take part in a run of this date?", so that a job that is
 * new in the graph is filled in by the default `--reprocess none`, and one that ran is left alone.
 */
import { taskId } from '../../model/ids.js';
import { isClosedRun, type RunState, type TaskState } from '../../model/states.js';
import type { TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import type { DateHistory, KnownRun } from './date-history.js';

/** The part of a graph that a backfill runs. */
export interface Part {
  /** In topological order. */
  readonly jobs: readonly string[];
  /** Jobs outside of it whose results it takes, in topological order. */
  readonly inputs: readonly string[];
}

/** What is known of one logical date for a part. */
export interface PartHistory extends DateHistory {
  /** The newest run that has all inputs; null when none has, or none is needed. */
  readonly source: string | null;
  /** Inputs of which no run has a result, or, where each has one, those that no single run has all of. */
  readonly missing: readonly string[];
}

type KnownTask = Pick<TaskDocument, 'runId' | 'jobId' | 'state' | 'takenFrom'>;

const idsPerQuery = 1_000;

/** The histories of the dates as the part sees them. */
export async function readPartHistories(
  context: StoreContext,
  histories: ReadonlyMap<number, DateHistory>,
  part: Part,
): Promise<Map<number, PartHistory>> {
  const runIds = [...histories.values()].flatMap(({ runs }) => runs.map(({ runId }) => runId));
  const ids = runIds.flatMap((runId) =>
    [...part.jobs, ...part.inputs].map((job) => taskId(runId, job)),
  );
  const byRun = new Map<string, Map<string, KnownTask>>();
  const fields = { runId: 1, jobId: 1, state: 1, takenFrom: 1, 'error.name': 1 } as const;
  for (let from = 0; from < ids.length; from += idsPerQuery) {
    const found = await context.collections.tasks
      .find({ _id: { $in: ids.slice(from, from + idsPerQuery) } }, { projection: fields })
      .toArray();
    for (const task of found) {
      const isLeftOut = task.state === 'skipped' && task.error?.name === 'LeftOut';
      if (isLeftOut && task.takenFrom === undefined) continue;
      const tasks = byRun.get(task.runId);
      if (tasks) tasks.set(task.jobId, task);
      else byRun.set(task.runId, new Map([[task.jobId, task]]));
    }
  }
  return new Map(
    [...histories].map(([at, history]) => [at, partHistory(history, part, byRun)] as const),
  );
}

/** Pure. */
function partHistory(
  history: DateHistory,
  { jobs, inputs }: Part,
  byRun: ReadonlyMap<string, ReadonlyMap<string, KnownTask>>,
): PartHistory {
  const { generation, runs } = history;
  const hasResult = (run: KnownRun, job: string) => {
    const task = byRun.get(run.runId)?.get(job);
    return task !== undefined && (task.state === 'succeeded' || task.takenFrom !== undefined);
  };
  const closed = runs.filter((run) => isClosedRun(run.state));
  const source =
    inputs.length === 0
      ? null
      : (closed.find((run) => inputs.every((job) => hasResult(run, job)))?.runId ?? null);
  const nowhere = inputs.filter((job) => !closed.some((run) => hasResult(run, job)));
  const missing = source !== null ? [] : nowhere.length > 0 ? nowhere : inputs;
  const open = history.latest !== null && !isClosedRun(history.latest.state);
  return {
    generation,
    runs,
    latest: open ? history.latest : latestOf(history, jobs, byRun),
    source,
    missing,
  };
}

/** How the jobs ended, each in the newest run that it took part in; null when one of them never did. */
function latestOf(
  history: DateHistory,
  jobs: readonly string[],
  byRun: ReadonlyMap<string, ReadonlyMap<string, KnownTask>>,
): KnownRun | null {
  let newest: KnownRun | null = null;
  let state: RunState = 'succeeded';
  for (const job of jobs) {
    const run = history.runs.find(({ runId }) => {
      const task = byRun.get(runId)?.get(job);
      return task !== undefined && task.takenFrom === undefined;
    });
    // Without documents only the outcome of the whole is known, from its slot.
    if (run === undefined) return history.runs.length === 0 ? history.latest : null;
    if (newest === null || run.generation > newest.generation) newest = run;
    state = worse(state, byRun.get(run.runId)!.get(job)!.state);
  }
  return newest === null ? null : { ...newest, state, jobs };
}

/** A job that was skipped had nothing to do: it is done. */
function worse(state: RunState, task: TaskState): RunState {
  if (state === 'failed' || task === 'failed' || task === 'upstream-failed') return 'failed';
  return task === 'cancelled' ? 'cancelled' : state;
}
