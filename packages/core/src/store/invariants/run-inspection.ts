/** Runs with their tasks: the subject of most invariants. */
import type { RunDocument, TaskDocument } from '../collections.js';
import { tasksOf } from '../unmoving.js';
import type { KnownVersion } from '../version-cache.js';
import { attemptInvariants } from './attempt-invariants.js';
import { dependenciesFirst } from './dependency-invariants.js';
import type { Audit, Inspection } from './inspection.js';
import { nothingLeftUndone } from './rest-invariants.js';
import { runInvariants } from './run-invariants.js';
import type { RunSubject } from './run-subject.js';

const runsAtOnce = 100;
/** A graph of ten thousand jobs is read alone. */
const tasksAtOnce = 2_000;

export const runs: Inspection<RunSubject> = {
  async *read(audit) {
    const cursor = audit.context.collections.runs
      .find(audit.ofDags, { projection: { params: 0 } })
      .sort({ _id: 1 })
      .batchSize(runsAtOnce);
    let batch: RunDocument[] = [];
    let expected = 0;
    for (let run = await cursor.next(); run !== null; run = await cursor.next()) {
      batch.push(run);
      expected += (await versionOf(audit, run))?.definition.jobs.length ?? 1;
      if (batch.length < runsAtOnce && expected < tasksAtOnce) continue;
      yield* await subjectsOf(audit, batch);
      batch = [];
      expected = 0;
    }
    yield* await subjectsOf(audit, batch);
  },
  async again(audit, { run }) {
    const { collections } = audit.context;
    const now = await collections.runs.findOne({ _id: run._id }, { projection: { params: 0 } });
    if (now === null) return null;
    return (await subjectsOf(audit, [now], false))[0] ?? null;
  },
  invariants: [...runInvariants, ...attemptInvariants, dependenciesFirst, nothingLeftUndone],
};

async function versionOf(audit: Audit, run: RunDocument): Promise<KnownVersion | null> {
  return audit.context.versions.get(run.dagId, run.version);
}

/** The runs are read before their tasks, and what a run says is never ahead of its tasks. */
async function subjectsOf(
  audit: Audit,
  batch: readonly RunDocument[],
  isCounted = true,
): Promise<RunSubject[]> {
  if (batch.length === 0) return [];
  const { tasks, slots } = audit.context.collections;
  const slotIds = batch.map((run) => `${run.dagId}/${run.slot}`);
  const remembered = await slots.find({ _id: { $in: slotIds } }).toArray();
  const bySlot = new Map(remembered.map((slot) => [slot._id, slot]));
  const [first] = batch;
  // What is wrong is read again alone, and then surely whole.
  const which =
    batch.length === 1 ? tasksOf(first!._id) : { runId: { $in: batch.map((run) => run._id) } };
  const found = await tasks.find(which, { projection: { result: 0 } }).toArray();
  const byRun = new Map<string, Map<string, TaskDocument>>(
    batch.map((run) => [run._id, new Map()]),
  );
  for (const task of found) byRun.get(task.runId)?.set(task.jobId, task);
  if (isCounted) {
    audit.counts.runs += batch.length;
    audit.counts.tasks += found.length;
    audit.counts.attempts += found.reduce((sum, task) => sum + task.attempts.length, 0);
  }
  return Promise.all(
    batch.map(async (run) => ({
      run,
      tasks: byRun.get(run._id)!,
      version: await versionOf(audit, run),
      slot: bySlot.get(`${run.dagId}/${run.slot}`) ?? null,
    })),
  );
}
