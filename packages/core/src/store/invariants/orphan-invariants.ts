/** Tasks whose run is gone: nobody would ever look at them again. */
import type { Audit, Inspection, Invariant } from './inspection.js';

interface Orphan {
  readonly taskId: string;
  readonly runId: string;
}

const noOrphanTask: Invariant<Orphan> = {
  name: 'no-orphan-task',
  *check({ taskId, runId }) {
    yield { subject: `task ${taskId}`, expected: `its run ${runId}`, found: 'no such run' };
  },
};

const runsAtOnce = 500;

export const orphans: Inspection<Orphan> = {
  async *read(audit) {
    const cursor = audit.context.collections.tasks
      .find(audit.ofDags, { projection: { runId: 1, expireAt: 1 } })
      .sort({ runId: 1, state: 1 })
      .allowDiskUse()
      .batchSize(10_000);
    let batch = new Map<string, string>();
    for (let task = await cursor.next(); task !== null; task = await cursor.next()) {
      // Retention may take a run before the last of its tasks.
      if (task.expireAt !== null && task.expireAt <= audit.now) continue;
      batch.set(task.runId, task._id);
      if (batch.size <= runsAtOnce) continue;
      yield* await withoutRun(audit, batch);
      batch = new Map();
    }
    yield* await withoutRun(audit, batch);
  },
  async again(audit, orphan) {
    const { runs, tasks } = audit.context.collections;
    const task = await tasks.findOne({ _id: orphan.taskId }, { projection: { _id: 1 } });
    const run = await runs.findOne({ _id: orphan.runId }, { projection: { _id: 1 } });
    return task === null || run !== null ? null : orphan;
  },
  invariants: [noOrphanTask],
};

/** Runs are made before their tasks, so a run that is not found now was there before. */
async function withoutRun(audit: Audit, batch: ReadonlyMap<string, string>): Promise<Orphan[]> {
  const found = await audit.context.collections.runs
    .find({ _id: { $in: [...batch.keys()] } }, { projection: { _id: 1 } })
    .toArray();
  const there = new Set(found.map((run) => run._id));
  const gone = [...batch].filter(([runId]) => !there.has(runId));
  return gone.map(([runId, taskId]) => ({ taskId, runId }));
}
