/**
 * A runner process: leads when it is its turn, claims what its classes can serve, keeps its leases, executes. This
 * file is its life; parts.ts wires the parts, and what each does is in its own.
 *
 *   new --start()--> starting --database there--> running --stop()--> draining --> stopped
 *                       |                            |
 *                       +--cannot be mended          +--a part ended for good--> failed --stop()--> stopped
 *
 * Killed at any point, it leaves a heartbeat that grows old, leases that lapse and marks that the next leader pays.
 * From start() to the end of stop() it holds the event loop, also while it waits for a database; afterwards nothing.
 */
import { isFlowError, UsageError } from '@flowline/core';
import { type ConnectOptions, connectStore, type ExecutableJob } from '@flowline/core/internal';
import { RunnerEmitter } from './events.js';
import { describeHealth, type RunnerHealth, type RunnerState } from './health/health.js';
import { type HealthServer, startHealthServer } from './health/health-server.js';
import { currentIdentity, type RunnerIdentity } from './identity.js';
import { type RunnerOptions, type RunnerSettings, resolveRunnerOptions } from './options.js';
import { type Parts, vitalLoops, wireParts } from './parts.js';
import { patiently } from './patiently.js';

export interface RunnerConfig extends RunnerOptions {
  /** Where the database is. */
  readonly connection: ConnectOptions;
  /** What this process has the code of, by serve key: see `executableJobs`. */
  readonly jobs: ReadonlyMap<string, ExecutableJob>;
}

export interface StopOptions {
  /** Stops waiting for handlers and for the database. */
  readonly force?: boolean;
  /** Why it ends (`SIGTERM`), for the record of tasks that it has to leave behind. */
  readonly signal?: string;
}

/** How a runner ended. */
export interface StopReport {
  /** Attempts that were over, or handed back, before the end. */
  readonly finished: number;
  /** Tasks whose handlers ignored the aborted signal; their leases lapse. */
  readonly abandoned: readonly string[];
  /** True when `force` cut the drain short. */
  readonly forced: boolean;
}

/** How long `/readyz` waits for the database. */
const probeMs = 2_000;

/** A runner in this process. Each instance runs once. */
export class Runner {
  readonly events = new RunnerEmitter();
  readonly identity: RunnerIdentity = currentIdentity();
  /**
   * Resolves, at most once, when a part without which the runner is no use has ended for good; never rejects. Running
   * tasks go on: whoever owns the process calls stop() and ends it with a failure.
   */
  readonly failure: Promise<Error>;
  readonly #config: RunnerConfig;
  readonly #settings: RunnerSettings;
  readonly #hurry = new AbortController();
  readonly #forced = new AbortController();
  #state: RunnerState = 'new';
  #parts: Parts | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<StopReport> | undefined;
  #healthServer: HealthServer | undefined;
  #probing: Promise<boolean> | undefined;
  #hold: NodeJS.Timeout | undefined;
  #exit = 'the process ended';
  #setFailure: (error: Error) => void = () => {};

  /** Throws OptionError for an option that cannot be right; touches nothing else. */
  constructor(config: RunnerConfig) {
    this.#config = config;
    this.#settings = resolveRunnerOptions(config);
    this.failure = new Promise((resolve) => {
      this.#setFailure = resolve;
    });
  }

  get id(): string {
    return this.identity.id;
  }

  get isLeading(): boolean {
    return this.#parts?.scheduler?.isLeading ?? false;
  }

  /** Where the health endpoint listens; undefined without one. */
  get healthPort(): number | undefined {
    return this.#healthServer?.port;
  }

