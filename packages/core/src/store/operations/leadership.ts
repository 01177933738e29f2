/**
 * Leadership: one document in `leases`.
 *
 * Authority: that document and the database's clock. States: free (no holder, or expired) -> held by (holder, epoch) until
 * `expiresAt` -> renewed by the same holder and epoch, released by it, or expired. Each change of holder raises the epoch.
 * A candidate honours the expiry that the holder stored, not a length of its own.
 *
 * What a leader does is guarded by itself (unique slots, compare-and-set, states), so a deposed one that does not know it
 * yet does no harm. Dying while leading: the lease expires, and the next leader repeats what was left half-done.
 */
import type { UpdateFilter } from 'mongodb';
import type { LeadershipDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { isDuplicateKey } from '../driver-errors.js';
import { literal, NOW } from '../task-transitions.js';
import type { Leadership } from '../verbs/fleet-verbs.js';

const leadershipId = 'scheduler';

export async function acquireLeadership(
  context: StoreContext,
  runnerId: string,
  leaseMs: number,
): Promise<Leadership | null> {
  const { leases } = context.collections;
  for (let round = 0; round < 2; round++) {
    const won = await leases.findOneAndUpdate(
      { _id: leadershipId, $expr: { $lte: ['$expiresAt', NOW] } },
      [
        {
          $set: {
            holder: literal(runnerId),
            epoch: { $add: ['$epoch', 1] },
            expiresAt: { $add: [NOW, leaseMs] },
          },
        },
      ] as unknown as UpdateFilter<LeadershipDocument>,
      { returnDocument: 'after' },
    );
    if (won !== null) return leadershipOf(won);
    const seen = await leases.findOne({ _id: leadershipId });
    if (seen !== null) {
      // Ours and valid: the answer of an earlier call was lost.
      const isOurs = seen.holder === runnerId && seen.expiresAt > (await context.clock.fresh());
      return isOurs ? leadershipOf(seen) : null;
    }
    await create(context);
  }
  return null;
}

/** The document that is taken: made once, free. An upsert's filter could not compare with the database's clock. */
async function create(context: StoreContext): Promise<void> {
  try {
    await context.collections.leases.insertOne({
      _id: leadershipId,
      holder: null,
      epoch: 0,
      expiresAt: new Date(0),
    });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

export async function renewLeadership(
  context: StoreContext,
  runnerId: string,
  epoch: number,
  leaseMs: number,
): Promise<Leadership | null> {
  const renewed = await context.collections.leases.findOneAndUpdate(
    { _id: leadershipId, holder: runnerId, epoch, $expr: { $gt: ['$expiresAt', NOW] } },
    [
      { $set: { expiresAt: { $max: ['$expiresAt', { $add: [NOW, leaseMs] }] } } },
    ] as unknown as UpdateFilter<LeadershipDocument>,
    { returnDocument: 'after' },
  );
  return renewed === null ? null : leadershipOf(renewed);
}

/** Only with holder and epoch; otherwise nothing happens. */
export async function releaseLeadership(
  context: StoreContext,
  runnerId: string,
  epoch: number,
): Promise<void> {
  await context.collections.leases.updateOne(
    { _id: leadershipId, holder: runnerId, epoch },
    { $set: { holder: null, expiresAt: new Date(0) } },
  );
}

export async function getLeadership(context: StoreContext): Promise<Leadership | null> {
  const seen = await context.collections.leases.findOne({ _id: leadershipId });
  return seen === null || seen.holder === null ? null : leadershipOf(seen);
}

function leadershipOf(document: LeadershipDocument): Leadership {
  return {
    holder: document.holder ?? '',
    epoch: document.epoch,
    expiresAt: document.expiresAt,
  };
}
