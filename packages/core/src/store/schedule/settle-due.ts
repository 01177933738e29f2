/**
 * What the leader does when something is due: settle it and admit what came of it, for all DAGs that are due together.
 *
 * Nothing is decided here: the cursor protocol is that of settle-schedule.ts, admission that of admit-dags.ts, each repairable
 * by itself. This file only lets them overlap: admission reads while the tasks are made, and goes before the cursors.
 */
import type { StoreContext } from '../context.js';
import { convertDriverError } from '../driver-errors.js';
import { admitDags } from '../operations/admit-dags.js';
import type { SettleDueParams, SettledDags } from '../verbs/dag-verbs.js';
import { readDueDags } from './find-due-dags.js';
import { settleRead } from './settle-schedule.js';

/** Beyond so many in one step the documents of a step would be many megabytes. */
const dagsAtOnce = 50;

/** See {@link DagVerbs.settleDue}. */
export async function settleDue(
  context: StoreContext,
  { limit, mayGoOn = () => true, onReady }: SettleDueParams,
): Promise<SettledDags> {
  const readings = await readDueDags(context, limit);
  const failed: SettledDags['failed'][number][] = [];
  const notAdmitted: unknown[] = [];
  let recorded = 0;
  let more = readings.length === limit;
  for (let from = 0; from < readings.length && mayGoOn(); from += dagsAtOnce) {
    const some = readings.slice(from, from + dagsAtOnce);
    const settled = await settleRead(context, some, 'due', async (begun) => {
      await admitDags(context, begun.dagIds, onReady, begun).catch((error: unknown) => {
        notAdmitted.push(convertDriverError(error));
      });
    });
    recorded += settled.recorded;
    if (settled.more) more = true;
    for (const [dagId, error] of settled.failed) {
      failed.push({ dagId, error: convertDriverError(error) });
    }
  }
  return { recorded, more, failed, notAdmitted };
}
