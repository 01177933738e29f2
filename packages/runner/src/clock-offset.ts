import type { RunnerLog } from './options.js';

/** Nothing depends on this process's clock, but people read its log. */
const remarkableMs = 1_000;

/** Says when this process's clock is more than a second off the database's, and when it is right again; not each time. */
export class ClockOffsetRemark {
  readonly #log: RunnerLog;
  #isOff = false;

  constructor(log: RunnerLog) {
    this.#log = log;
  }

  /** `offsetMs`: this process's clock minus the database's. */
  notice(offsetMs: number): void {
    const isOff = Math.abs(offsetMs) > remarkableMs;
    if (isOff === this.#isOff) return;
    this.#isOff = isOff;
    if (!isOff) {
      this.#log('info', "this machine's clock agrees with the database's again", { offsetMs });
      return;
    }
    const seconds = (Math.abs(offsetMs) / 1_000).toFixed(1);
    const side = offsetMs > 0 ? 'ahead of' : 'behind';
    this.#log(
      'warn',
      `this machine's clock is ${seconds} s ${side} the database's; leases and schedules go by the database's`,
      { offsetMs },
    );
  }
}
