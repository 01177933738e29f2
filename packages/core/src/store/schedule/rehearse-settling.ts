import type { StoreContext } from '../context.js';
import { damageOf } from './dag-damage.js';
import { decidePending } from './decide-pending.js';
import { readNextDags } from './find-due-dags.js';
import { readVersion } from './read-version.js';

/** See {@link DagVerbs.rehearseSettling}. */
export async function rehearseSettling(context: StoreContext, limit: number): Promise<void> {
  const readings = await readNextDags(context, limit);
  await context.versions.warm(readings.map(({ dag }) => dag));
  for (const { dag } of readings) {
    if (damageOf(dag) !== null) continue;
    const dueAt = new Date(dag.nextFireAt!.getTime() + dag.nextJitterMs);
    decidePending(dag, await readVersion(context, dag), dueAt, 'due');
  }
}
