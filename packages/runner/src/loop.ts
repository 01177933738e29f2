import { isFlowError } from '@flowline/core';
import type { Clock } from './clock.js';

export interface LoopOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** One turn; returns how long to wait before the next unless woken, in milliseconds. */
  readonly turn: () => Promise<number>;
  /** Told of every failed turn; the loop goes on. */
  readonly onError: (error: unknown, failures: number, retryInMs: number) => void;
  /** Longest pause after a failed turn, in ms. Default 2,000: work resumes soon after a database is back. */
  readonly longestRetryMs?: number;
  /** Told when the loop has ended for good without being stopped: its own code is at fault. */
  readonly onDeath?: (error: unknown) => void;
}

/** How a loop is, for the health endpoint. Instants are monotonic milliseconds. */
export interface LoopPulse {
  readonly name: string;
  /** False before start, after stop, and when it died. */
  readonly isAlive: boolean;
  /** Since when the present turn takes; null between turns. */
  readonly turnSince: number | null;
  /** When the last turn that did not fail ended. */
  readonly succeededAt: number | null;
  /** Turns that failed in a row. */
  readonly failures: number;
}

const firstRetryMs = 250;

/**
 * Runs turns one after another until stopped. A turn that throws never ends the loop: the next comes after a bounded
 * exponential delay with jitter, so that a database that is away is neither hammered nor forgotten.
 */
export class Loop {
  readonly #options: LoopOptions;
  #stopping = false;
  #woken = false;
  #wake: (() => void) | undefined;
  #done: Promise<void> | undefined;
  #isAlive = false;
  #turnSince: number | null = null;
  #succeededAt: number | null = null;
  #failures = 0;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Starts the loop. Idempotent. */
  start(): void {
    if (this.#done !== undefined || this.#stopping) return;
    this.#isAlive = true;
    this.#done = this.#run()
      .catch((error: unknown) => this.#options.onDeath?.(error))
      .finally(() => {
        this.#isAlive = false;
      });
  }

  get pulse(): LoopPulse {
    return {
      name: this.#options.name,
      isAlive: this.#isAlive,
      turnSince: this.#turnSince,
      succeededAt: this.#succeededAt,
      failures: this.#failures,
    };
  }

  /** Makes the next turn come now; a wake during a turn is kept for after it. */
  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }

  /** Lets the running turn finish and ends the loop. Idempotent; resolves when no turn runs any more. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake?.();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { turn, clock, random, onError, longestRetryMs = 2_000 } = this.#options;
    while (!this.#stopping) {
      this.#woken = false;
      this.#turnSince = clock.monotonicMs();
      let waitMs: number;
      try {
        waitMs = await turn();
        this.#failures = 0;
        this.#succeededAt = clock.monotonicMs();
      } catch (error) {
        this.#failures += 1;
        const bound = Math.min(
          longestRetryMs,
          firstRetryMs * 2 ** Math.min(this.#failures - 1, 10),
        );
        waitMs = bound / 2 + (bound / 2) * random();
        // A wake-up is a reason to look sooner, not a reason to hammer a database that just refused.
        this.#woken = false;
        onError(error, this.#failures, waitMs);
        if (!isFlowError(error)) waitMs = Math.max(waitMs, 1_000);
      } finally {
        this.#turnSince = null;
      }
      if (!this.#stopping && !this.#woken) await this.#sleep(waitMs);
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(ms, done);
      const self = this;
      function done() {
        cancel();
        self.#wake = undefined;
        resolve();
      }
      this.#wake = done;
    });
  }
}
