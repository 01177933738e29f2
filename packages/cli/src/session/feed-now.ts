import type { Store } from '@flowline/core/internal';
import { note, type Terminal } from '../terminal/terminal.js';

/**
 * Gives a backfill its next runs at once, which a leader would do at its next tick. That it is stored, resumed or opened again
 * stands whatever comes of this, so a failure is a remark: the leader tries again, and the command goes on to say what it did.
 */
export async function feedNow(
  store: Pick<Store, 'feedBackfills'>,
  backfillId: string,
  terminal: Terminal,
): Promise<void> {
  try {
    await store.feedBackfills({ only: backfillId });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    note(terminal, `the next runs of backfill ${backfillId} could not be made yet: ${reason}`);
    note(terminal, 'a runner that may lead tries again each second');
  }
}
