/**
 * One attempt, from its claim to the propagation of its outcome, as named steps.
 *
 * Authority: the store's fence. Nothing that this file believes about its lease matters to the stored result.
 * What happens when the process dies
 *   before the handler starts, or inside it: the lease lapses, the attempt is `lost`, another one starts;
 *   after the handler, before finish is applied: the same; the handler's effects may happen twice;
 *   after finish, before propagation: the task carries `propagated: false`, and the leader pays it;
 *   in the middle of propagation: each of its steps is repeatable, and the mark is cleared last.
 * When only the answer of finish is lost, the repeated write is recognised by token and outcome.
 */
import { isFlowError, type JobLog } from '@flowline/core';
import type {
  ClaimedTask,
  DagDefinition,
  ExecutableJob,
  FinishOutcome,
  FinishResult,
  JobDefinition,
  Store,
} from '@flowline/core/internal';
import type { RunnerEmitter } from '../events.js';
import type { LeaseKeeper } from '../lease/keeper.js';
import type { RunnerSettings } from '../options.js';
import { patiently } from '../patiently.js';
import type { ActiveAttempt } from './active-attempt.js';
import { AttemptCommit } from './attempt-commit.js';
import { AttemptSteps } from './attempt-steps.js';
import { decideEnd } from './decide-end.js';
import type { Definitions } from './definitions.js';
import { jobContext } from './job-context.js';
import { LogBuffer } from './log-buffer.js';
import { type FailureContext, storeError } from './outcome.js';
import { type HandlerEnd, runHandler } from './run-handler.js';

export interface ExecutionEnvironment {
  readonly runnerId: string;
  readonly store: Store;
  readonly definitions: Definitions;
  readonly jobs: ReadonlyMap<string, ExecutableJob>;
  readonly keeper: LeaseKeeper;
  readonly settings: RunnerSettings;
  readonly events: RunnerEmitter;
  /** Aborted when the process is forced to end: no more patience with the database. */
  readonly forced: AbortSignal;
}

/** What the executor has to act on after an attempt. */
export interface AttemptEnd {
  /** Tasks that this attempt made ready. */
  readonly ready: readonly string[];
  readonly runClosed: boolean;
  /** Set when the attempt is to be retried: how long from now. */
  readonly retryInMs: number | null;
  readonly outcome: string;
}

interface Prepared {
  readonly dag: DagDefinition;
  readonly job: JobDefinition;
  readonly executable: ExecutableJob;
  readonly params: unknown;
  readonly results: readonly unknown[];
}

/** Runs one claimed attempt to its end. Never throws: what cannot be written is logged and left to the lease. */
export async function executeAttempt(
  attempt: ActiveAttempt,
  env: ExecutionEnvironment,
): Promise<AttemptEnd> {
  const { claim } = attempt;
  try {
    const commit = new AttemptCommit(attempt, { ...env, patience: patience(claim, env) });
    const outcome = await performAttempt(attempt, commit, env);
    if (outcome === null) return ended('lost');
    const finished = await finish(attempt, commit, outcome, env);
    env.keeper.drop(claim.taskId);
    env.events.emit('finished', claim.taskId, finished.outcome);
    if (outcome.kind === 'retry' && finished.state === 'delayed') {
      return { ...ended('failed'), retryInMs: outcome.delayMs };
    }
    if (finished.state === 'ready') return { ...ended(finished.outcome), ready: [claim.taskId] };
    const propagated = await patiently(
      () => env.store.propagate(claim.taskId, { ...claim, state: finished.state }),
      patience(claim, env),
    );
    return { ...ended(finished.outcome), ...propagated };
  } catch (error) {
    if (isFlowError(error, 'lease-lost')) {
      env.settings.log(
        'warn',
        `${claim.taskId}: the result of attempt ${claim.attempt} was refused: the lease is lost`,
      );
      env.events.emit('lost', claim.taskId);
      return ended('lost');
    }
    env.settings.log(
      'error',
      `${claim.taskId}: attempt ${claim.attempt} could not be recorded; its lease will lapse`,
      { error },
    );
    env.events.emit('failed', 'execute', error);
    return ended('lost');
  } finally {
    env.keeper.drop(claim.taskId);
  }
}

function ended(outcome: string): AttemptEnd {
  return { ready: [], runClosed: false, retryInMs: null, outcome };
}

