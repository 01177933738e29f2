import { NotFoundError } from '../../errors.js';
import { taskId } from '../../model/ids.js';
import type { StoreContext } from '../context.js';
import { fromPayload } from '../payload/payload.js';

const idsPerQuery = 1_000;

/** What a job gets: see TaskVerbs. Throws NotFoundError when the run is gone. */
export async function readInputs(
  context: StoreContext,
  runId: string,
  dependsOn: readonly string[],
): Promise<{ readonly params: unknown; readonly results: unknown[] }> {
  const { runs, tasks } = context.collections;
  const run = await runs.findOne({ _id: runId }, { projection: { params: 1 } });
  if (run === null) throw new NotFoundError(`There is no run ${runId}.`);
  const results = new Map<string, unknown>();
  for (let from = 0; from < dependsOn.length; from += idsPerQuery) {
    const ids = dependsOn.slice(from, from + idsPerQuery).map((jobId) => taskId(runId, jobId));
    const found = await tasks
      .find({ _id: { $in: ids } }, { projection: { jobId: 1, result: 1 } })
      .toArray();
    for (const task of found) results.set(task.jobId, fromPayload(task.result));
  }
  return {
    params: fromPayload(run.params),
    results: dependsOn.map((jobId) => results.get(jobId)),
  };
}
