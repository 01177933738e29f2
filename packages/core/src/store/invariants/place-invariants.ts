/** A DAG with its places and its cursor. */
import { isClosedRun } from '../../model/states.js';
import type { DagDocument, RunDocument } from '../collections.js';
import { openingOf, placeKey } from '../operations/place-key.js';
import type { KnownVersion } from '../version-cache.js';
import { type Audit, type Finding, type Inspection, type Invariant, show } from './inspection.js';

type Placed = Pick<
  RunDocument,
  '_id' | 'state' | 'cause' | 'version' | 'dueAt' | 'endedAt' | 'backfillId' | 'openEpoch'
>;

interface DagSubject {
  readonly dag: DagDocument;
  readonly version: KnownVersion | null;
  /** The runs behind `activeRunIds`; those that are gone are missing. */
  readonly holders: ReadonlyMap<string, Placed>;
  /** Running runs that have to hold a place. */
  readonly running: readonly Placed[];
  /** Queued runs whose time has come; a few. */
  readonly queued: readonly Placed[];
}

const fields = {
  state: 1,
  cause: 1,
  version: 1,
  dueAt: 1,
  endedAt: 1,
  backfillId: 1,
  openEpoch: 1,
} as const;
const queuedAtOnce = 100;

const placesMatchRuns: Invariant<DagSubject> = {
  name: 'places-match-runs',
  *check({ dag, holders, running }, audit) {
    const subject = `dag ${dag._id}`;
    yield* checkPlaces(subject, dag.activeRunIds, holders, audit);
    for (const run of running) {
      if (dag.activeRunIds.includes(placeKey(run))) continue;
      yield {
        subject: `${subject} run ${run._id}`,
        expected: 'a place, since it is running',
        found: `places of ${dag.activeRunIds.join(', ') || 'nobody'}`,
      };
    }
  },
};

/** No place twice, and each of a run that is open in that opening, or has only just closed. */
export function* checkPlaces(
  subject: string,
  activeRunIds: readonly string[],
  holders: ReadonlyMap<string, Pick<RunDocument, 'state' | 'endedAt' | 'openEpoch'>>,
  audit: Audit,
): Iterable<Finding> {
  const seen = new Set<string>();
  for (const key of activeRunIds) {
    const { _id, openEpoch } = openingOf(key);
    const run = holders.get(_id);
    const place = `${subject} place of ${key}`;
    const expected = 'an open run';
    if (seen.has(key)) yield { subject: place, expected: 'one place', found: 'two' };
    seen.add(key);
    if (run === undefined) {
      // Retention takes a run long after its place was given back.
      yield { subject: place, expected, found: 'no such run' };
    } else if (run.openEpoch !== openEpoch) {
      // It was closed before it was opened again; a live system gives the place back at its next look.
      if (!audit.atRest) continue;
      yield { subject: place, expected, found: `its opening ${run.openEpoch}` };
    } else if (isClosedRun(run.state) && audit.isSettled(run.endedAt)) {
      yield { subject: place, expected, found: `${run.state} at ${show(run.endedAt)}` };
    }
  }
}

const cursorKeepsUp: Invariant<DagSubject> = {
  name: 'cursor-keeps-up',
  *check({ dag, version }, audit) {
    const subject = `dag ${dag._id}`;
    if (dag.pending !== null && audit.isOverdue(dag.pending.decidedAt)) {
      const found = `one decided at ${show(dag.pending.decidedAt)}`;
      yield { subject, expected: 'no decision that waits', found };
    }
    if (dag.state === 'retired' && dag.nextFireAt !== null) {
      yield { subject, expected: 'no cursor, being retired', found: show(dag.nextFireAt) };
    }
    const isLive = dag.state === 'active' && dag.pausedAt === null && dag.broken === null;
    if (isLive && dag.nextFireAt !== null) {
      const dueAt = new Date(dag.nextFireAt.getTime() + dag.nextJitterMs);
      if (audit.isOverdue(dueAt)) {
        yield { subject, expected: 'a cursor after now', found: show(dueAt) };
      }
    }
    if (dag.state === 'active' && version === null) {
      yield { subject, expected: `version ${dag.version} in the database`, found: 'none' };
    }
  },
};

const nobodyWaits: Invariant<DagSubject> = {
  name: 'nothing-left-undone',
  *check({ dag, version, queued }, audit) {
    if (version === null) return;
    const { overlap, maxActiveRuns } = version.definition;
    for (const run of queued) {
      const isScheduled = run.cause === 'schedule' || run.cause === 'catch-up';
      // A pause holds up nobody's retry.
      const isHeld = dag.pausedAt !== null && isScheduled && run.openEpoch === 0;
      const takesNone = overlap === 'allow' && run.cause !== 'catch-up';
      const hasRoom = takesNone || dag.activeRunIds.length < maxActiveRuns;
      if (isHeld || !hasRoom || !audit.isOverdue(run.dueAt)) continue;
      yield {
        subject: `run ${run._id}`,
        expected: 'admitted, as there are places',
        found: `queued since ${show(run.dueAt)}`,
      };
    }
  },
};

export const dags: Inspection<DagSubject> = {
  async *read(audit) {
    const filter = audit.dagIds === null ? {} : { _id: { $in: [...audit.dagIds] } };
    const cursor = audit.context.collections.dags.find(filter).sort({ _id: 1 });
    for (let dag = await cursor.next(); dag !== null; dag = await cursor.next()) {
      audit.counts.dags += 1;
      yield await subjectOf(audit, dag);
    }
  },
  async again(audit, { dag }) {
    const now = await audit.context.collections.dags.findOne({ _id: dag._id });
    return now === null ? null : subjectOf(audit, now);
  },
  invariants: [placesMatchRuns, cursorKeepsUp, nobodyWaits],
};

async function subjectOf(audit: Audit, dag: DagDocument): Promise<DagSubject> {
  const { runs } = audit.context.collections;
  const version = await audit.context.versions.get(dag._id, dag.version);
  const held = await runs
    .find(
      { _id: { $in: dag.activeRunIds.map((key) => openingOf(key)._id) } },
      { projection: fields },
    )
    .toArray();
  const queued = !audit.atRest
    ? []
    : await runs
        .find(
          {
            dagId: dag._id,
            state: 'queued',
            dueAt: { $lte: audit.now },
            backfillId: null,
            materialized: true,
            refused: null,
            cancelRequestedAt: null,
          },
          { projection: fields },
        )
        .limit(queuedAtOnce)
        .toArray();
  return {
    dag,
    version,
    holders: new Map(held.map((run) => [run._id, run])),
    running: await runningWithPlace(audit, dag, version),
    queued,
  };
}

/**
 * A run was admitted under the rule of the version that was current then. Where its own version and the present one ask for a
 * place, it must have one; where either has `overlap: 'allow'`, nothing can be said.
 */
async function runningWithPlace(
  audit: Audit,
  dag: DagDocument,
  version: KnownVersion | null,
): Promise<Placed[]> {
  if (version === null) return [];
  const isAllowed = version.definition.overlap === 'allow';
  const found = await audit.context.collections.runs
    .find(
      {
        dagId: dag._id,
        state: 'running',
        backfillId: null,
        ...(isAllowed ? { cause: 'catch-up' } : {}),
      },
      { projection: fields },
    )
    .toArray();
  const placed: Placed[] = [];
  for (const run of found) {
    const own = await audit.context.versions.get(dag._id, run.version);
    const tookNone = own === null || own.definition.overlap === 'allow';
    if (!tookNone || run.cause === 'catch-up') placed.push(run);
  }
  return placed;
}
