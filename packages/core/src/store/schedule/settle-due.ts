/**
 * What the leader does when something is due: settle it and admit what came of it, for all DAGs that are due together.
 *
 * Nothing is decided here: the cursor protocol is that of settle-schedule.ts, admission that of admit-dags.ts, each repairable
 * by itself. This file only lets them overlap: admission reads while the tasks are made, and goes before the cursors. What was
 * decided before its instant (foresee.ts) is settled first, and what else is due by the next call.
 */
import type { StoreContext } from '../context.js';
import { convertDriverError } from '../driver-errors.js';
import { admitDags } from '../operations/admit-dags.js';
import { portionsOf } from '../portions.js';
import type { SettleDueParams, SettledDags } from '../verbs/dag-verbs.js';
import type { Admit } from './carry-out-pending.js';
import { readDamagedDags, readDueDags } from './find-due-dags.js';
import { takeForeseen } from './foresee.js';
import { type SettledBatch, settleForeseen, settleRead } from './settle-schedule.js';

/** Beyond so many in one step the documents of a step would be many megabytes. */
const dagsAtOnce = 50;

/** See {@link DagVerbs.settleDue}. */
export async function settleDue(
  context: StoreContext,
  { limit, mayGoOn = () => true, onReady }: SettleDueParams,
): Promise<SettledDags> {
  const failed: SettledDags['failed'][number][] = [];
  const broken: SettledDags['broken'][number][] = [];
  const notAdmitted: unknown[] = [];
  let recorded = 0;
  const admit: Admit = async (begun) => {
    await admitDags(context, begun.dagIds, onReady, begun).catch((error: unknown) => {
      notAdmitted.push(convertDriverError(error));
    });
  };
  const count = (settled: SettledBatch) => {
    recorded += settled.recorded;
    if (settled.more) more = true;
    failed.push(...failuresOf(settled));
    broken.push(...markedOf(settled));
  };
  let more = false;
  const foreseen = takeForeseen(context);
  if (foreseen !== null) {
    for (const some of portionsOf(foreseen.decided, dagsAtOnce)) {
      if (mayGoOn()) count(await settleForeseen(context, some, foreseen.untilAt, admit));
    }
  } else {
    const readings = await readDueDags(context, limit);
    more = readings.length === limit;
    for (const some of portionsOf(readings, dagsAtOnce)) {
      if (mayGoOn()) count(await settleRead(context, some, 'due', admit));
    }
  }
  return { recorded, more, failed, broken, notAdmitted };
}

/** See {@link DagVerbs.settleDamaged}. */
export async function settleDamaged(
  context: StoreContext,
  limit: number,
): Promise<SettledDags['broken']> {
  const readings = await readDamagedDags(context, limit);
  return readings.length === 0 ? [] : markedOf(await settleRead(context, readings, 'due'));
}

function failuresOf({ failed }: SettledBatch): SettledDags['failed'] {
  return [...failed].map(([dagId, error]) => ({ dagId, error: convertDriverError(error) }));
}

function markedOf({ broken }: SettledBatch): SettledDags['broken'] {
  return [...broken].map(([dagId, reason]) => ({ dagId, reason }));
}
