/** Documents as the model's plain data. */
import type { Run, Task } from '../../model/run.js';
import type { RunDocument, TaskDocument } from '../collections.js';
import { fromPayload } from '../payload/payload.js';

export function runOf(document: RunDocument): Run {
  return {
    id: document._id,
    dagId: document.dagId,
    version: document.version,
    slot: document.slot,
    state: document.state,
    cause: document.cause,
    logicalDate: document.logicalDate,
    dataInterval: document.dataInterval,
    generation: document.generation,
    coalesced: document.coalesced,
    backfillId: document.backfillId,
    jobs: document.part?.jobs ?? null,
    params: fromPayload(document.params),
    priority: document.priority,
    notBefore: document.notBefore,
    createdAt: document.createdAt,
    startedAt: document.startedAt,
    endedAt: document.endedAt,
    cancelRequestedAt: document.cancelRequestedAt,
    reason: document.reason,
    openEpoch: document.openEpoch,
    missed: document.missed ?? [],
  };
}

/** `dependsOn` is for wide joins, which keep no pending set: they wait for those of them that are open. */
export function taskOf(document: TaskDocument, openUpstream: readonly string[] = []): Task {
  return {
    id: document._id,
    runId: document.runId,
    dagId: document.dagId,
    jobId: document.jobId,
    state: document.state,
    serveKey: document.serveKey,
    waitingFor:
      document.state !== 'blocked'
        ? []
        : (document.pending?.map((one) => one.job) ?? [...openUpstream]),
    attempts: document.attempts.map((one) => ({ ...one, loss: one.loss ?? null })),
    failures: document.failures,
    losses: document.losses,
    maxLost: document.maxLost,
    token: document.token,
    lease:
      document.lease === null
        ? null
        : {
            runner: document.lease.runner,
            token: document.lease.token,
            expiresAt: document.lease.expiresAt,
          },
    delayedUntil: document.delayedUntil,
    progress: document.progress,
    startedAt: document.startedAt,
    endedAt: document.endedAt,
    error: document.error,
    generation: document.generation,
  };
}
