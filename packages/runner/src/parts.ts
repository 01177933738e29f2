/** The parts of a runner, wired: what each does is in its own file. */
import type { ClaimedTask, ConnectOptions, ExecutableJob, Store } from '@flowline/core/internal';
import { Claimer } from './claim/claimer.js';
import { ClockOffsetRemark } from './clock-offset.js';
import { Coalescer } from './coalesce.js';
import type { RunnerEmitter } from './events.js';
import { Definitions } from './execution/definitions.js';
import type { AttemptEnd } from './execution/execute-attempt.js';
import { Executor } from './execution/executor.js';
import type { RunnerIdentity } from './identity.js';
import { LeaseKeeper } from './lease/keeper.js';
import type { Loop, LoopPulse } from './loop.js';
import { watchNeighbours } from './neighbours.js';
import type { RunnerSettings } from './options.js';
import { Scheduler } from './scheduler/scheduler.js';

export interface Parts {
  readonly store: Store;
  readonly keeper: LeaseKeeper;
  readonly executor: Executor;
  readonly claimer: Claimer | undefined;
  readonly scheduler: Scheduler | undefined;
  readonly neighbours: Loop;
  readonly clockOffset: ClockOffsetRemark;
  watching: { stop(): Promise<void> } | undefined;
  /** Filling the places of closed runs. */
  readonly places: Coalescer;
}

export interface Wiring {
  readonly identity: RunnerIdentity;
  readonly connection: ConnectOptions;
  readonly jobs: ReadonlyMap<string, ExecutableJob>;
  readonly settings: RunnerSettings;
  readonly events: RunnerEmitter;
  /** Aborted when the process is forced to end. */
  readonly forced: AbortSignal;
  /** Something without which the runner is no use has ended for good. */
  readonly onFailure: (what: string, error: unknown) => void;
}

/** Builds the parts around a connected store; nothing is started. */
export function wireParts(store: Store, wiring: Wiring): Parts {
  const { identity, settings, events, onFailure } = wiring;
  const onDeath = (loop: string) => (error: unknown) =>
    onFailure(`the loop "${loop}" ended`, error);
  const keeper = new LeaseKeeper({
    runnerId: identity.id,
    connection: wiring.connection,
    leaseMs: settings.leaseMs,
    renewEveryMs: settings.renewEveryMs,
    clock: settings.clock,
    log: settings.log,
    listener: {
      lost: (taskId, reason) => executor.lost(taskId, reason),
      doubtful: (taskId, reason) => executor.doubtful(taskId, reason),
      cancelRequested: (taskId) => executor.cancel(taskId),
      failed: (error) => onFailure('leases are not kept any more', error),
    },
  });
  const env = {
    runnerId: identity.id,
    store,
    definitions: new Definitions(store),
    jobs: settings.lead === 'only' ? new Map<string, ExecutableJob>() : wiring.jobs,
    keeper,
    settings,
    events,
    forced: wiring.forced,
  };
  const places = new Coalescer();
  const executor = new Executor(env, (claim, end) => afterAttempt(claim, end));
  const claimer =
    settings.lead === 'only' ? undefined : new Claimer(env, executor, onDeath('claim'));
  const scheduler =
    settings.lead === false
      ? undefined
      : new Scheduler({
          store,
          runnerId: identity.id,
          settings,
          events,
          onReady: (tasks) => claimer?.wake(tasks),
          onDeath: onDeath('schedule'),
        });
  const clockOffset = new ClockOffsetRemark(settings.log);
  const neighbours = watchNeighbours({
    store,
    me: identity,
    settings,
    events,
    onFreed: () => {
      claimer?.wake();
      scheduler?.wake();
    },
    onLook: () => clockOffset.notice(store.clockOffsetMs),
  });

  /** Acts on what an attempt left: new work, a free slot, a retry, a place in the DAG or the backfill. */
  function afterAttempt(claim: ClaimedTask, end: AttemptEnd): void {
    if (end.retryInMs !== null) claimer?.wakeIn(end.retryInMs);
    // Where slots were free before, what was ready then has been asked for.
    if (end.ready.length > 0 || executor.freeSlots === 1) claimer?.wake();
    if (!end.runClosed) return;
    const isBackfill = claim.cause === 'backfill';
    void places.run(isBackfill ? 'backfills' : claim.dagId, () => fillPlaces(claim));
  }

  /** Runs of a DAG that allows overlap leave no place behind. */
  async function tookPlace(claim: ClaimedTask): Promise<boolean> {
    if (claim.cause === 'catch-up') return true;
    const dag = await env.definitions.get(claim.dagId, claim.version);
    return dag.overlap !== 'allow';
  }

  /** A run closed, so the next one may have its place. If this fails, the leader does it at its next tick. */
  async function fillPlaces(claim: ClaimedTask): Promise<void> {
    try {
      const admitted =
        claim.cause === 'backfill'
          ? await store.feedBackfills({ placesOnly: true })
          : (await tookPlace(claim))
            ? (await store.admitDags([claim.dagId], (tasks) => claimer?.wake(tasks))).length
            : 0;
      if (claim.cause === 'backfill' && admitted > 0) claimer?.wake();
    } catch (error) {
      settings.log('debug', 'a free place is left to the leader', { error });
    }
  }

  return {
    store,
    keeper,
    executor,
    claimer,
    scheduler,
    neighbours,
    clockOffset,
    watching: undefined,
    places,
  };
}

/** The loops without which a runner is no use. */
export function vitalLoops({ claimer, scheduler }: Parts): LoopPulse[] {
  return [claimer?.pulse, scheduler?.pulse].filter((pulse) => pulse !== undefined);
}
