/**
 * Looking for work. One turn promotes delayed tasks that are due, claims no more than the free slots, and starts what
 * it got. Between turns it waits from `pollMs.busy` to `pollMs.idle`, longer while nothing is found; it is woken by
 * what this process makes ready, by a slot that becomes free, and by change streams where there are any. Polling is
 * the truth, the rest are hints.
 *
 * When the process dies after a claim was applied, the lease lapses and the attempt is counted as lost.
 */

import type { ClaimedTask, FreshTask } from '@flowline/core/internal';
import type { ExecutionEnvironment } from '../execution/execute-attempt.js';
import type { Executor } from '../execution/executor.js';
import { Loop, type LoopPulse } from '../loop.js';

/** Longer than a claim takes on a healthy database, and much shorter than a poll. */
const hintDelayMs = 25;

export class Claimer {
  readonly #env: ExecutionEnvironment;
  readonly #executor: Executor;
  readonly #serveKeys: readonly string[];
  readonly #loop: Loop;
  #emptyTurns = 0;
  #promoteAt = 0;
  /** Tasks that this process has just made ready, and serves. */
  #ready = new Map<string, FreshTask>();
  /** At the last look there was no more work than free slots. */
  #isExhausted = false;
  #isHinted = false;

  constructor(env: ExecutionEnvironment, executor: Executor, onDeath?: (error: unknown) => void) {
    this.#env = env;
    this.#executor = executor;
    this.#serveKeys = [...env.jobs.keys()];
    const { clock, random, log } = env.settings;
    this.#loop = new Loop({
      name: 'claim',
      clock,
      random,
      turn: () => this.#turn(),
      onError: (error, failures, retryInMs) => {
        log('warn', 'looking for work failed', { error, failures, retryInMs });
        env.events.emit('failed', 'claim', error);
      },
      ...(onDeath === undefined ? {} : { onDeath }),
    });
  }

  start(): void {
    this.#loop.start();
  }

  get pulse(): LoopPulse {
    return this.#loop.pulse;
  }

  /** Work may be ready: look now, also for delayed tasks. `tasks`: these, which are then asked for by name. */
  wake(tasks?: readonly FreshTask[]): void {
    if (tasks === undefined) this.#isExhausted = false;
    else {
      const served = tasks.filter(({ serveKey }) => this.#env.jobs.has(serveKey));
      if (served.length === 0) return;
      for (const task of served) this.#ready.set(task.taskId, task);
    }
    this.#emptyTurns = 0;
    this.#loop.wake();
  }

  /** Some process has made work ready. That one comes first: it knows what, and where. */
  hint(): void {
    if (this.#isHinted) return;
    this.#isHinted = true;
    this.#env.settings.clock.after(hintDelayMs, () => {
      this.#isHinted = false;
      this.wake();
    });
  }

  /** A delayed task becomes due in `ms`; look then. */
  wakeIn(ms: number): void {
    this.#env.settings.clock.after(ms, () => {
      this.#promoteAt = 0;
      this.wake();
    });
  }

  /** No further claim is sent; one that is under way is started as usual. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #turn(): Promise<number> {
    const { store, settings, runnerId, events } = this.#env;
    const { clock, pollMs } = settings;
    if (this.#serveKeys.length === 0) return pollMs.idle;
    const named = this.#takeReady(this.#executor.freeSlots);
    if (named === null && clock.monotonicMs() >= this.#promoteAt) {
      await store.promoteDelayed();
      this.#promoteAt = clock.monotonicMs() + pollMs.busy;
    }
    const limit = this.#executor.freeSlots;
    if (limit === 0) return pollMs.idle;
    const sentAt = clock.monotonicMs();
    const claims = await store.claimTasks({
      runnerId,
      serveKeys: this.#serveKeys,
      leaseMs: settings.leaseMs,
      limit,
      ...(named === null ? {} : { fresh: named }),
    });
    const isAll = claims.length < limit;
    // A look by name says nothing of other work: the next look is for all of it.
    this.#isExhausted = named === null && isAll;
    const timeouts = await Promise.all(claims.map((claim) => this.#timeoutOf(claim)));
    // All of them at once: each first line comes before anything that the others send.
    for (const [index, claim] of claims.entries()) {
      this.#executor.start(claim, timeouts[index]!, sentAt);
    }
    if (claims.length > 0) {
      this.#emptyTurns = 0;
      // Fewer than were asked for: there is no more. All of them: there may be, once there are slots.
      if (isAll) return pollMs.busy;
      return this.#executor.freeSlots > 0 ? 0 : pollMs.idle;
    }
    this.#emptyTurns += 1;
    if (this.#executor.activeCount === 0) events.emit('idle');
    return Math.min(pollMs.idle, pollMs.busy * 2 ** Math.min(this.#emptyTurns - 1, 6));
  }

  /** The bound on renewals needs it; the definition is cached after the first task of a version. */
  #timeoutOf({ dagId, version, jobId }: ClaimedTask): Promise<number> {
    const { definitions, settings } = this.#env;
    return definitions
      .job(dagId, version, jobId)
      .then(({ job }) => job.timeoutMs)
      .catch(() => settings.leaseMs);
  }

  /** Tasks to ask for by name: only where nothing else waits, so that no older or more urgent work is passed over. */
  #takeReady(limit: number): FreshTask[] | null {
    const fresh = [...this.#ready.values()];
    this.#ready.clear();
    return this.#isExhausted && fresh.length > 0 && fresh.length <= limit ? fresh : null;
  }
}
