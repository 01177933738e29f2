/** What the server does by itself: expires documents, cursors, sessions and transactions. */
import { endOpenTransaction } from '../commands/transactions.js';
import type { ServerState } from '../state/server-state.js';
import { SESSION_TIMEOUT_MINUTES, TRANSACTION_LIFETIME_MS } from '../state/sessions.js';
import type { Collection } from '../storage/collection.js';
import type { OrderedIndex } from '../storage/ordered-index.js';
import { after } from '../storage/ordered-index.js';
import { Blocked, WriteUnit } from '../storage/store.js';
import { bracketRange, encodeKeyPart } from '../values/index-key.js';

/** How many documents one pass removes from one index before others get their turn. */
const PASS_LIMIT = 1000;

/** Starts the passes; the returned function stops them. */
export function startHousekeeping(server: ServerState, intervalMs: number): () => void {
  let running = false;
  const timer = setInterval(() => {
    if (running) return;
    running = true;
    void runHousekeeping(server)
      // A disk that fails shows in every command; a pass has nobody to tell.
      .catch(() => {})
      .finally(() => {
        running = false;
      });
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** One pass. */
export async function runHousekeeping(server: ServerState): Promise<void> {
  const { store, sessions, cursors } = server;
  const nowMs = store.clock.nowMs();
  cursors.expire();
  const oldestMs = nowMs - SESSION_TIMEOUT_MINUTES * 60_000;
  for (const session of sessions.all()) {
    const open = session.transaction?.open;
    if (open !== undefined && open.startedAtMs < nowMs - TRANSACTION_LIFETIME_MS) {
      endOpenTransaction(server, session);
    }
    if (session.transaction === null && session.lastUsedMs < oldestMs) {
      cursors.closeWhere((cursor) => cursor.session === session.key);
      sessions.delete(session);
    }
  }
  const unit = new WriteUnit(null);
  store.retries.expire(oldestMs, unit.stored);
  for (const collection of [...store.catalogue.collections()]) {
    for (const index of collection.indexes) {
      if (index.spec.expireAfterSeconds === undefined) continue;
      removeExpired(server, unit, collection, index, nowMs);
    }
  }
  await store.commit(unit);
}

/**
 * Removes documents whose indexed date is `expireAfterSeconds` old by the server's clock. Of an array the earliest date
 * counts; documents without a date stay.
 */
function removeExpired(
  server: ServerState,
  unit: WriteUnit,
  collection: Collection,
  index: OrderedIndex,
  nowMs: number,
): void {
  const limit = new Date(nowMs - index.spec.expireAfterSeconds! * 1000);
  const descending = index.descending[0]!;
  const [bottom, top] = bracketRange(limit, descending);
  const text = encodeKeyPart(limit, descending);
  const low = descending ? text : bottom;
  const high = descending ? top : after(text);
  const expired = new Set<number>();
  const entries = index.ascendingFrom(low);
  for (let step = entries.next(); !step.done && step.value[0] < high; step = entries.next()) {
    expired.add(step.value[1]);
    if (expired.size >= PASS_LIMIT) break;
  }
  for (const recordId of expired) {
    try {
      server.store.remove(unit, collection, recordId);
    } catch (error) {
      // A transaction holds the document: a later pass finds it again.
      if (!(error instanceof Blocked)) throw error;
    }
  }
}
