import type { UpdateFilter } from 'mongodb';
import type { MissedExpectation } from '../../model/expectation.js';
import type { MissedExpectationDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { repeatUpsert } from '../operations/repeat-upsert.js';
import { literal, NOW } from '../task-transitions.js';

/**
 * Writes a missed expectation down, once: the first record under an id stands, with the database's now as its time. True when
 * it is new. Repeatable by anybody.
 */
export async function recordMissed(
  context: StoreContext,
  missed: Omit<MissedExpectation, 'missedAt'>,
  keptMs: number,
): Promise<boolean> {
  const { id, ...facts } = missed;
  const { upsertedCount } = await repeatUpsert(() =>
    context.collections.missed.updateOne(
      { _id: id },
      [
        // What is there already wins over what is written.
        {
          $replaceWith: {
            $mergeObjects: [
              literal({ ...facts, announced: false }),
              { missedAt: NOW, expireAt: { $add: [NOW, keptMs] } },
              '$$ROOT',
            ],
          },
        },
      ] as unknown as UpdateFilter<MissedExpectationDocument>,
      { upsert: true },
    ),
  );
  return upsertedCount === 1;
}

/** The id of what a run missed. */
export function missedOfRun(runId: string, kind: string): string {
  return `${runId}/${kind}`;
}

/** The id of what a fire missed that never became a run. */
export function missedOfFire(dagId: string, kind: string, logicalDate: Date): string {
  return `${dagId}/${kind}/${logicalDate.toISOString()}`;
}
