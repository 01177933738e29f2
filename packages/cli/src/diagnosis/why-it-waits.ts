/** Pure: what a run, or a task of it, is waiting for, in words, from what is stored. */
import {
  type Backfill,
  type Dag,
  isClosedRun,
  isClosedTask,
  type Leadership,
  type RunnerRecord,
  type RunView,
  type Task,
} from '@flowline/core/internal';
import { counted, instant } from '../output/words.js';
import { silentMs } from './check.js';

/** What is stored about a run and its surroundings. */
export interface Surroundings {
  readonly run: RunView;
  readonly dag: Dag | null;
  /** Of the run's own version; null when that is not there any more. */
  readonly limits: {
    readonly overlap: 'queue' | 'skip' | 'cancel-previous' | 'allow';
    readonly maxActiveRuns: number;
  } | null;
  readonly backfill: Pick<Backfill, 'id' | 'state' | 'maxActive' | 'running'> | null;
  readonly runners: readonly RunnerRecord[];
  readonly leadership: Leadership | null;
  /** The database's. */
  readonly now: Date;
}

/** Why the run has not ended, in one sentence. */
export function whyRunWaits(facts: Surroundings): string {
  const { run, now } = facts;
  if (isClosedRun(run.state)) return `it is over: ${run.state} at ${instant(run.endedAt)}`;
  if (run.cancelRequestedAt !== null) {
    return `it is being cancelled since ${instant(run.cancelRequestedAt)}: running tasks are told and waited for${whoGoesOn(facts)}`;
  }
  if (run.state === 'running') {
    const open = run.tasks.filter(({ state }) => !isClosedTask(state));
    if (open.length === 0)
      return `all its tasks have ended; it is about to be closed${whoGoesOn(facts)}`;
    return `it is running: ${counted(open.length, 'task')} of ${run.tasks.length} to go`;
  }
  if (run.notBefore !== null && run.notBefore > now)
    return `it starts no earlier than ${instant(run.notBefore)}`;
  return run.backfillId === null ? whyQueued(facts) : whyQueuedInBackfill(facts);
}

function whyQueued(facts: Surroundings): string {
  const { run, dag, limits } = facts;
  if (dag === null) return `its DAG ${run.dagId} is not there any more`;
  const isScheduled = run.cause === 'schedule' || run.cause === 'catch-up';
  if (isScheduled && dag.pausedAt !== null) {
    return `${dag.id} is paused since ${instant(dag.pausedAt)}: scheduled and catch-up runs wait for "flow resume ${dag.id}"`;
  }
  const others = dag.activeRunIds.filter((id) => id !== run.id);
  if (limits !== null && limits.overlap !== 'allow' && others.length >= limits.maxActiveRuns) {
    return `it waits for a place: ${dag.id} may have ${counted(limits.maxActiveRuns, 'active run')}, and has ${others.slice(0, 5).join(', ')}`;
  }
  return `it is about to get a place, after the runs of ${dag.id} that were queued before it${whoGoesOn(facts)}`;
}

function whyQueuedInBackfill(facts: Surroundings): string {
  const { run, backfill } = facts;
  if (backfill === null) return `its backfill ${run.backfillId} is not there any more`;
  if (backfill.state === 'paused') {
    return `its backfill is paused: "flow backfill resume ${backfill.id}"`;
  }
  if (backfill.running >= backfill.maxActive) {
    return `it waits for a place in its backfill: ${counted(backfill.maxActive, 'run')} may be active, and ${backfill.running} are`;
  }
  return `it is about to get a place in its backfill${whoGoesOn(facts)}`;
}

/** Why the task has not ended, in one sentence. */
export function whyTaskWaits(task: Task, facts: Surroundings): string {
  if (isClosedTask(task.state)) return whyItEnded(task);
  if (facts.run.state === 'queued') return 'its run is queued';
  switch (task.state) {
    case 'blocked':
      return whyBlocked(task, facts);
    case 'delayed':
      return `${ordinal(task)} starts at ${instant(task.delayedUntil)}${after(task)}`;
    case 'ready':
      return whyUnclaimed(task, facts);
    default:
      return whyRunning(task, facts);
  }
}

function whyItEnded(task: Task): string {
  const why = task.error === null ? '' : `: ${task.error.message.split('\n')[0]}`;
  return `it is over: ${task.state} at ${instant(task.endedAt)}${why}`;
}

function whyBlocked(task: Task, facts: Surroundings): string {
  if (task.waitingFor.length === 0)
    return `everything before it has ended; it is about to be decided${whoGoesOn(facts)}`;
  const stateOf = new Map(facts.run.tasks.map(({ jobId, state }) => [jobId, state]));
  const named = task.waitingFor.slice(0, 10).map((job) => `${job} (${stateOf.get(job) ?? 'gone'})`);
  const more = task.waitingFor.length > 10 ? ` and ${task.waitingFor.length - 10} more` : '';
  return `it waits for ${named.join(', ')}${more}`;
}

function whyUnclaimed(task: Task, facts: Surroundings): string {
  const alive = facts.runners.filter((runner) => isHeard(runner, facts.now));
  if (alive.length === 0)
    return 'it is ready, and no runner is alive: start one with "flow runner"';
  const knowing = alive.filter(
    ({ serveKeys, concurrency }) => concurrency > 0 && serveKeys.includes(task.serveKey),
  );
  if (knowing.length === 0) {
    return `it is ready, and none of ${counted(alive.length, 'live runner')} knows ${task.dagId}/${task.jobId} with the dependencies of this version`;
  }
  if (knowing.every(({ state }) => state === 'draining')) {
    return 'it is ready, and every runner that knows it is draining';
  }
  return `it is ready: ${counted(knowing.length, 'live runner')} can take it as soon as a slot is free`;
}

function whyRunning(task: Task, { now, runners }: Surroundings): string {
  const { lease } = task;
  const attempt = task.attempts.at(-1);
  if (lease === null) return 'it is running';
  if (lease.expiresAt <= now) {
    const silent = runners.some(({ id }) => id === lease.runner) ? '' : ', which is gone';
    return `its lease on ${lease.runner}${silent} expired at ${instant(lease.expiresAt)}: the leader takes it back`;
  }
  const percent =
    task.progress === null ? '' : `, ${Math.round(task.progress.fraction * 100)}% done`;
  return `attempt ${attempt?.n ?? 1} runs on ${lease.runner} since ${instant(attempt?.startedAt)}${percent}`;
}

/** The next attempt, by number. */
function ordinal(task: Task): string {
  return `attempt ${task.attempts.length + 1}`;
}

function after(task: Task): string {
  const last = task.attempts.at(-1);
  if (last === undefined) return '';
  const why = last.error === null ? '' : `: ${last.error.message.split('\n')[0]}`;
  return `, after attempt ${last.n} ${last.outcome}${why}`;
}

function isHeard(runner: RunnerRecord, now: Date): boolean {
  return runner.state !== 'stopped' && now.getTime() - runner.heartbeatAt.getTime() <= silentMs;
}

/** What else is missing where a leader has to do something. */
function whoGoesOn({ leadership, now }: Surroundings): string {
  return leadership !== null && leadership.expiresAt > now
    ? ''
    : '; but no runner leads: start one with "flow runner"';
}
