/** How outages put off the rescue of a task: pure; rescue.ts says why. */
import type { Silence } from './presence.js';

/** Leases are renewed, and heartbeats sent, so often in a lease. */
const renewalsPerLease = 4;

/** A silence of more usual pauses than this is none of the runners'. */
const usualPauses = 1.5;

/** How much longer than usual a silence was, in ms; 0 for one that is no outage. `since` leaves out what was before it. */
export function excessMs({ from, to }: Silence, leaseMs: number, since: Date = from): number {
  const usualMs = leaseMs / renewalsPerLease;
  if (to.getTime() - from.getTime() <= usualPauses * usualMs) return 0;
  const begin = Math.max(from.getTime(), since.getTime());
  return Math.max(0, to.getTime() - begin - usualMs);
}

/** How much later than its expiry a lease ends that was renewed for the last time `leaseMs` before it, in ms. */
export function putOffMs(expiresAt: Date, leaseMs: number, outages: readonly Silence[]): number {
  const renewedAt = new Date(expiresAt.getTime() - leaseMs);
  return outages.reduce((sum, outage) => sum + excessMs(outage, leaseMs, renewedAt), 0);
}
