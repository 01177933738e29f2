/** Why a due fire did not become a run of its own. */
export type UnrunReason =
  | 'skipped'
  | 'expired'
  | 'paused'
  | 'overlap'
  | 'excluded'
  | 'capped'
  | 'broken';

/** One fire (`from` equals `to`, `count` 1), or a span of consecutive ones with the same reason, both ends included. */
export interface FireLine {
  readonly from: Date;
  readonly to: Date;
  readonly count: number;
  readonly reason: UnrunReason;
}

/** Consecutive fires with one reason that may still grow. `dates` holds all of them while there are few, else nothing. */
export interface OpenLine extends FireLine {
  readonly dates: readonly Date[];
}

/** Up to so many consecutive fires with one reason have a line each; more are one span. */
export const MAX_SINGLE_LINES = 100;

/** Collects lines, oldest first. It can start from an open line of an earlier batch and hand on its own. */
export class FireLines {
  readonly #closed: FireLine[] = [];
  #open: OpenLine | null;

  constructor(open: OpenLine | null) {
    this.#open = open;
  }

  add(at: number, reason: UnrunReason): void {
    const date = new Date(at);
    if (this.#open !== null && this.#open.reason !== reason) this.close();
    const { from, count, dates } = this.#open ?? { from: date, count: 0, dates: [] };
    const isFew = count < MAX_SINGLE_LINES;
    this.#open = {
      from,
      to: date,
      count: count + 1,
      reason,
      dates: isFew ? [...dates, date] : [],
    };
  }

  /** Ends the stretch: something else than a line follows, or nothing. */
  close(): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    if (open.count > MAX_SINGLE_LINES) {
      this.#closed.push({ from: open.from, to: open.to, count: open.count, reason: open.reason });
      return;
    }
    for (const date of open.dates) {
      this.#closed.push({ from: date, to: date, count: 1, reason: open.reason });
    }
  }

  get closed(): readonly FireLine[] {
    return this.#closed;
  }

  get open(): OpenLine | null {
    return this.#open;
  }
}
