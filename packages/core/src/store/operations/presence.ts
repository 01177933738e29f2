/**
 * When the database was there for runners: one document in `presence`.
 *
 * Authority: the database's clock at each heartbeat, of whatever runner. `heardAt` is the latest one; a pause between two
 * of them that is at least as long as its writer's own becomes a silence. So what is known of an outage belongs to nobody
 * who could die, be cut off by himself, or be removed from `runners`. The judgement is rescue.ts's.
 *
 * Dying after this and before the runner's own record: the runner is heard again, or is not. A document that is gone says
 * of no silence; the next heartbeat makes it again.
 */
import type { UpdateFilter } from 'mongodb';
import type { PresenceDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { NOW } from '../task-transitions.js';
import { repeatUpsert } from './repeat-upsert.js';

/** A time in which no runner was heard, by the database's clock. */
export interface Silence {
  readonly from: Date;
  readonly to: Date;
}

/** What is known of silences at `now`, by the database's clock. */
export interface Presence {
  readonly now: Date;
  readonly heardAt: Date;
  /** Oldest first, the latest hundred. */
  readonly silences: readonly Silence[];
}

const presenceId = 'fleet';

/** Each is at least as long as the time between two heartbeats: many leases of time. */
const keptSilences = 100;

/** Someone was heard, by the database's now, who lets himself be heard every `everyMs`. Repeatable. */
export async function notePresence(context: StoreContext, everyMs: number): Promise<void> {
  const heardAt = { $ifNull: ['$heardAt', NOW] };
  const known = { $ifNull: ['$silences', []] };
  const silence = { from: heardAt, to: NOW };
  await repeatUpsert(() =>
    context.collections.presence.updateOne(
      { _id: presenceId },
      [
        {
          $set: {
            silences: {
              $cond: [
                { $gte: [{ $subtract: [NOW, heardAt] }, everyMs] },
                { $slice: [{ $concatArrays: [known, [silence]] }, -keptSilences] },
                known,
              ],
            },
            heardAt: { $max: [heardAt, NOW] },
          },
        },
      ] as unknown as UpdateFilter<PresenceDocument>,
      { upsert: true },
    ),
  );
}

/** Null if nobody was heard since the document was made. */
export async function readPresence(context: StoreContext): Promise<Presence | null> {
  const [found] = await context.collections.presence
    .aggregate<Presence>([{ $match: { _id: presenceId } }, { $set: { now: NOW } }])
    .toArray();
  return found ?? null;
}
