/**
 * Keeping leases: the part that runs in the executor's thread.
 *
 * Authority: the database decides when a lease has ended. This side judges earlier and more strictly: it trusts a
 * lease until `leaseMs` after the moment *before* the last successful renewal was sent, by the monotonic clock, minus
 * a margin; past that it says `doubtful` and the task is aborted. Renewals are sent by a thread of their own
 * (keeper-worker.ts), so that a busy event loop here does not lose what we hold.
 *
 * If this process dies, the thread dies with it and the leases lapse. If the thread dies, it is started again with
 * everything that is held; what it could not renew in time is doubtful in the ordinary way; a thread that cannot be started
 * at all is reported. If the database is away, the thread keeps trying; what it cannot confirm in time is given up here,
 * and its outcome is refused or accepted by the fence when the database is back.
 */
import { Worker } from 'node:worker_threads';
import type { ConnectOptions, RunnerRecord } from '@flowline/core/internal';
import type { Clock } from '../clock.js';
import type { RunnerLog } from '../options.js';
import type { FromKeeper, KeeperData, ToKeeper } from './keeper-messages.js';

export interface KeeperListener {
  /** The lease is not ours any more: another holder has it, or the task is closed. */
  lost(taskId: string, reason: string): void;
  /** We cannot be sure any more that the lease is ours; it may be. */
  doubtful(taskId: string, reason: string): void;
  cancelRequested(taskId: string): void;
  /** The thread ended again and again without having been at work: nothing keeps our leases. */
  failed(error: unknown): void;
}

/** The thread as the keeper sees it: a Worker, or a test's stand-in. */
export type KeeperThread = Pick<Worker, 'on' | 'once' | 'postMessage' | 'terminate'>;

export interface KeeperOptions {
  readonly runnerId: string;
  readonly connection: ConnectOptions;
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  readonly clock: Clock;
  readonly log: RunnerLog;
  readonly listener: KeeperListener;
  /** Default: a worker thread. */
  readonly startThread?: (data: KeeperData) => KeeperThread;
}

/** So many starts in a row without a word of the thread, and it is given up. */
const mostStarts = 5;
const restartMs = 500;

interface Held {
  readonly token: number;
  /** Monotonic: no renewal is sent after this, because the handler is stuck. */
  readonly renewUntil: number;
  /** Monotonic: we are sure of the lease until here. */
  trustedUntil: number;
  /** No renewals for now: see pause(). */
  isPaused: boolean;
}

