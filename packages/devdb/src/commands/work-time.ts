import { timeLimit } from './command.js';

/**
 * How long a pipeline has worked, for `maxTimeMS`: the time in which its cursor waits for the next getMore does not count.
 * Milliseconds of the server's clock.
 */
export class WorkTime {
  #spentMs = 0;
  #sinceMs: number | null = null;

  constructor(
    private readonly nowMs: () => number,
    private readonly limitMs: number,
  ) {}

  /** Throws 50 when the pipeline has worked for longer than it may. */
  check(): void {
    const running = this.#sinceMs === null ? 0 : this.nowMs() - this.#sinceMs;
    if (this.#spentMs + running > this.limitMs) throw timeLimit();
  }

  /** The documents, with the time measured that it takes to make them. */
  *measure<T>(documents: Iterable<T>): Generator<T> {
    const iterator = documents[Symbol.iterator]();
    try {
      for (;;) {
        this.#sinceMs = this.nowMs();
        const step = iterator.next();
        this.#spentMs += this.nowMs() - this.#sinceMs;
        this.#sinceMs = null;
        if (step.done) return;
        yield step.value;
      }
    } finally {
      iterator.return?.();
    }
  }
}
