/**
 * Making a run. Authority: the unique index on (DAG, slot), and `slots`, which remembers slots whose runs are gone.
 *
 * States: nothing -> run with `materialized: false` -> its tasks, all `blocked` -> `materialized: true`. Only then can it
 * be admitted. Dying
 *   before the run is there: nothing happened;
 *   between run and mark: whoever asks for the slot again completes it, and so does the leader after five seconds
 *   (finish-half-made-runs.ts); task ids follow from the run's and the jobs', so what is there already is ignored;
 *   between the tasks and a mark that waits for the run's admission: the same, or the admission has set the mark itself;
 *   after the mark: the run waits for admission.
 */
import type { AnyBulkWriteOperation } from 'mongodb';
import { ConflictError } from '../../errors.js';
import { uniqueSlot } from '../../model/ids.js';
import type { RunDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { duplicatesOf } from '../driver-errors.js';
import { expectedOfRun } from '../expectations/expected-of-run.js';
import { toPayload } from '../payload/payload.js';
import { literal, NOW } from '../task-transitions.js';
import type { CreateRunParams, CreateRunResult } from '../verbs/run-verbs.js';
import type { KnownVersion } from '../version-cache.js';
import { currentVersion, knownVersion } from './known-version.js';
import { insertTasks, markMaterialized, materializeRuns } from './materialize-runs.js';

/** Backfill runs stand behind all live work; a job's own priority is from -100 to 100. */
export const backfillPriority = -1_000;

/** What became of one of several runs; an error concerns this run alone. */
export type CreateOutcome = CreateRunResult | { readonly error: unknown };

export async function createRun(
  context: StoreContext,
  params: CreateRunParams,
): Promise<CreateRunResult> {
  const [outcome] = await createRuns(context, [params]);
  if ('error' in outcome!) throw outcome.error;
  return outcome!;
}

/** Runs that were inserted, while their tasks are still being made. */
export interface BegunRuns {
  readonly runIds: ReadonlySet<string>;
  readonly dagIds: readonly string[];
  /** Resolves when all their tasks are there; rejects when that fails. */
  readonly whole: Promise<void>;
  /** Then marks them as materialized, once. */
  mark(): Promise<void>;
  /** Says that these have the mark: it was set together with something else. */
  marked(runIds: readonly string[]): void;
}

/**
 * Makes several runs in as many operations as one takes. The outcomes are in the order of `wanted`, and so are the ids of
 * the runs. Throws when the database fails; what was written then stands, and the same call again completes it.
 * `onBegun` is for whoever admits them at once: it is called when the tasks are about to be made, and the mark waits for it.
 */
export async function createRuns(
  context: StoreContext,
  wanted: readonly CreateRunParams[],
  onBegun: (begun: BegunRuns) => Promise<void> = async () => {},
): Promise<CreateOutcome[]> {
  const used = await usedSlots(context, wanted);
  const outcomes = await Promise.all(
    wanted.map(async (params): Promise<CreateOutcome | Draft> => {
      const runId = used.get(slotKey(params.dagId, params.slot ?? ''));
      // The run of a used slot may be pruned, or refused by an overlap rule: the slot stays used.
      if (runId !== undefined) return { runId, created: false };
      const id = context.newId();
      return draftOf(context, params, id).catch((error: unknown) => ({ error }));
    }),
  );
  const drafts = outcomes.filter((one): one is Draft => 'run' in one);
  const taken = await insertRuns(context, drafts);
  const begun = drafts.filter((draft) => !taken.has(draft));
  if (begun.length > 0) await makeTasks(context, begun, onBegun);
  return Promise.all(
    outcomes.map(async (one) => {
      if (!('run' in one)) return one;
      if (!taken.has(one)) return { runId: one.run._id, created: true };
      return takenSlot(context, one.run.dagId, one.run.slot).catch((error: unknown) => ({ error }));
    }),
  );
}

async function makeTasks(
  context: StoreContext,
  begun: readonly Draft[],
  onBegun: (begun: BegunRuns) => Promise<void>,
): Promise<void> {
  const runIds = begun.map(({ run }) => run._id);
  const whole = insertTasks(
    context,
    begun.map(({ run, version }) => ({ run, version })),
  );
  let marking: Promise<void> | undefined;
  const open = new Set(runIds);
  const mark = () => {
    marking ??= open.size === 0 ? Promise.resolve() : markMaterialized(context, [...open]);
    return marking;
  };
  const marked = (ids: readonly string[]) => {
    for (const id of ids) open.delete(id);
  };
  const dagIds = [...new Set(begun.map(({ run }) => run.dagId))];
  await Promise.all([whole, onBegun({ runIds: new Set(runIds), dagIds, whole, mark, marked })]);
  await mark();
}

/** A run that is to be inserted. */
interface Draft {
  readonly run: Omit<RunDocument, 'createdAt' | 'dueAt' | 'notBefore'>;
  /** When it may start, and what is expected of it, as expressions of the database. */
  readonly notBefore: unknown;
  readonly expects: unknown;
  readonly version: KnownVersion;
}

function slotKey(dagId: string, slot: string): string {
  return `${dagId}/${slot}`;
}

/** The runs of those slots that were used up before. */
async function usedSlots(
  context: StoreContext,
  wanted: readonly CreateRunParams[],
): Promise<Map<string, string>> {
  const keys = wanted.flatMap(({ dagId, slot }) =>
    slot === undefined ? [] : [slotKey(dagId, slot)],
  );
  if (keys.length === 0) return new Map();
  const found = await context.collections.slots
    .find({ _id: { $in: keys } }, { projection: { runId: 1 } })
    .toArray();
  return new Map(found.map((slot) => [slot._id, slot.runId]));
}

async function draftOf(
  context: StoreContext,
  params: CreateRunParams,
  runId: string,
): Promise<Draft> {
  const payload = toPayload(params.params, 'params', context.payloadLimitBytes);
  const version = params.version ?? (await currentVersion(context, params.dagId));
  const known = await knownVersion(context, params.dagId, version);
  return {
    run: {
      _id: runId,
      dagId: params.dagId,
      version,
      slot: params.slot ?? uniqueSlot(runId),
      state: 'queued',
      cause: params.cause,
      logicalDate: params.logicalDate ?? null,
      dataInterval: params.dataInterval ?? null,
      generation: params.generation ?? 0,
      coalesced: params.coalesced ?? 1,
      backfillId: params.backfillId ?? null,
      params: payload,
      priority: params.backfillId === undefined ? 0 : backfillPriority,
      materialized: false,
      started: false,
      refused: null,
      startedAt: null,
      endedAt: null,
      cancelRequestedAt: null,
      cancelling: false,
      reason: params.reason ?? null,
      openEpoch: 0,
      expireAt: null,
      ...(params.part === undefined ? {} : { part: params.part }),
    },
    expects: expectedOfRun(known.definition, params.cause, params.expectFrom),
    notBefore: startOf(params),
    version: known,
  };
}

/** Inserts the runs; answers with those whose slots others have. */
async function insertRuns(context: StoreContext, drafts: readonly Draft[]): Promise<Set<Draft>> {
  if (drafts.length === 0) return new Set();
  // New ids, so that the upserts always insert; as pipelines they take the instants from the database.
  const inserts = drafts.map(({ run: { _id, ...run }, notBefore, expects }) => ({
    updateOne: {
      filter: { _id },
      update: [
        { $set: { notBefore, createdAt: NOW } },
        // A start in the past puts nobody before those who came first; a null counts for nothing here.
        { $set: { dueAt: { $max: ['$notBefore', NOW] } } },
        ...(expects === null ? [] : [{ $set: { expects } }]),
        { $replaceWith: { $mergeObjects: ['$$ROOT', literal(run)] } },
      ],
      upsert: true,
    },
  }));
  try {
    await context.collections.runs.bulkWrite(
      inserts as unknown as AnyBulkWriteOperation<RunDocument>[],
      { ordered: false },
    );
    return new Set();
  } catch (error) {
    return new Set(duplicatesOf(error).map((index) => drafts[index]!));
  }
}

/** When the run may start, as an expression of the database. */
function startOf(params: CreateRunParams): unknown {
  if (params.delayMs !== undefined && params.delayMs > 0) {
    return { $add: [NOW, Math.round(params.delayMs)] };
  }
  return params.notBefore === undefined ? null : literal(params.notBefore);
}

/** Another call has the slot: complete its run if it died, and answer with it. */
async function takenSlot(
  context: StoreContext,
  dagId: string,
  slot: string,
): Promise<CreateRunResult> {
  const { runs, slots } = context.collections;
  const run = await runs.findOne({ dagId, slot });
  if (run !== null) {
    if (!run.materialized) {
      const version = await knownVersion(context, dagId, run.version);
      await materializeRuns(context, [{ run, version }]);
    }
    return { runId: run._id, created: false };
  }
  // It was turned into a line of `fires` in between; its slot says so.
  const used = await slots.findOne({ _id: slotKey(dagId, slot) });
  if (used !== null) return { runId: used.runId, created: false };
  throw new ConflictError(`The slot ${slot} of ${dagId} was taken and given up at once.`, {
    retryable: true,
  });
}
