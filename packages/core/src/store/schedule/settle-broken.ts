/**
 * What became of the dates that a schedule let pass while it was broken: lines in `fires`, before the deploy that mends it, or the
 * retirement that ends it, takes the cursor away.
 *
 * Authority and steps are those of settle-schedule.ts: each batch is a stored decision (decide-gap.ts), carried out under unique
 * keys, and moves the cursor. So two shells, or one before and after a death, write the same lines; whoever finds such a decision, a
 * leader too, carries it out; and what changes the DAG afterwards asks the server that no date has come since. Dying between two
 * batches leaves a broken DAG whose cursor is later, and the next deploy goes on from there.
 */
import type { DagDefinition } from '../../model/definition.js';
import type { Schedule } from '../../time/schedule/schedule.js';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { carryOutPending } from './carry-out-pending.js';
import { cursorAfter, readDag } from './dag-cursor.js';
import { decideGap } from './decide-gap.js';
import { madeOf } from './mark-broken.js';
import { readVersion } from './read-version.js';
import { settleAll, storePending } from './settle-schedule.js';

/** Whose dates were written down; null where no schedule could tell them. */
export type GapSource = 'current' | 'next' | null;

/**
 * Writes down every date of a broken schedule up to the database's now, by the DAG's current version where that tells dates, else by
 * the `next` one. Does nothing to a DAG that is not broken. Repeatable.
 */
export async function settleBroken(
  context: StoreContext,
  dagId: string,
  next?: DagDefinition,
): Promise<GapSource> {
  let source: GapSource = null;
  for (;;) {
    const reading = await readDag(context, dagId);
    if (reading === null) return source;
    const { dag, now } = reading;
    if (dag.state !== 'active' || dag.broken === null) return source;
    if (dag.pending !== null) {
      await settleAll(context, dagId, 'due');
      continue;
    }
    // Its schedule is over, or nobody knows.
    if (dag.nextFireAt === null) return source;
    const current = await readVersion(context, dag);
    const choices = [
      { source: 'current', schedule: typeof current === 'string' ? undefined : current.schedule },
      { source: 'next', schedule: next?.schedule },
    ] as const;
    const chosen = choices.find(({ schedule }) => tellsDates(dag, schedule));
    source = chosen?.source ?? null;
    if (dag.nextFireAt > now) return source;
    const made = await madeOf(context, dagId, [dag.nextFireAt]);
    const pending = decideGap(dag, chosen?.schedule, now, made.size > 0);
    const stored = await storePending(context, [{ dag, pending }], 'replace');
    const { failed } = await carryOutPending(context, stored);
    if (failed.has(dagId)) throw failed.get(dagId);
  }
}

function tellsDates(dag: DagDocument, schedule: Schedule | undefined): boolean {
  if (schedule === undefined || dag.nextFireAt === null) return false;
  try {
    cursorAfter(dag._id, schedule, dag.nextFireAt);
    return true;
  } catch {
    return false;
  }
}