/** Prepares, calls the handler, decides. Null when the task is not ours any more. */
async function performAttempt(
  attempt: ActiveAttempt,
  commit: AttemptCommit,
  env: ExecutionEnvironment,
): Promise<FinishOutcome | null> {
  const { claim } = attempt;
  let prepared: Prepared;
  try {
    prepared = await patiently(() => prepare(claim, env), patience(claim, env));
  } catch (error) {
    if (isFlowError(error) && error.retryable) throw error;
    return { kind: 'failed', error: storeError(error) };
  }
  const { dag, job, executable } = prepared;
  const failures = failureContext(claim, job, executable, env);
  if (attempt.abortCause !== undefined) {
    // Told to stop before it began: the handler is not called at all.
    const { abortCause, signal } = attempt;
    return decideEnd({ kind: 'threw', error: signal.reason }, abortCause, signal.reason, failures);
  }
  const logs = new LogBuffer(env.store, dag.retention.logsMs, env.settings.log);
  const context = jobContext({
    attempt,
    job,
    params: prepared.params,
    logs,
    store: env.store,
    runnerId: env.runnerId,
    commit,
    steps: new AttemptSteps(attempt, {
      store: env.store,
      runnerId: env.runnerId,
      patience: patience(claim, env),
    }),
  });
  const end = await runHandler(
    attempt,
    () => executable.create().run(context, ...prepared.results),
    {
      clock: env.settings.clock,
      timeoutMs: job.timeoutMs,
      settleMs: env.settings.settleMs,
      onStuck: () => {
        if (!commit.isCommitted) reportStuck(attempt, env);
      },
    },
  );
  if (commit.isCommitted) remarkAfterCommit(end, context.log);
  await logs.flush(patience(claim, env));
  if (commit.isCommitted) return { kind: 'succeeded', result: undefined };
  return decideEnd(end, attempt.abortCause, attempt.signal.reason, failures);
}

/** After a commit the attempt is over; what comes then is said, and changes nothing. */
function remarkAfterCommit(end: HandlerEnd, log: JobLog): void {
  if (end.kind === 'threw') {
    log.warn(`thrown after ctx.commit, so it has no effect: ${storeError(end.error).message}`);
  } else if (end.value !== undefined) {
    log.warn('what run returned after ctx.commit is ignored: the result is what commit was given');
  }
}

async function prepare(claim: ClaimedTask, env: ExecutionEnvironment): Promise<Prepared> {
  const executable = env.jobs.get(claim.serveKey);
  if (executable === undefined) throw new Error(`this runner has no code for ${claim.serveKey}`);
  const { dag, job } = await env.definitions.job(claim.dagId, claim.version, claim.jobId);
  // A schedule gives its runs no params: what depends on nothing has nothing to read.
  const isScheduled = claim.cause === 'schedule' || claim.cause === 'catch-up';
  const { params, results } =
    isScheduled && job.dependsOn.length === 0
      ? { params: undefined, results: [] }
      : await env.store.readInputs(claim.runId, job.dependsOn);
  return { dag, job, executable, params, results };
}

/** Writes the outcome; a result that cannot be stored becomes the failure of the attempt. A commit has written it. */
async function finish(
  attempt: ActiveAttempt,
  commit: AttemptCommit,
  outcome: FinishOutcome,
  env: ExecutionEnvironment,
): Promise<FinishResult> {
  const { claim } = attempt;
  if (commit.isCommitted) return committed;
  const write = (what: FinishOutcome) =>
    patiently(
      () =>
        env.store.finishAttempt({
          taskId: claim.taskId,
          runnerId: env.runnerId,
          token: claim.token,
          attempt: claim.attempt,
          outcome: what,
        }),
      patience(claim, env),
    );
  try {
    return await write(outcome);
  } catch (error) {
    // The fence refuses this outcome; a commit whose answer was lost may be the reason.
    if (isFlowError(error, 'lease-lost') && commit.isInDoubt) {
      const task = await patiently(() => env.store.getTask(claim.taskId), patience(claim, env));
      const ours = task?.attempts.find(({ token }) => token === claim.token);
      if (ours?.outcome === 'succeeded') return committed;
    }
    if (!isFlowError(error, 'payload')) throw error;
    return write({ kind: 'failed', error: storeError(error) });
  }
}

const committed: FinishResult = { state: 'succeeded', outcome: 'succeeded', repeated: true };

function failureContext(
  claim: ClaimedTask,
  job: JobDefinition,
  executable: ExecutableJob,
  env: ExecutionEnvironment,
): FailureContext {
  return {
    job,
    failures: claim.failures,
    retryOn: executable.retryOn,
    abortOn: executable.abortOn,
    random: env.settings.random,
  };
}

/** Past its timeout and its settling time: its lease is renewed no more, so that another runner may take the task. */
function reportStuck(attempt: ActiveAttempt, env: ExecutionEnvironment): void {
  const { claim } = attempt;
  env.settings.log(
    'error',
    `${claim.taskId} is stuck: it ignores its aborted signal; its lease lapses and a late result is refused`,
  );
  env.keeper.drop(claim.taskId);
  env.events.emit('stuck', claim.taskId);
}

function patience(claim: ClaimedTask, env: ExecutionEnvironment) {
  return {
    clock: env.settings.clock,
    random: env.settings.random,
    signal: env.forced,
    onRetry: (error: unknown) =>
      env.settings.log('warn', `${claim.taskId}: the database did not take a write; trying again`, {
        error,
      }),
  };
}