export class LeaseKeeper {
  readonly #options: KeeperOptions;
  readonly #held = new Map<string, Held>();
  #worker: KeeperThread | undefined;
  #silentStarts = 0;
  #state: RunnerRecord['state'] = 'running';
  #stopped = false;
  #cancelCheck: (() => void) | undefined;
  /** Resolves when the thread is connected and renews, or when the keeper is stopped. */
  readonly ready: Promise<void>;
  #setReady: () => void = () => {};

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.ready = new Promise((resolve) => {
      this.#setReady = resolve;
    });
  }

  /** Leases that are kept. */
  get heldCount(): number {
    return this.#held.size;
  }

  /** Starts the thread and the check of what we can be sure of. */
  start(): void {
    this.#startThread();
    this.#check();
  }

  /**
   * Keeps a lease from now on. `sentAt` is the monotonic time before the claim was sent; `renewUntil` bounds how long
   * it is kept whatever the handler does.
   */
  hold(taskId: string, token: number, sentAt: number, renewUntil: number): void {
    const trustedUntil = sentAt + this.#options.leaseMs - this.#marginMs;
    this.#held.set(taskId, { token, renewUntil, trustedUntil, isPaused: false });
    this.#post({ type: 'hold', taskId, token, renewUntil });
  }

  /** Stops keeping a lease: finished, handed back or given up. */
  drop(taskId: string): void {
    if (this.#held.delete(taskId)) this.#post({ type: 'drop', taskId });
  }

  /**
   * Sends no renewals of this lease until resume(), since they would come in the way of a transaction on the task. We go
   * on trusting it for as long as the last renewal lasts.
   */
  pause(taskId: string): void {
    const held = this.#held.get(taskId);
    if (held === undefined || held.isPaused) return;
    held.isPaused = true;
    this.#post({ type: 'drop', taskId });
  }

  /** Renews again. Nothing happens for a lease that was dropped meanwhile. */
  resume(taskId: string): void {
    const held = this.#held.get(taskId);
    if (held === undefined || !held.isPaused) return;
    held.isPaused = false;
    this.#post({ type: 'hold', taskId, token: held.token, renewUntil: held.renewUntil });
  }

  /** True while nobody else can have been given the task. */
  isSureOf(taskId: string): boolean {
    const held = this.#held.get(taskId);
    return held !== undefined && this.#options.clock.monotonicMs() < held.trustedUntil;
  }

  /** What the heartbeat says of this runner from now on. */
  setState(state: RunnerRecord['state']): void {
    this.#state = state;
    this.#post({ type: 'state', state });
  }

  /** Ends the thread; leases still held lapse by themselves. Idempotent. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#setReady();
    this.#cancelCheck?.();
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    this.#post({ type: 'stop' });
    const giveUp = this.#options.clock.after(2_000, () => void worker.terminate());
    await ended;
    giveUp();
  }

  /** For a clock that runs at a slightly other rate, and a thread that was not scheduled for a moment. */
  get #marginMs(): number {
    return this.#options.leaseMs * 0.05;
  }

  #startThread(): void {
    const { runnerId, connection, leaseMs, renewEveryMs, log } = this.#options;
    const kept = [...this.#held].filter(([, lease]) => !lease.isPaused);
    const held = kept.map(([taskId, { token, renewUntil }]) => ({
      taskId,
      token,
      renewUntil,
    }));
    const start = this.#options.startThread ?? startWorker;
    const data = { runnerId, connection, leaseMs, renewEveryMs, held, state: this.#state };
    const worker = start(data);
    this.#worker = worker;
    this.#silentStarts += 1;
    let cause: unknown = new Error('the lease keeping thread ended');
    worker.on('message', (message: FromKeeper) => {
      this.#silentStarts = 0;
      this.#receive(message);
    });
    worker.on('error', (error) => {
      cause = error;
      if (!this.#stopped) log('error', 'the lease keeping thread failed', { error });
    });
    worker.once('exit', () => {
      if (this.#stopped) return;
      this.#worker = undefined;
      if (this.#silentStarts >= mostStarts) {
        this.#options.listener.failed(cause);
        return;
      }
      this.#options.clock.after(restartMs, () => {
        if (!this.#stopped) this.#startThread();
      });
    });
  }

  #post(message: ToKeeper): void {
    this.#worker?.postMessage(message);
  }

  #receive(message: FromKeeper): void {
    if (message.type === 'ready') {
      this.#setReady();
      return;
    }
    if (message.type === 'failed') {
      this.#options.log('warn', `leases could not be renewed: ${message.message}`, {
        retryable: true,
      });
      return;
    }
    const trustedUntil = message.sentAt + this.#options.leaseMs - this.#marginMs;
    for (const { taskId, token } of message.renewed) {
      const held = this.#held.get(taskId);
      if (held?.token === token) held.trustedUntil = Math.max(held.trustedUntil, trustedUntil);
    }
    for (const { taskId, token } of message.lost) {
      // A message about an earlier attempt of the same task must not end the present one; and of a task that commits,
      // the transaction says what became of it.
      const held = this.#held.get(taskId);
      if (held?.token === token && !held.isPaused) {
        this.drop(taskId);
        this.#options.listener.lost(taskId, 'another holder has it, or it is closed');
      }
    }
    for (const { taskId, token } of message.cancelRequested) {
      if (this.#held.get(taskId)?.token === token) this.#options.listener.cancelRequested(taskId);
    }
  }

  #check(): void {
    if (this.#doubtful().length > 0) {
      // This thread may have stood still while the other one renewed: first read what it has to say.
      setImmediate(() => {
        for (const taskId of this.#doubtful()) {
          this.drop(taskId);
          this.#options.listener.doubtful(taskId, 'the lease could not be confirmed in time');
        }
      });
    }
    this.#cancelCheck = this.#options.clock.after(this.#options.renewEveryMs / 4, () =>
      this.#check(),
    );
  }

  /** Leases that we cannot be sure of any more. */
  #doubtful(): string[] {
    const now = this.#options.clock.monotonicMs();
    return [...this.#held].filter(([, held]) => now >= held.trustedUntil).map(([taskId]) => taskId);
  }
}

function startWorker(workerData: KeeperData): KeeperThread {
  return new Worker(new URL('./keeper-worker.js', import.meta.url), { workerData });
}
