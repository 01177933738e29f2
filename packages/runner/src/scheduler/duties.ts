/**
 * What the leader does, in the order in which it does it. Every duty is repeatable and guarded by itself.
 *
 * The rescue waits for no list of others: it is one question that is nearly always answered with nothing, and what it finds has
 * stood still for a lease already. So it is asked when its time has come, between any two duties.
 */
import { type FreshTask, portionsOf, type Store } from '@flowline/core/internal';
import type { RunnerEmitter } from '../events.js';
import type { RunnerSettings } from '../options.js';
import type { Announcer } from './announcer.js';

export interface DutyEnvironment {
  readonly store: Store;
  readonly settings: RunnerSettings;
  readonly events: RunnerEmitter;
  /** Asked before each further step of a duty: a deposed leader stops in the middle. */
  readonly isLeading: () => boolean;
  /** Tells the hooks about expectations that were not met. */
  readonly announcer: Announcer;
  /** Something failed for one DAG (`subject`) or for a few; the others are not kept waiting by it. */
  readonly fail: (what: string, subject: string, error: unknown) => void;
  /** Where duties go on that do not reach everything in one tick. */
  readonly rounds: Rounds;
  /** Work was made ready. */
  readonly onReady: (tasks?: readonly FreshTask[]) => void;
}

/** Kept from tick to tick. A new leader begins anew: a position is no more than a turn's worth. */
export interface Rounds {
  /** The DAG whose queued runs were looked at last; undefined: begin with the first one. */
  admission: string | undefined;
}

export interface Duty {
  readonly name: string;
  /** At most this often; 0 means at every tick. */
  readonly everyMs: number;
  /** Returns true when there is more to do at once. */
  run(env: DutyEnvironment): Promise<boolean>;
}

/** Comes before each of the others, when its time is over. */
export const rescue: Duty = {
  name: 'rescue expired leases',
  everyMs: 1_000,
  run: rescueExpiredLeases,
};

const dagsPerTick = 200;
/** What one step takes on: a deposed leader stops between them. */
const dagsAtOnce = 50;

/** Comes first, and again when a fire comes due between two others: lateness of fires is what people see. */
export const settleDue: Duty = {
  name: 'settle due schedules',
  everyMs: 0,
  run: settleDueSchedules,
};

export const duties: readonly Duty[] = [
  settleDue,
  { name: 'admit queued runs', everyMs: 1_000, run: admitQueuedRuns },
  {
    name: 'pay propagation',
    everyMs: 2_000,
    run: (env) => woken(env, env.store.payPropagation(2_000)),
  },
  {
    name: 'finish half-made runs',
    everyMs: 5_000,
    run: (env) => woken(env, env.store.finishHalfMadeRuns(5_000)),
  },
  { name: 'repair places', everyMs: 2_000, run: (env) => woken(env, env.store.repairPlaces()) },
  {
    name: 'continue cancellations',
    everyMs: 2_000,
    run: (env) => woken(env, env.store.continueCancels()),
  },
  {
    name: 'finish retries',
    everyMs: 5_000,
    run: (env) => woken(env, env.store.finishRetries()),
  },
  { name: 'feed backfills', everyMs: 1_000, run: (env) => woken(env, env.store.feedBackfills()) },
  { name: 'watch expectations', everyMs: 1_000, run: watchExpectations },
  { name: 'mark damaged schedules', everyMs: 10_000, run: markDamagedDags },
];

async function settleDueSchedules(env: DutyEnvironment): Promise<boolean> {
  const { more, failed, broken, notAdmitted } = await env.store.settleDue({
    limit: dagsPerTick,
    mayGoOn: env.isLeading,
    onReady: env.onReady,
  });
  // Those that could be settled have been; these are tried again at the next tick.
  for (const { dagId, error } of failed) env.fail('settle a due schedule', dagId, error);
  for (const error of notAdmitted) env.fail('admit runs that came due', '', error);
  tellBroken(env, broken);
  return more;
}

async function markDamagedDags(env: DutyEnvironment): Promise<boolean> {
  tellBroken(env, await env.store.settleDamaged(dagsPerTick));
  return false;
}

/** Once: the mark keeps them from being found again. */
function tellBroken(
  { settings }: DutyEnvironment,
  broken: readonly { readonly dagId: string; readonly reason: string }[],
): void {
  for (const { dagId, reason } of broken) {
    const message = `the schedule of ${dagId} is broken until it is deployed again: ${reason}`;
    settings.log('warn', message, { dagId, reason });
  }
}

async function admitQueuedRuns(env: DutyEnvironment): Promise<boolean> {
  const { store, rounds } = env;
  const dagIds = await store.findDagsWithQueuedRuns(dagsPerTick, rounds.admission);
  for (const portion of portionsOf(dagIds, dagsAtOnce)) {
    if (!env.isLeading()) return false;
    await store.admitDags(portion, env.onReady).catch((error: unknown) => {
      env.fail('admit queued runs', '', error);
    });
    rounds.admission = portion.at(-1);
  }
  // These were all: no place to go on from.
  if (dagIds.length < dagsPerTick) rounds.admission = undefined;
  return false;
}

async function rescueExpiredLeases(env: DutyEnvironment): Promise<boolean> {
  const rescued = await env.store.rescueExpired(env.settings.leaseMs);
  for (const task of rescued) {
    env.settings.log(
      'warn',
      `${task.taskId}: its runner ${task.runnerId} let the lease lapse; now ${task.state}`,
    );
    env.events.emit('rescued', task.taskId);
  }
  if (rescued.length > 0) env.onReady();
  return false;
}

const expectationsAtOnce = 100;

async function watchExpectations(env: DutyEnvironment): Promise<boolean> {
  const { more } = await env.store.noticeMissed(expectationsAtOnce);
  env.announcer.tell(await env.store.listUnannounced(expectationsAtOnce));
  return more;
}

async function woken(env: DutyEnvironment, changes: Promise<number>): Promise<boolean> {
  if ((await changes) > 0) env.onReady();
  return false;
}
