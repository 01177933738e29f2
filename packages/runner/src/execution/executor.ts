import type { ClaimedTask } from '@flowline/core/internal';
import { ActiveAttempt } from './active-attempt.js';
import { type AttemptEnd, type ExecutionEnvironment, executeAttempt } from './execute-attempt.js';

/** How a drain went. */
export interface DrainReport {
  /** Attempts that ended by themselves, or were handed back after they settled. */
  readonly finished: number;
  /** Attempts that ignored their aborted signal; their leases lapse. */
  readonly abandoned: readonly string[];
}

/** The attempts that run in this process, within its number of slots. */
export class Executor {
  readonly #env: ExecutionEnvironment;
  readonly #active = new Map<string, { attempt: ActiveAttempt; done: Promise<void> }>();
  readonly #onEnd: (claim: ClaimedTask, end: AttemptEnd) => void;

  constructor(env: ExecutionEnvironment, onEnd: (claim: ClaimedTask, end: AttemptEnd) => void) {
    this.#env = env;
    this.#onEnd = onEnd;
  }

  /** Stuck attempts go on taking their slot: their code still runs. */
  get freeSlots(): number {
    return Math.max(0, this.#env.settings.concurrency - this.#active.size);
  }

  get activeCount(): number {
    return this.#active.size;
  }

  /** Starts an attempt. `sentAt` is the monotonic time before its claim was sent. */
  start(claim: ClaimedTask, timeoutMs: number, sentAt: number): void {
    const { keeper, events, settings } = this.#env;
    const attempt = new ActiveAttempt(claim);
    // Kept beyond the timeout for as long as an aborted handler may take to settle and its outcome to be written.
    keeper.hold(
      claim.taskId,
      claim.token,
      sentAt,
      sentAt + timeoutMs + settings.settleMs + settings.leaseMs,
    );
    events.emit('claimed', claim.taskId, claim.attempt);
    const key = `${claim.taskId}#${claim.token}`;
    const done = executeAttempt(attempt, this.#env).then((end) => {
      this.#active.delete(key);
      this.#onEnd(claim, end);
    });
    this.#active.set(key, { attempt, done });
  }

  /** The lease is gone: abort, and let the fence decide about whatever comes. */
  lost(taskId: string, reason: string): void {
    for (const { attempt } of this.#of(taskId)) {
      // Its outcome is being written, or was: a renewal that crossed it on the way proves nothing.
      if (attempt.settled) continue;
      this.#env.settings.log('warn', `${taskId}: lease lost: ${reason}`);
      this.#env.events.emit('lost', taskId);
      attempt.abort('lost', `the lease of ${taskId} was lost: ${reason}`);
    }
  }

  /** We are not sure of the lease any more: abort, and hand the task back when it settles, if it is still ours. */
  doubtful(taskId: string, reason: string): void {
    for (const { attempt } of this.#of(taskId)) {
      if (attempt.settled) continue;
      this.#env.settings.log('warn', `${taskId}: aborted: ${reason}`);
      this.#env.events.emit('lost', taskId);
      attempt.abort('doubtful', `the lease of ${taskId} may be lost: ${reason}`);
    }
  }

  cancel(taskId: string): void {
    for (const { attempt } of this.#of(taskId)) attempt.abort('cancelled', 'the run was cancelled');
  }

  /**
   * Waits up to `timeoutMs` for the running attempts, then aborts them and gives them the settling time. Nothing new
   * may be started meanwhile. `hurry` cuts the first wait short.
   */
  async drain(timeoutMs: number, hurry: AbortSignal): Promise<DrainReport> {
    const before = this.#active.size;
    await this.#allDoneWithin(timeoutMs, hurry);
    for (const { attempt } of this.#active.values())
      attempt.abort('draining', 'the runner is shutting down');
    await this.#allDoneWithin(this.#env.settings.settleMs, this.#env.forced);
    const abandoned = [...this.#active.values()].map(({ attempt }) => attempt.claim.taskId);
    return { finished: before - abandoned.length, abandoned };
  }

  *#of(taskId: string): Iterable<{ attempt: ActiveAttempt }> {
    for (const entry of this.#active.values())
      if (entry.attempt.claim.taskId === taskId) yield entry;
  }

  async #allDoneWithin(ms: number, hurry: AbortSignal): Promise<void> {
    if (this.#active.size === 0 || hurry.aborted) return;
    let cancel = () => {};
    const waited = new Promise<void>((resolve) => {
      const stop = this.#env.settings.clock.after(ms, resolve);
      hurry.addEventListener('abort', () => resolve(), { once: true });
      cancel = stop;
    });
    await Promise.race([Promise.all([...this.#active.values()].map(({ done }) => done)), waited]);
    cancel();
  }
}
