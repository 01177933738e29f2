import { TaskCancelledError, TaskLostError, TaskTimeoutError } from '@flowline/core';
import type { ClaimedTask } from '@flowline/core/internal';

/** Why a running attempt was told to stop; the first reason stands. */
export type AbortCause = 'timeout' | 'cancelled' | 'lost' | 'doubtful' | 'draining';

/** An attempt that this process runs: its claim, its signal, and why it was aborted. */
export class ActiveAttempt {
  readonly claim: ClaimedTask;
  readonly #controller = new AbortController();
  #cause: AbortCause | undefined;
  #settled = false;

  constructor(claim: ClaimedTask) {
    this.claim = claim;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get abortCause(): AbortCause | undefined {
    return this.#cause;
  }

  /** True once the handler's promise has settled. */
  get settled(): boolean {
    return this.#settled;
  }

  markSettled(): void {
    this.#settled = true;
  }

  /** Aborts the signal with an error that says why. A lost lease outranks what was said before. */
  abort(cause: AbortCause, detail: string): void {
    if (this.#cause === undefined || cause === 'lost') this.#cause = cause;
    if (!this.#controller.signal.aborted) this.#controller.abort(abortError(cause, detail));
  }
}

function abortError(cause: AbortCause, detail: string): Error {
  switch (cause) {
    case 'timeout':
      return new TaskTimeoutError(detail);
    case 'cancelled':
      return new TaskCancelledError(detail);
    case 'lost':
    case 'doubtful':
    case 'draining':
      return new TaskLostError(detail);
  }
}
