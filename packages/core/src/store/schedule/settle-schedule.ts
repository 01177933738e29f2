/**
 * The cursor protocol: every fire of a schedule becomes exactly one run or one line in `fires`, whoever dies when.
 *
 * Authority: the DAG's document. `(nextFireAt, scheduleRev)` names a place in the schedule; it never comes back, since the
 * cursor only grows under one revision and the revision only grows. `pending` is the decision made at that place. What is due
 * is the database's clock's to say. Any process may settle at any time; the leader merely does so regularly.
 *
 * States:
 *
 *   at rest (pending: null) --store the decision--> decided (pending: {...}) --carry it out, move--> at rest, cursor later
 *
 * 1. Store: one compare-and-set on (nextFireAt, scheduleRev, pending: null), guarded by "due" against `$$NOW`. What to do
 *    with a late fire depends on how late it is, so two processes, or one before and after a death, would decide
 *    differently. Storing the decision first makes it one decision. It may have been worked out before (foresee.ts), if the
 *    server's clock is then still within what was presumed.
 * 2. Carry out: the runs, each under its unique slot; then the lines, each under its unique (dagId, from). Everything is
 *    named by the decision, so doing it twice, or half and then whole, comes to the same.
 * 3. Move: one compare-and-set on (nextFireAt, scheduleRev, decidedAt) sets the next cursor and clears `pending`.
 *
 * Dying before 1: nothing happened. Between 1 and 3: whoever looks next finds `pending` and does 2 and 3 as it stands,
 * before anything new is decided. After 3: done. A process that was asleep in 2 repeats writes that are there already,
 * and its 3 matches nothing. Deploys, pauses and retirements ask for `pending: null` in their own compare-and-sets, so a
 * decision is never carried out under another revision than its own.
 *
 * What can never be carried out, and what is damaged, is replaced by a decision that marks the DAG broken: mark-broken.ts.
 */
import { NotFoundError } from '../../errors.js';
import type { StoreContext } from '../context.js';
import { isLasting } from '../driver-errors.js';
import type { SettleResult } from '../verbs/dag-verbs.js';
import { type Admit, type CarriedOut, carryOutEach, type Decided } from './carry-out-pending.js';
import { type DagReading, isDueExpression, isReachedExpression, readDags } from './dag-cursor.js';
import { damageOf } from './dag-damage.js';
import { decidePending } from './decide-pending.js';
import { giveUpPending, markBroken } from './mark-broken.js';
import type { SettleMode } from './pending-decision.js';
import { readVersion } from './read-version.js';
import { hasMore, isForDeciding } from './schedule-state.js';

/**
 * Finishes a stored decision as it stands, else decides one batch of what is due by the database's clock and carries it
 * out. Repeatable; losing to another process is no error: that one does the work. A schedule that cannot be evaluated is
 * marked broken and throws nothing. Throws NotFoundError for a DAG that was never deployed.
 */
export async function settleSchedule(context: StoreContext, dagId: string): Promise<SettleResult> {
  return settleOne(context, dagId, 'due');
}

/**
 * Settles batch after batch until nothing is left that `mode` covers. What a change of the schedule does before it changes
 * anything; the change's own compare-and-set then finds out whether something came due in between.
 */
export async function settleAll(
  context: StoreContext,
  dagId: string,
  mode: SettleMode,
): Promise<void> {
  while ((await settleOne(context, dagId, mode)).more);
}

async function settleOne(
  context: StoreContext,
  dagId: string,
  mode: SettleMode,
): Promise<SettleResult> {
  const readings = await readDags(context, [dagId]);
  if (readings.length === 0) throw new NotFoundError(`There is no DAG "${dagId}".`);
  const settled = await settleRead(context, readings, mode);
  if (settled.failed.has(dagId)) throw settled.failed.get(dagId);
  const { recorded, more } = settled;
  return { created: settled.created.get(dagId) ?? 0, recorded, more };
}

/** What became of DAGs that were settled together; `more`: of one of them more is due now. */
export interface SettledBatch extends CarriedOut {
  readonly more: boolean;
  /** DAGs that this call found unable to go on, and why: they are marked. */
  readonly broken: ReadonlyMap<string, string>;
}

/**
 * Settles DAGs as they were read, each step for all of them in one operation: DAGs that fire at one instant wait for each
 * other no longer than for the database. A DAG that fails is named and keeps none of the others from their turn; one that can
 * never go on is marked broken, which is no failure.
 */