  /**
   * Registers this runner and starts its loops. Waits for a database that is away as long as it takes; rejects only
   * for what waiting cannot mend, or when it is stopped meanwhile. Idempotent.
   */
  start(): Promise<void> {
    this.#starting ??= this.#start().catch(async (error: unknown) => {
      // Nothing may keep the process that has nothing to do.
      if (this.#stopping === undefined) {
        this.#state = 'failed';
        await this.#letGo();
      }
      throw error;
    });
    return this.#starting;
  }

  /**
   * Drains: claims nothing new, lets running attempts end within `drainTimeoutMs`, then aborts them and hands back
   * those that settle. Called again it is the same stop; with `force` it stops waiting. Before start(), or while that
   * waits for a database, it ends that. Resolves when nothing of the runner is left.
   */
  stop(options: StopOptions = {}): Promise<StopReport> {
    if (options.signal !== undefined) this.#exit = options.signal;
    if (options.force) {
      this.#hurry.abort();
      this.#forced.abort();
    }
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** How the runner is; asks the database, for at most two seconds. */
  async health(): Promise<RunnerHealth> {
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = undefined;
    });
    return this.#describe(await this.#probing);
  }

  async #start(): Promise<void> {
    if (this.#stopping !== undefined) {
      throw new UsageError('a runner runs once, and this one was stopped', {
        hint: 'Make another Runner.',
      });
    }
    const { connection, jobs } = this.#config;
    const settings = this.#settings;
    this.#state = 'starting';
    this.#hold = setInterval(() => {}, 60_000);
    await this.#serveHealth();
    const patience = {
      clock: settings.clock,
      random: settings.random,
      signal: this.#hurry.signal,
      onRetry: (error: unknown) =>
        settings.log('warn', 'the database is not there yet; waiting for it', { error }),
    };
    const store = await patiently(() => connectStore(connection), patience);
    const parts = wireParts(store, {
      identity: this.identity,
      connection,
      jobs,
      settings,
      events: this.events,
      forced: this.#forced.signal,
      onFailure: (what, error) => this.#fail(what, error),
    });
    this.#parts = parts;
    await patiently(() => store.prepare(), patience);
    const { offsetMs } = await patiently(() => store.measureClockOffset(), patience);
    parts.clockOffset.notice(offsetMs);
    await patiently(
      () =>
        store.registerRunner({
          ...this.identity,
          serveKeys: [...jobs.keys()],
          concurrency: settings.lead === 'only' ? 0 : settings.concurrency,
        }),
      patience,
    );
    if (this.#isStopping()) return;
    parts.keeper.start();
    // No task before its lease can be kept.
    await parts.keeper.ready;
    if (this.#isStopping()) return;
    this.#state = 'running';
    parts.claimer?.start();
    parts.scheduler?.start();
    parts.neighbours.start();
    // A hint only: without it polling finds the same work a little later.
    parts.watching = await store
      .watchReady(() => parts.claimer?.hint())
      .catch((error: unknown) => {
        settings.log('debug', 'no change streams: work of other processes is found by polling', {
          error,
        });
        return undefined;
      });
    settings.log('info', `runner ${this.id} serves ${jobs.size} jobs`);
    this.events.emit('started');
  }

  async #serveHealth(): Promise<void> {
    const { health, log } = this.#settings;
    if (health === undefined) return;
    this.#healthServer = await startHealthServer(health, {
      live: () => this.#describe(null),
      ready: () => this.health(),
    });
    log('info', `health: http://${health.host}:${this.#healthServer.port}/healthz and /readyz`);
  }

  /** Not a comparison in place: the compiler would take an answer from before an await for the answer after it. */
  #isStopping(): boolean {
    return this.#stopping !== undefined;
  }

  #describe(isDatabaseReachable: boolean | null): RunnerHealth {
    const parts = this.#parts;
    return describeHealth(
      {
        runnerId: this.id,
        state: this.#state,
        nowMs: this.#settings.clock.monotonicMs(),
        loops: parts === undefined ? [] : vitalLoops(parts),
        isLeading: this.isLeading,
        heldTasks: parts?.executor.activeCount ?? 0,
        freeSlots: parts?.executor.freeSlots ?? 0,
        clockOffsetMs: parts?.store.clockOffsetMs ?? null,
        idlePollMs: this.#settings.pollMs.idle,
      },
      isDatabaseReachable,
    );
  }

  async #probe(): Promise<boolean> {
    const parts = this.#parts;
    if (parts === undefined || this.#state === 'stopped') return false;
    let cancel = () => {};
    const late = new Promise<boolean>((resolve) => {
      cancel = this.#settings.clock.after(probeMs, () => resolve(false));
    });
    const answer = parts.store.readServerTime().then(
      () => true,
      () => false,
    );
    return Promise.race([answer, late]).finally(() => cancel());
  }

  #fail(what: string, cause: unknown): void {
    if (this.#stopping !== undefined || this.#state === 'failed') return;
    this.#state = 'failed';
    const error = new Error(`the runner cannot go on: ${what}`, { cause });
    this.#settings.log('error', error.message, { error: cause });
    this.#setFailure(error);
    this.events.emit('broken', error);
  }

  async #stop(): Promise<StopReport> {
    const { log } = this.#settings;
    const wasStarting = this.#state === 'starting';
    this.#state = 'draining';
    log('info', 'draining: no new tasks are claimed');
    this.events.emit('draining');
    if (wasStarting) {
      // Nothing runs yet, so nothing is worth waiting for.
      this.#hurry.abort();
      void this.#parts?.keeper.stop();
    }
    await this.#starting?.catch(() => {});
    const parts = this.#parts;
    const drained = parts === undefined ? { finished: 0, abandoned: [] } : await this.#drain(parts);
    const forced = this.#forced.signal.aborted;
    // Those that were left behind need not wait for the database any longer.
    this.#forced.abort();
    await this.#letGo();
    this.#state = 'stopped';
    log(drained.abandoned.length > 0 || forced ? 'warn' : 'info', 'stopped', {
      ...drained,
      forced,
    });
    this.events.emit('stopped');
    return { ...drained, forced };
  }

  async #drain(parts: Parts): Promise<{ finished: number; abandoned: readonly string[] }> {
    const { log, drainTimeoutMs } = this.#settings;
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
    const leave =
      drained.abandoned.length > 0
        ? parts.store.retireRunner(this.id, this.#exit)
        : parts.store.removeRunner(this.id);
    await leave.catch((error: unknown) => {
      if (!isFlowError(error)) throw error;
      log('warn', 'the record of this runner is left to grow old', { error });
    });
    return drained;
  }

  /** Closes what keeps the process: connections, the health endpoint, the hold on the event loop. */
  async #letGo(): Promise<void> {
    await this.#parts?.keeper.stop();
    await this.#parts?.store.close();
    await this.#healthServer?.close();
    clearInterval(this.#hold);
  }
}
