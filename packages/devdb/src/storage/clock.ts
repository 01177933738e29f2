import { Timestamp } from '../values/value.js';

/** The server's clock: dates for `$$NOW` and TTL, and timestamps that never repeat or go back. */
export class ServerClock {
  #seconds = 0;
  #increment = 0;

  /** `nowMs` gives the wall clock in milliseconds since 1970; tests skew it. */
  constructor(readonly nowMs: () => number = Date.now) {}

  now(): Date {
    return new Date(this.nowMs());
  }

  /** The next cluster time. */
  tick(): Timestamp {
    const seconds = Math.floor(this.nowMs() / 1000);
    if (seconds > this.#seconds) {
      this.#seconds = seconds;
      this.#increment = 1;
    } else {
      this.#increment += 1;
    }
    return this.latest();
  }

  /** The cluster time of the last tick. */
  latest(): Timestamp {
    return new Timestamp({ t: this.#seconds, i: this.#increment });
  }

  /** Starts after a time that was given out before a restart. */
  resumeAfter(time: Timestamp): void {
    const seconds = time.getHighBitsUnsigned();
    if (seconds < this.#seconds) return;
    this.#seconds = seconds;
    this.#increment = time.getLowBitsUnsigned() + 1;
  }
}
