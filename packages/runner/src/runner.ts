/**
 * A runner process: leads when it is its turn, claims what its classes can serve, keeps its leases, executes. This
 * file only wires the parts; what each does is in its own.
 *
 * Life: new -> start() -> running -> stop() -> draining -> stopped. Killed at any point, it leaves a heartbeat that
 * grows old, leases that lapse and marks that the next leader pays.
 */
import { isFlowError } from '@flowline/core';
import type { ExecutableJob } from '@flowline/core/internal';
import {
  type ClaimedTask,
  type ConnectOptions,
  connectStore,
  type Store,
} from '@flowline/core/internal';
import { Claimer } from './claim/claimer.js';
import { Coalescer } from './coalesce.js';
import { RunnerEmitter } from './events.js';
import { Definitions } from './execution/definitions.js';
import type { AttemptEnd } from './execution/execute-attempt.js';
import { Executor } from './execution/executor.js';
import { patiently } from './execution/patiently.js';
import { currentIdentity, type RunnerIdentity } from './identity.js';
import { LeaseKeeper } from './lease/keeper.js';
import type { Loop } from './loop.js';
import { watchNeighbours } from './neighbours.js';
import { type RunnerOptions, type RunnerSettings, resolveRunnerOptions } from './options.js';
import { Scheduler } from './scheduler/scheduler.js';

export interface RunnerConfig extends RunnerOptions {
  /** Where the database is. */
  readonly connection: ConnectOptions;
  /** What this process has the code of, by serve key: see `executableJobs`. */
  readonly jobs: ReadonlyMap<string, ExecutableJob>;
}

/** How a runner ended. */
export interface StopReport {
  /** Attempts that were over, or handed back, before the end. */
  readonly finished: number;
  /** Tasks whose handlers ignored the aborted signal; their leases lapse. */
  readonly abandoned: readonly string[];
  /** True when a second stop or `force` cut the drain short. */
  readonly forced: boolean;
}

/** A runner in this process. Each instance runs once. */
export class Runner {
  readonly events = new RunnerEmitter();
  readonly identity: RunnerIdentity = currentIdentity();
  readonly #config: RunnerConfig;
  readonly #settings: RunnerSettings;
  readonly #hurry = new AbortController();
  readonly #forced = new AbortController();
  #parts: Parts | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<StopReport> | undefined;

  /** Throws OptionError for an option that cannot be right; touches nothing else. */
  constructor(config: RunnerConfig) {
    this.#config = config;
    this.#settings = resolveRunnerOptions(config);
  }

  get id(): string {
    return this.identity.id;
  }

  get isLeading(): boolean {
    return this.#parts?.scheduler?.isLeading ?? false;
  }

