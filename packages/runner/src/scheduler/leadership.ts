/**
 * Who leads. One `leases` document; the database says who holds it and until when.
 *
 *   follower --acquire (free or expired)--> leader --renew fails / trust over--> follower
 *                                             `--stop--> released
 *
 * Trust window: a leader believes in its lease until `leaseMs` after the moment before its last successful renewal
 * was sent, by the monotonic clock, minus a margin; the database's lease ends later than that. The lease is renewed by
 * the scheduler loop itself and by nothing else, so that a leader whose loop stands still loses it.
 *
 * Dies between acquiring and acting: the lease lapses, another one acquires it. Acts after losing it (paused between a
 * check and a write): every duty is guarded by itself, so nothing is done twice. A failed renewal is never answered
 * with another renewal: the leader steps down and competes again like everybody.
 */
import { isFlowError } from '@flowline/core';
import type { Store } from '@flowline/core/internal';
import type { Clock } from '../clock.js';

export interface LeadershipOptions {
  readonly store: Pick<Store, 'acquireLeadership' | 'renewLeadership' | 'releaseLeadership'>;
  readonly runnerId: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly onWon: (epoch: number) => void;
  readonly onLost: (reason: string) => void;
}

export class LeadershipHolder {
  readonly #options: LeadershipOptions;
  #epoch: number | undefined;
  #trustedUntil = 0;
  #renewAt = 0;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  /** True while nobody else can be the leader. Steps down when the trust window is over. */
  isLeading(): boolean {
    if (this.#epoch === undefined) return false;
    if (this.#options.clock.monotonicMs() < this.#trustedUntil) return true;
    this.#stepDown('it was not renewed in time');
    return false;
  }

  /**
   * Competes, or renews when a third of the lease is over, or will be in `aheadMs`: what is done now need not be done when
   * something is due. Returns whether this runner leads.
   */
  async keep(aheadMs = 0): Promise<boolean> {
    const { store, runnerId, leaseMs, clock } = this.#options;
    const sentAt = clock.monotonicMs();
    if (this.isLeading()) {
      if (sentAt + aheadMs < this.#renewAt) return true;
      const epoch = this.#epoch as number;
      const renewed = await store
        .renewLeadership(runnerId, epoch, leaseMs)
        .catch((error: unknown) => {
          // Not knowing whether it was applied is no reason to act on it: the window before it still counts.
          if (isFlowError(error) && error.retryable) return undefined;
          throw error;
        });
      if (renewed === null) this.#stepDown('another runner has it');
      else if (renewed !== undefined) this.#trust(sentAt);
      return this.isLeading();
    }
    const won = await store.acquireLeadership(runnerId, leaseMs);
    if (won === null) return false;
    this.#epoch = won.epoch;
    this.#trust(sentAt);
    this.#options.onWon(won.epoch);
    return true;
  }

  /** Gives leadership back on a clean stop, so that the next leader need not wait. */
  async release(): Promise<void> {
    if (this.#epoch === undefined) return;
    const epoch = this.#epoch;
    this.#stepDown('released');
    await this.#options.store.releaseLeadership(this.#options.runnerId, epoch);
  }

  #trust(sentAt: number): void {
    const { leaseMs } = this.#options;
    this.#trustedUntil = sentAt + leaseMs * 0.9;
    this.#renewAt = sentAt + leaseMs / 3;
  }

  #stepDown(reason: string): void {
    this.#epoch = undefined;
    this.#options.onLost(reason);
  }
}
