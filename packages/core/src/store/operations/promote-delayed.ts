import type { UpdateFilter } from 'mongodb';
import type { TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { narrowTo } from '../server-time.js';
import { moveTo, NOW } from '../task-transitions.js';

/** `delayed -> ready` for what is due by the database's clock. Any runner may, at any time; twice changes nothing. */
export async function promoteDelayed(context: StoreContext): Promise<number> {
  const promoted = await context.collections.tasks.updateMany(
    {
      state: 'delayed',
      delayedUntil: { $lte: await narrowTo(context.clock) },
      $expr: { $lte: ['$delayedUntil', NOW] },
    },
    moveTo('ready') as unknown as UpdateFilter<TaskDocument>,
  );
  return promoted.modifiedCount;
}

const dagsPerQuery = 50;

/** The earliest `delayedUntil` among tasks with these serve keys: when it is worth to look again. */
export async function earliestDelayed(
  context: StoreContext,
  serveKeys: readonly string[],
): Promise<Date | null> {
  const dagIds = [...new Set(serveKeys.map((key) => key.slice(0, key.indexOf('/'))))];
  let earliest: Date | null = null;
  for (let from = 0; from < dagIds.length; from += dagsPerQuery) {
    const [first] = await context.collections.tasks
      .find(
        {
          state: 'delayed',
          dagId: { $in: dagIds.slice(from, from + dagsPerQuery) },
          serveKey: { $in: [...serveKeys] },
        },
        { projection: { delayedUntil: 1 } },
      )
      .sort({ delayedUntil: 1 })
      .limit(1)
      .toArray();
    const at = first?.delayedUntil ?? null;
    if (at !== null && (earliest === null || at < earliest)) earliest = at;
  }
  return earliest;
}
