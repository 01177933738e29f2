/**
 * Portions of what a duty owes, where there may be more than one call takes on, and some of it may wait or fail for long: each is
 * tried once before any is tried again, so that what stands at the front keeps nothing behind it from its turn.
 *
 * Kept in memory, by connection. Another leader begins anew, which costs one turn.
 */
import type { StoreContext } from '../context.js';

/** How many owed items a duty asks for by id, to choose from. */
export const owedAtMost = 10_000;

const triedBy = new WeakMap<StoreContext, Map<string, Set<string>>>();

/** The next ids to try, at most `most`, in the order of `owed`. `duty` names the round. */
export function nextPortion(
  context: StoreContext,
  duty: string,
  owed: readonly string[],
  most: number,
): string[] {
  const rounds = triedBy.get(context) ?? new Map<string, Set<string>>();
  triedBy.set(context, rounds);
  const tried = rounds.get(duty) ?? new Set<string>();
  const fresh = owed.filter((id) => !tried.has(id));
  if (fresh.length > most) {
    const portion = fresh.slice(0, most);
    // Of those before only what is still owed has to be remembered.
    const isOwed = new Set(owed);
    rounds.set(duty, new Set([...tried, ...portion].filter((id) => isOwed.has(id))));
    return portion;
  }
  // The end of a round: the rest of the portion begins the next one.
  const again = owed.filter((id) => tried.has(id)).slice(0, most - fresh.length);
  rounds.set(duty, fresh.length + again.length === owed.length ? new Set() : new Set(again));
  return [...fresh, ...again];
}
