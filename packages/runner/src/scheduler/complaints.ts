/**
 * What fails again and again for one DAG, one run or one backfill: told at once when it is new, then once a minute with how often
 * it was meanwhile. The leader tries every second; nobody reads a line for each.
 */
import { isFlowError } from '@flowline/core';

const everyMs = 60_000;
/** Of one kind, in that time: a hundred DAGs that fail for one reason are told by ten. */
const differentAtMost = 10;

interface Told {
  readonly what: string;
  readonly atMs: number;
  /** How often it was since then. */
  times: number;
}

export class Complaints {
  readonly #monotonicMs: () => number;
  readonly #told = new Map<string, Told>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /**
   * Whether to tell of it now, and how often it was since it was told last. `what` is the kind, `subject` what it concerns.
   */
  note(what: string, subject: string, error: unknown): { readonly times: number } | null {
    const now = this.#monotonicMs();
    const key = JSON.stringify([what, subject, error instanceof Error ? error.message : error]);
    const known = this.#told.get(key);
    if (known !== undefined && now - known.atMs < everyMs) {
      known.times += 1;
      return null;
    }
    // What was quiet for that long is forgotten; it would be news.
    for (const [old, { atMs }] of this.#told) if (now - atMs >= 2 * everyMs) this.#told.delete(old);
    const alike = [...this.#told.values()].filter(
      (told) => told.what === what && now - told.atMs < everyMs,
    );
    if (alike.length >= differentAtMost) return null;
    this.#told.set(key, { what, atMs: now, times: 0 });
    return { times: known?.times ?? 0 };
  }
}

/**
 * True when the database could not be reached, or asked to be asked again. Everything else that a duty meets concerns one DAG, one
 * run or one backfill: no reason to look at the others later.
 */
export function isOutage(error: unknown): boolean {
  if (!isFlowError(error)) return false;
  return error.code === 'store-unreachable' || (error.code === 'store' && error.retryable);
}
