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
}

const firstRetryMs = 250;
const longestRetryMs = 5_000;

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

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Starts the loop. Idempotent. */
  start(): void {
    this.#done ??= this.#run();
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
    let failures = 0;
    while (!this.#stopping) {
      this.#woken = false;
      let waitMs: number;
      try {
        waitMs = await this.#options.turn();
        failures = 0;
      } catch (error) {
        failures += 1;
        const bound = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 10));
        waitMs = bound / 2 + (bound / 2) * this.#options.random();
        // A wake-up is a reason to look sooner, not a reason to hammer a database that just refused.
        this.#woken = false;
        this.#options.onError(error, failures, waitMs);
        if (!isFlowError(error)) waitMs = Math.max(waitMs, 1_000);
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