  /**
   * Registers this runner and starts its loops. Waits for a database that is away as long as it takes; rejects only
   * for what waiting cannot mend. Idempotent.
   */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /**
   * Drains: claims nothing new, lets running attempts end within `drainTimeoutMs`, then aborts them and hands back
   * those that settle. Called again it stops waiting (`force`). Resolves when nothing of the runner is left.
   */
  stop(options: { readonly force?: boolean } = {}): Promise<StopReport> {
    if (options.force) {
      this.#hurry.abort();
      this.#forced.abort();
    }
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #start(): Promise<void> {
    const { connection, jobs } = this.#config;
    const settings = this.#settings;
    const patience = {
      clock: settings.clock,
      random: settings.random,
      signal: this.#hurry.signal,
      onRetry: (error: unknown) =>
        settings.log('warn', 'the database is not there yet; waiting for it', { error }),
    };
    const store = await patiently(() => connectStore(connection), patience);
    const parts = this.#wire(store);
    this.#parts = parts;
    await patiently(() => store.prepare(), patience);
    await patiently(
      () =>
        store.registerRunner({
          ...this.identity,
          serveKeys: [...jobs.keys()],
          concurrency: settings.lead === 'only' ? 0 : settings.concurrency,
        }),
      patience,
    );
    if (this.#stopping !== undefined) return;
    parts.keeper.start();
    parts.claimer?.start();
    parts.scheduler?.start();
    parts.neighbours.start();
    // A hint only: without it polling finds the same work a little later.
    parts.watching = await store
      .watchReady(() => parts.claimer?.wake())
      .catch((error: unknown) => {
        settings.log('debug', 'no change streams: work of other processes is found by polling', {
          error,
        });
        return undefined;
      });
    settings.log('info', `runner ${this.id} serves ${jobs.size} jobs`);
    this.events.emit('started');
  }

  #wire(store: Store): Parts {
    const settings = this.#settings;
    const { events } = this;
    const keeper = new LeaseKeeper({
      runnerId: this.id,
      connection: this.#config.connection,
      leaseMs: settings.leaseMs,
      renewEveryMs: settings.renewEveryMs,
      clock: settings.clock,
      log: settings.log,
      listener: {
        lost: (taskId, reason) => executor.lost(taskId, reason),
        cancelRequested: (taskId) => executor.cancel(taskId),
      },
    });
    const env = {
      runnerId: this.id,
      store,
      definitions: new Definitions(store),
      jobs: settings.lead === 'only' ? new Map() : this.#config.jobs,
      keeper,
      settings,
      events,
      forced: this.#forced.signal,
    };
    const executor = new Executor(env, (claim, end) => this.#afterAttempt(claim, end));
    const claimer = settings.lead === 'only' ? undefined : new Claimer(env, executor);
    const onReady = () => claimer?.wake();
    const scheduler =
      settings.lead === false
        ? undefined
        : new Scheduler({ store, runnerId: this.id, settings, events, onReady });
    const neighbours = watchNeighbours({
      store,
      me: this.identity,
      settings,
      events,
      onFreed: () => {
        claimer?.wake();
        scheduler?.wake();
      },
    });
    return {
      store,
      keeper,
      executor,
      claimer,
      scheduler,
      neighbours,
      watching: undefined,
      places: new Coalescer(),
    };
  }

  /** Acts on what an attempt left: new work, a free slot, a retry, a place in the DAG or the backfill. */
  #afterAttempt(claim: ClaimedTask, end: AttemptEnd): void {
    const parts = this.#parts;
    if (parts === undefined) return;
    if (end.retryInMs !== null) parts.claimer?.wakeIn(end.retryInMs);
    parts.claimer?.wake();
    if (!end.runClosed) return;
    const isBackfill = claim.cause === 'backfill';
    void parts.places.run(isBackfill ? 'backfills' : claim.dagId, () =>
      this.#fillPlaces(parts, isBackfill ? null : claim.dagId),
    );
  }

  /** A run closed, so the next one may have its place. If this fails, the leader does it at its next tick. */
  async #fillPlaces({ store, claimer }: Parts, dagId: string | null): Promise<void> {
    try {
      const admitted =
        dagId === null ? await store.feedBackfills() : (await store.admitRuns(dagId)).length;
      if (admitted > 0) claimer?.wake();
    } catch (error) {
      this.#settings.log('debug', 'a free place is left to the leader', { error });
    }
  }

  async #stop(): Promise<StopReport> {
    const { log, drainTimeoutMs } = this.#settings;
    log('info', 'draining: no new tasks are claimed');
    this.events.emit('draining');
    if (this.#parts === undefined) this.#hurry.abort();
    await this.#starting?.catch(() => {});
    const parts = this.#parts;
    if (parts === undefined)
      return { finished: 0, abandoned: [], forced: this.#forced.signal.aborted };
    parts.keeper.setState('draining');
    await Promise.all([
      parts.claimer?.stop(),
      parts.neighbours.stop(),
      parts.watching?.stop(),
      parts.scheduler
        ?.stop()
        .catch((error: unknown) => log('warn', 'leadership lapses by itself', { error })),
    ]);
    const drained = await parts.executor.drain(drainTimeoutMs, this.#hurry.signal);
    await parts.places.settled();
    await parts.keeper.stop();
    await parts.store.removeRunner(this.id).catch((error: unknown) => {
      if (!isFlowError(error)) throw error;
      log('warn', 'the record of this runner is left to grow old', { error });
    });
    await parts.store.close();
    const forced = this.#forced.signal.aborted;
    log(drained.abandoned.length > 0 || forced ? 'warn' : 'info', 'stopped', {
      ...drained,
      forced,
    });
    this.events.emit('stopped');
    return { ...drained, forced };
  }
}

interface Parts {
  readonly store: Store;
  readonly keeper: LeaseKeeper;
  readonly executor: Executor;
  readonly claimer: Claimer | undefined;
  readonly scheduler: Scheduler | undefined;
  readonly neighbours: Loop;
  watching: { stop(): Promise<void> } | undefined;
  /** Filling the places of closed runs. */
  readonly places: Coalescer;
}
