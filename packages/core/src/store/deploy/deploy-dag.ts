/**
 * Deploying one DAG.
 *
 * Authority: the DAG's document; `version` in it is the current one. Versions are immutable and named by their content, so
 * storing one twice is storing it once.
 *
 * Order:
 * 1. The version is stored. Nothing points to it yet; dying here leaves a version that nobody uses.
 * 2. Where schedule or policy changes, what the old one owes is settled, by the old one (settle-schedule.ts, each batch with its
 *    own stored decision). Dying here leaves the old DAG, settled up to now, as any leader would have. Of a schedule that is broken
 *    the dates since then are written down instead (settle-broken.ts).
 * 3. One write makes the version current. It names the version, revision and cursor that were read, asks for
 *    `pending: null`, and asks the server that nothing of the old schedule is due: so every fire of the old schedule before
 *    this write is settled under the old one, and the new cursor lies after it.
 *
 * Five shells that deploy the same code at once: one insert or one compare-and-set wins, the others read again and find
 * nothing to change.
 */
import { OptionError } from '../../errors.js';
import { isId } from '../../model/ids.js';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { isDuplicateKey } from '../driver-errors.js';
import {
  type CursorFields,
  cursorAfter,
  isDueExpression,
  isReachedExpression,
  readDag,
} from '../schedule/dag-cursor.js';
import { busy, maxTries } from '../schedule/lost-races.js';
import { readVersion } from '../schedule/read-version.js';
import { afterReplace, modeBeforeReplace } from '../schedule/schedule-state.js';
import { settleBroken } from '../schedule/settle-broken.js';
import { settleAll } from '../schedule/settle-schedule.js';
import type { DeployParams, DeployResult } from '../verbs/dag-verbs.js';
import { encodeDefinition, versionKey } from '../version-cache.js';
import { changeOf, hasSameSchedule, hasSameScheduling } from './dag-change.js';

/**
 * Stores the version and makes it current; see the file's head for the order. An unchanged DAG is not written at all; an
 * unchanged schedule keeps its cursor; a first deploy, and one that brings a retired or broken DAG back, starts at the
 * database's now; what the broken one let pass goes to `fires`. Idempotent. Throws ConflictError when another project owns the id, OptionError for a schedule that cannot
 * be evaluated here.
 */
export async function deployDag(
  context: StoreContext,
  params: DeployParams,
): Promise<DeployResult> {
  const dagId = params.definition.id;
  if (!isId(dagId)) {
    throw new OptionError('id', 'lower-case letters, digits and hyphens, at most 100', dagId);
  }
  for (let tries = 0; tries < maxTries; tries += 1) {
    const dag = (await readDag(context, dagId))?.dag ?? null;
    const change = changeOf(dag, params);
    if (change !== 'unchanged') {
      await storeVersion(context, params);
      if (!(await makeCurrent(context, params, dag))) continue;
    }
    return {
      change,
      previousVersion: dag?.version ?? null,
      openRuns: await countOpenRuns(context, dagId),
    };
  }
  throw busy(dagId, 'deployed');
}

/** What {@link deployDag} would answer now. Writes nothing. Throws ConflictError likewise. */
export async function planDeploy(
  context: StoreContext,
  params: DeployParams,
): Promise<DeployResult> {
  const dagId = params.definition.id;
  const dag = await context.collections.dags.findOne({ _id: dagId });
  return {
    change: changeOf(dag, params),
    previousVersion: dag?.version ?? null,
    openRuns: await countOpenRuns(context, dagId),
  };
}

async function storeVersion(context: StoreContext, params: DeployParams): Promise<void> {
  const dagId = params.definition.id;
  const { version } = params;
  try {
    await context.collections.dagVersions.insertOne({
      _id: versionKey(dagId, params.version),
      dagId,
      version: params.version,
      definition: await encodeDefinition(params.definition),
      createdAt: await context.clock.read(),
    });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    // There already: equal by its hash. Unless it was damaged since.
    if (typeof (await readVersion(context, { _id: dagId, version })) !== 'string') return;
    await context.collections.dagVersions.updateOne(
      { _id: versionKey(dagId, version) },
      { $set: { definition: await encodeDefinition(params.definition) } },
    );
  }
}

/** Step 3, after step 2 where it is needed. False: another process was faster; look again. */
async function makeCurrent(
  context: StoreContext,
  params: DeployParams,
  dag: DagDocument | null,
): Promise<boolean> {
  if (dag === null) return insertDag(context, params);
  if (dag.state === 'retired') return reviveDag(context, params, dag);
  if (dag.broken !== null) return mendDag(context, params, dag);
  const old = await readVersion(context, dag);
  if (typeof old !== 'string' && hasSameScheduling(old, params.definition)) {
    return replaceVersion(context, params, dag);
  }
  const keepsCursor = typeof old !== 'string' && hasSameSchedule(old, params.definition);
  return replaceSchedule(context, params, dag, keepsCursor);
}

async function insertDag(context: StoreContext, params: DeployParams): Promise<boolean> {
  const { definition, project, version } = params;
  const now = await context.clock.read();
  try {
    await context.collections.dags.insertOne({
      _id: definition.id,
      project,
      version,
      state: 'active',
      ...startAfter(definition.id, params, now),
      scheduleRev: 1,
      pending: null,
      carry: null,
      pausedAt: null,
      pausedSpans: [],
      broken: null,
      activeRunIds: [],
      deployedAt: now,
      retiredAt: null,
    });
    return true;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return false;
  }
}

