import type { JobContext, JobLog } from '@flowline/core';
import type { JobDefinition, LogLine, Store } from '@flowline/core/internal';
import type { ActiveAttempt } from './active-attempt.js';
import type { AttemptCommit } from './attempt-commit.js';
import type { AttemptSteps } from './attempt-steps.js';
import type { LogBuffer } from './log-buffer.js';

export interface ContextParts {
  readonly attempt: ActiveAttempt;
  readonly job: JobDefinition;
  readonly params: unknown;
  readonly logs: LogBuffer;
  readonly store: Pick<Store, 'estimateServerTime' | 'reportProgress'>;
  readonly runnerId: string;
  readonly commit: AttemptCommit;
  readonly steps: AttemptSteps;
}

/** Builds what a job's `run` gets as its first argument. */
export function jobContext(parts: ContextParts): JobContext {
  const { attempt, job } = parts;
  const { claim } = attempt;
  return {
    runId: claim.runId,
    dag: claim.dagId,
    job: claim.jobId,
    attempt: claim.attempt,
    maxAttempts: job.retry.attempts,
    logicalDate: claim.logicalDate,
    dataInterval: claim.dataInterval,
    cause: claim.cause,
    params: parts.params,
    signal: attempt.signal,
    log: jobLog(parts),
    idempotencyKey: idempotencyKey(claim.taskId, claim.generation),
    fence: claim.token,
    progress: progressReporter(parts),
    commit: (work) => parts.commit.run(work),
    once: (name, work) => parts.steps.once(name, work),
  };
}

/** The same for all attempts of a task; another one when the task is run again on purpose. */
function idempotencyKey(taskId: string, generation: number): string {
  return generation === 0 ? taskId : `${taskId}/${generation}`;
}

function jobLog({ attempt, logs, store }: ContextParts): JobLog {
  const { runId, jobId, attempt: n } = attempt.claim;
  const write = (level: LogLine['level']) => (message: string, data?: unknown) => {
    const line = {
      runId,
      jobId,
      attempt: n,
      at: store.estimateServerTime(),
      level,
      message: String(message),
    };
    logs.add(data === undefined ? line : { ...line, data });
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Sends the newest progress only, one write at a time; a lost one is replaced by the next. */
function progressReporter({
  attempt,
  store,
  runnerId,
  commit,
}: ContextParts): JobContext['progress'] {
  const { taskId, token } = attempt.claim;
  let newest: { fraction: number; note: string | undefined } | undefined;
  let sending = false;
  const send = async () => {
    sending = true;
    // A write to the task would be a conflict with its commit.
    while (newest !== undefined && !attempt.settled && !commit.isUnderway && !commit.isCommitted) {
      const { fraction, note } = newest;
      newest = undefined;
      await store.reportProgress({ taskId, token }, runnerId, fraction, note).catch(() => {});
    }
    sending = false;
  };
  return (fraction, note) => {
    if (!(fraction >= 0 && fraction <= 1)) {
      throw new RangeError(`progress: expected a fraction from 0 to 1, found ${String(fraction)}`);
    }
    newest = { fraction, note };
    if (!sending) void send();
  };
}
