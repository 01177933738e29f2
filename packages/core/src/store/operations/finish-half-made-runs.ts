import type { StoreContext } from '../context.js';
import { narrowTo } from '../server-time.js';
import { NOW } from '../task-transitions.js';
import { knownVersion } from './known-version.js';
import { materializeRuns } from './materialize-runs.js';
import { nextPortion, owedAtMost } from './rounds.js';
import { workThrough } from './work-through.js';

const runsAtOnce = 100;

/** Completes runs whose creator died: see create-run.ts. Their age is judged by the database. */
export async function finishHalfMadeRuns(
  context: StoreContext,
  olderThanMs: number,
): Promise<number> {
  const { runs } = context.collections;
  const latest = new Date((await narrowTo(context.clock)).getTime() - olderThanMs);
  const owed = await runs
    .find(
      {
        materialized: false,
        createdAt: { $lte: latest },
        $expr: { $lte: ['$createdAt', { $subtract: [NOW, olderThanMs] }] },
      },
      { projection: { _id: 1 } },
    )
    .sort({ createdAt: 1 })
    .limit(owedAtMost)
    .toArray();
  if (owed.length === 0) return 0;
  const ids = owed.map(({ _id }) => _id);
  // A run whose version is gone stays half-made.
  const portion = nextPortion(context, 'half-made runs', ids, runsAtOnce);
  const halfMade = await runs.find({ _id: { $in: portion }, materialized: false }).toArray();
  await workThrough(halfMade, async (run) => {
    const version = await knownVersion(context, run.dagId, run.version);
    await materializeRuns(context, [{ run, version }]);
  });
  return halfMade.length;
}