export async function settleRead(
  context: StoreContext,
  readings: readonly DagReading[],
  mode: SettleMode,
  admit?: Admit,
): Promise<SettledBatch> {
  const broken = new Map<string, string>();
  const { sound, open: marked } = await markDamaged(context, readings, broken);
  const unfinished = sound.flatMap(({ dag }) =>
    dag.pending === null ? [] : [{ dag, pending: dag.pending }],
  );
  // Told from the documents by the clock of the reading; {@link storePending} repeats it on the server.
  const forDeciding = sound.filter(({ dag, now }) => isForDeciding(dag, now, mode));
  await context.versions.warm(forDeciding.map(({ dag }) => dag));
  const decided = await Promise.all(
    forDeciding.map(async ({ dag, now }) => ({
      dag,
      pending: decidePending(dag, await readVersion(context, dag), now, mode),
    })),
  );
  const stored = await storePending(context, decided, mode);
  const nowOf = new Map(readings.map(({ dag, now }) => [dag._id, now]));
  const isMore = ({ dag, pending }: Decided) => hasMore(pending, nowOf.get(dag._id)!, mode);
  // What came due now does not wait for what others left, which may be what cannot be carried out.
  const now = await carryOut(context, stored, isMore, admit);
  const left = await carryOut(context, [...marked, ...unfinished], isMore, admit);
  return {
    created: new Map([...now.created, ...left.created]),
    recorded: now.recorded + left.recorded,
    failed: new Map([...now.failed, ...left.failed]),
    broken: new Map([...broken, ...now.broken, ...left.broken]),
    more: now.more || left.more,
  };
}

/** Carries decisions out; one that never can be is replaced by one that marks its DAG broken, and that is carried out. */
async function carryOut(
  context: StoreContext,
  open: readonly Decided[],
  isMore: (one: Decided) => boolean,
  admit?: Admit,
): Promise<SettledBatch> {
  const { created, ...done } = await carryOutEach(context, open, admit);
  const failed = new Map(done.failed);
  const ended: Decided[] = [];
  let { recorded } = done;
  for (const one of open) {
    const error = failed.get(one.dag._id);
    if (error === undefined || !isLasting(error)) continue;
    failed.delete(one.dag._id);
    const reason = `a decision about its fires cannot be carried out: ${messageOf(error)}`;
    const left = await giveUpPending(context, one, reason);
    if (left !== null) ended.push(left);
  }
  if (ended.length > 0) {
    const last = await carryOutEach(context, ended);
    recorded += last.recorded;
    for (const [dagId, error] of last.failed) failed.set(dagId, error);
  }
  const through = [...open, ...ended].filter(({ dag }) => !failed.has(dag._id));
  const broken = new Map(
    through.flatMap(({ dag, pending }) =>
      pending.broken === null ? [] : [[dag._id, pending.broken] as const],
    ),
  );
  return {
    created,
    recorded,
    failed,
    broken,
    more: through.some((one) => !broken.has(one.dag._id) && isMore(one)),
  };
}

/** Settles what was decided before its instant; where that does not hold any more, it is left to who looks next. */
export async function settleForeseen(
  context: StoreContext,
  decided: readonly Decided[],
  untilAt: Date,
  admit: Admit,
): Promise<SettledBatch> {
  const open = await storePending(context, decided, 'due', untilAt);
  // What else is due only a look can tell.
  return { ...(await carryOut(context, open, () => false, admit)), more: true };
}

/** Takes damaged DAGs out of the way, and answers with the others, and with what is to be carried out of the damaged ones. */
async function markDamaged(
  context: StoreContext,
  readings: readonly DagReading[],
  broken: Map<string, string>,
): Promise<{ readonly sound: readonly DagReading[]; readonly open: readonly Decided[] }> {
  const sound: DagReading[] = [];
  const open: Decided[] = [];
  for (const reading of readings) {
    const { dag } = reading;
    const damage = damageOf(dag);
    // A retired or broken DAG decides nothing; what it was doing it may finish.
    const isIdle = (dag.state !== 'active' || dag.broken !== null) && dag.pending === null;
    if (damage === null || isIdle) {
      sound.push(reading);
      continue;
    }
    const left = await markBroken(context, reading, damage);
    if (left === 'marked') broken.set(dag._id, damage);
    else if (left !== null) open.push(left);
  }
  return { sound, open };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Step 1. Answers with what is to be carried out: where another process decided, or changed the DAG, since it was read, that
 * is the other's decision or nothing.
 */
export async function storePending(
  context: StoreContext,
  decided: readonly Decided[],
  mode: SettleMode,
  untilAt?: Date,
): Promise<readonly Decided[]> {
  if (decided.length === 0) return [];
  const { dags } = context.collections;
  const isTime = mode === 'replace' ? isReachedExpression : isDueExpression;
  const { matchedCount } = await dags.bulkWrite(
    decided.map(({ dag, pending }) => ({
      updateOne: {
        filter: {
          _id: dag._id,
          state: 'active',
          // A run decided after a deploy is a run of the new version.
          version: dag.version,
          nextFireAt: dag.nextFireAt,
          scheduleRev: dag.scheduleRev,
          pending: null,
          // What could not be decided is not decided twice: its line is written.
          broken: dag.broken,
          $expr: untilAt === undefined ? isTime : { $and: [isTime, { $lt: ['$$NOW', untilAt] }] },
        },
        update: { $set: { pending } },
      },
    })),
    { ordered: false },
  );
  if (matchedCount === decided.length) return decided;
  const seen = await readDags(
    context,
    decided.map(({ dag }) => dag._id),
  );
  return seen.flatMap(({ dag }) => (dag.pending === null ? [] : [{ dag, pending: dag.pending }]));
}
