/** Graphs of several jobs, and what a runner does with their tasks, one step at a time. */
import type { DagDefinition, JobDefinition } from '../../packages/core/src/model/definition.js';
import type { RunView, Task } from '../../packages/core/src/model/run.js';
import type { Store } from '../../packages/core/src/store/store.js';
import type {
  ClaimedTask,
  FinishOutcome,
  FinishResult,
  FreshTask,
} from '../../packages/core/src/store/verbs/task-verbs.js';
import { type Bench, definitionOf, deployment } from './scheduling.js';

export const succeeded: FinishOutcome = { kind: 'succeeded', result: null };
export const failed: FinishOutcome = {
  kind: 'failed',
  error: { name: 'Error', message: 'asked to' },
};

/** A DAG with these jobs, each with what it depends on; ids in topological order. */
export function graphOf(
  id: string,
  edges: Readonly<Record<string, readonly string[]>>,
  options: Partial<DagDefinition> = {},
  jobOptions: Readonly<Record<string, Partial<JobDefinition>>> = {},
): DagDefinition {
  const [model] = definitionOf(id).jobs;
  return definitionOf(id, undefined, {
    ...options,
    jobs: Object.entries(edges).map(([job, dependsOn]) => ({
      ...model!,
      id: job,
      dependsOn,
      serveKey: `${id}/${job}/0`,
      ...jobOptions[job],
    })),
  });
}

/** Deploys the definition and starts runs of it. */
export class Graph {
  readonly definition: DagDefinition;
  readonly bench: Bench;
  readonly runner: string;

  constructor(bench: Bench, definition: DagDefinition, runner = 'worker') {
    this.bench = bench;
    this.definition = definition;
    this.runner = runner;
  }

  get id(): string {
    return this.definition.id;
  }

  get serveKeys(): string[] {
    return this.definition.jobs.map((job) => job.serveKey);
  }

  static async deploy(
    bench: Bench,
    edges: Readonly<Record<string, readonly string[]>>,
    options: Partial<DagDefinition> = {},
    jobOptions: Readonly<Record<string, Partial<JobDefinition>>> = {},
  ): Promise<Graph> {
    const definition = graphOf(bench.id('graph'), edges, options, jobOptions);
    await bench.store.deployDag(deployment(definition));
    return new Graph(bench, definition);
  }

  /** Creates a run and admits it. */
  async start(): Promise<string> {
    const { runId } = await this.bench.store.createRun({ dagId: this.id, cause: 'manual' });
    await this.bench.store.admitRuns(this.id);
    return runId;
  }

  claim(limit = 1, store = this.bench.store, leaseMs = 60_000): Promise<ClaimedTask[]> {
    return store.claimTasks({
      runnerId: this.runner,
      serveKeys: this.serveKeys,
      leaseMs,
      limit,
    });
  }

  /** A task as whoever made it ready knows it. */
  async fresh(runId: string, jobId: string): Promise<FreshTask> {
    const task = await this.bench.collections.tasks.findOne({ _id: `${runId}/${jobId}` });
    const { _id: taskId, dagId, version, serveKey, cause, logicalDate, dataInterval } = task!;
    return { taskId, runId, dagId, version, jobId, serveKey, cause, logicalDate, dataInterval };
  }

  claimFresh(fresh: readonly FreshTask[], limit = fresh.length): Promise<ClaimedTask[]> {
    const { runner: runnerId, serveKeys } = this;
    return this.bench.store.claimTasks({ runnerId, serveKeys, leaseMs: 60_000, limit, fresh });
  }

  async claimOne(leaseMs = 60_000): Promise<ClaimedTask> {
    const [task] = await this.claim(1, this.bench.store, leaseMs);
    if (task === undefined) throw new Error('nothing to claim');
    return task;
  }

  finish(
    task: ClaimedTask,
    outcome: FinishOutcome = succeeded,
    store: Store = this.bench.store,
  ): Promise<FinishResult> {
    return store.finishAttempt({
      taskId: task.taskId,
      runnerId: this.runner,
      token: task.token,
      attempt: task.attempt,
      outcome,
    });
  }

  /** Claims and finishes until nothing is ready. `outcomes` by job; the rest succeeds. Answers the jobs in order. */
  async work(outcomes: Readonly<Record<string, FinishOutcome>> = {}): Promise<string[]> {
    const done: string[] = [];
    for (;;) {
      const claimed = await this.claim(10);
      if (claimed.length === 0) return done;
      for (const task of claimed) {
        await this.finish(task, outcomes[task.jobId]);
        await this.bench.store.propagate(task.taskId);
        done.push(task.jobId);
      }
    }
  }

  async view(runId: string): Promise<RunView> {
    const run = await this.bench.store.viewRun(runId);
    if (run === null) throw new Error(`no run ${runId}`);
    return run;
  }

  async task(runId: string, job: string): Promise<Task> {
    const task = await this.bench.store.getTask(`${runId}/${job}`);
    if (task === null) throw new Error(`no task ${runId}/${job}`);
    return task;
  }

  /** States by job. */
  async states(runId: string): Promise<Record<string, string>> {
    const { tasks } = await this.view(runId);
    return Object.fromEntries(tasks.map((task) => [task.jobId, task.state]));
  }
}

/** What must hold of a closed run, whatever happened on the way. */
export function checkClosedRun(run: RunView): void {
  const broken: string[] = [];
  if (!['succeeded', 'failed', 'cancelled'].includes(run.state)) broken.push(`run is ${run.state}`);
  if (run.endedAt === null) broken.push('run has no end');
  for (const task of run.tasks) {
    if (['blocked', 'ready', 'running', 'delayed'].includes(task.state)) {
      broken.push(`${task.jobId} is ${task.state}`);
    }
    if (task.endedAt === null) broken.push(`${task.jobId} has no end`);
    else if (run.endedAt !== null && task.endedAt > run.endedAt) {
      broken.push(`${task.jobId} ended after its run`);
    }
    if (task.lease !== null) broken.push(`${task.jobId} has a lease`);
    const accepted = task.attempts.filter((attempt) => attempt.outcome === 'succeeded').length;
    if (accepted > 1) broken.push(`${task.jobId} succeeded ${accepted} times`);
    task.attempts.forEach((attempt, index) => {
      if (attempt.n !== index + 1) broken.push(`${task.jobId}: attempt ${attempt.n} at ${index}`);
      const before = task.attempts[index - 1];
      if (before && attempt.token <= before.token) broken.push(`${task.jobId}: token went back`);
      if (attempt.outcome === null) broken.push(`${task.jobId}: attempt ${attempt.n} is open`);
    });
  }
  if (broken.length > 0) throw new Error(`run ${run.id}: ${broken.join('; ')}`);
}
