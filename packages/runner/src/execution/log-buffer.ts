import type { LogLine, Store } from '@flowline/core/internal';
import type { RunnerLog } from '../options.js';
import { type PatienceOptions, patiently } from '../patiently.js';

const largestBatch = 500;
/** More than this waiting means that the database is away or slower than the job talks. */
const mostWaiting = 100_000;

/**
 * Sends the log lines of one attempt in order, one batch at a time, without making the job wait. Lines that the
 * database could not take are kept and sent with the next batch; when too many wait, the newest are dropped and the
 * number of dropped ones becomes a line of its own.
 */
export class LogBuffer {
  readonly #store: Pick<Store, 'appendLogs'>;
  readonly #retentionMs: number;
  readonly #log: RunnerLog;
  #waiting: LogLine[] = [];
  #dropped = 0;
  #seq = 0;
  #sending: Promise<void> | undefined;

  constructor(store: Pick<Store, 'appendLogs'>, retentionMs: number, log: RunnerLog) {
    this.#store = store;
    this.#retentionMs = retentionMs;
    this.#log = log;
  }

  /** Takes a line; never throws and never waits. */
  add(line: Omit<LogLine, 'seq'>): void {
    if (this.#waiting.length >= mostWaiting) {
      this.#dropped += 1;
      return;
    }
    if (this.#dropped > 0) {
      const message = `${this.#dropped} log lines were dropped: the database did not take them in time`;
      this.#dropped = 0;
      this.#waiting.push({ ...line, seq: this.#seq++, level: 'warn', message });
    }
    this.#waiting.push({ ...line, seq: this.#seq++ });
    this.#sending ??= this.#send();
  }

  /** Resolves when everything added so far was sent, or given up as `patience` says: a database that is away is waited for. */
  async flush(patience: PatienceOptions): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
    if (this.#waiting.length === 0) return;
    await patiently(() => this.#sendAll(), patience).catch((error: unknown) =>
      this.#refused(error),
    );
  }

  async #send(): Promise<void> {
    // One microtask turn later: lines of one synchronous stretch share a batch.
    await Promise.resolve();
    try {
      await this.#sendAll();
    } catch (error) {
      this.#refused(error);
    } finally {
      this.#sending = undefined;
    }
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, largestBatch);
      await this.#store.appendLogs(batch, this.#retentionMs);
      this.#waiting = this.#waiting.slice(batch.length);
    }
  }

  #refused(error: unknown): void {
    this.#log('warn', 'log lines of a task could not be stored', { error });
  }
}