/** A DAG that was retired: it goes on at the present and owes nothing for the gap. */
async function reviveDag(
  context: StoreContext,
  params: DeployParams,
  dag: DagDocument,
): Promise<boolean> {
  const now = await context.clock.read();
  const cursor = startAfter(dag._id, params, now);
  return compareAndSet(context, params, dag, { state: dag.state, broken: dag.broken }, cursor);
}

/** A DAG that could not fire: it goes on at the present, and the dates of the gap are written down. */
async function mendDag(
  context: StoreContext,
  params: DeployParams,
  before: DagDocument,
): Promise<boolean> {
  const dagId = before._id;
  const { definition } = params;
  const source = await settleBroken(context, dagId, definition);
  const reading = await readDag(context, dagId);
  if (reading === null || reading.dag.state !== 'active' || reading.dag.broken === null)
    return false;
  const { dag, now } = reading;
  const old = await readVersion(context, dag);
  const isSame = typeof old !== 'string' && hasSameSchedule(old, definition);
  const { scheduledFrom: _, ...cursor } = startAfter(dagId, params, now);
  // Where the dates of the gap are its own, the schedule answers for them; and for what was before, where it was in force then.
  const answersFrom = source === 'next' ? earlier(before.nextFireAt, now) : now;
  const since = source === 'current' && isSame ? {} : { scheduledFrom: answersFrom };
  const guard = {
    state: 'active',
    broken: dag.broken,
    $expr: { $not: [isReachedExpression] },
  } as const;
  return compareAndSet(context, params, dag, guard, { ...cursor, ...since });
}

function earlier(one: Date | null, other: Date): Date {
  return one !== null && one < other ? one : other;
}

/** Only the code changes: cursor, revision and pause stay as they are, to the byte. */
async function replaceVersion(
  context: StoreContext,
  params: DeployParams,
  dag: DagDocument,
): Promise<boolean> {
  // Its runs belong to the version that was current when it was decided.
  if (dag.pending !== null) await settleAll(context, dag._id, 'due');
  const { matchedCount } = await context.collections.dags.updateOne(
    {
      _id: dag._id,
      state: 'active',
      version: dag.version,
      scheduleRev: dag.scheduleRev,
      pending: null,
    },
    [{ $set: { version: { $literal: params.version }, deployedAt: '$$NOW' } }],
  );
  return matchedCount === 1;
}

/** Schedule or policy change. With `keepsCursor` the instants stay the same, so what a pause holds back is left to its resume. */
async function replaceSchedule(
  context: StoreContext,
  params: DeployParams,
  before: DagDocument,
  keepsCursor: boolean,
): Promise<boolean> {
  const dagId = params.definition.id;
  await settleAll(context, dagId, modeBeforeReplace(before, keepsCursor));
  const reading = await readDag(context, dagId);
  // Whatever else happened to it meanwhile is looked at from the start.
  if (reading === null || changeOf(reading.dag, params) !== 'changed') return false;
  const { dag, now } = reading;
  const cursor = keepsCursor ? dag : startAfter(dagId, params, now);
  // A pause holds back what it holds back: then nothing need be settled for the instants that stay.
  const isOwed = keepsCursor
    ? { $and: [isDueExpression, { $eq: ['$pausedAt', null] }] }
    : isReachedExpression;
  const guard = { state: 'active', broken: null, $expr: { $not: [isOwed] } } as const;
  return compareAndSet(context, params, dag, guard, cursor);
}

/** Where a schedule stands, and since when it owes its fires. */
type ScheduleStart = CursorFields & Pick<DagDocument, 'scheduledFrom'>;

function startAfter(dagId: string, params: DeployParams, now: Date): ScheduleStart {
  return { ...cursorAfter(dagId, params.definition.schedule, now), scheduledFrom: now };
}

/** The write that gives a DAG a new revision. */
async function compareAndSet(
  context: StoreContext,
  params: DeployParams,
  dag: DagDocument,
  guard: { readonly state: DagDocument['state']; readonly broken: string | null },
  cursor: ScheduleStart,
): Promise<boolean> {
  const { matchedCount } = await context.collections.dags.updateOne(
    {
      _id: dag._id,
      version: dag.version,
      nextFireAt: dag.nextFireAt,
      scheduleRev: dag.scheduleRev,
      pending: null,
      // A settlement over several batches is not cut short.
      carry: null,
      ...guard,
    },
    [
      {
        $set: {
          project: { $literal: params.project },
          version: { $literal: params.version },
          ...afterReplace(dag, cursor),
          ...(cursor.scheduledFrom === undefined ? {} : { scheduledFrom: cursor.scheduledFrom }),
          deployedAt: '$$NOW',
          retiredAt: null,
        },
      },
    ],
  );
  return matchedCount === 1;
}

async function countOpenRuns(context: StoreContext, dagId: string): Promise<number> {
  return context.collections.runs.countDocuments({
    dagId,
    state: { $in: ['queued', 'running'] },
  });
}
