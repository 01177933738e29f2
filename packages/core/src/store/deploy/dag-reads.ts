import type { DagDefinition } from '../../model/definition.js';
import type { Dag } from '../../model/run.js';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { openingOf } from '../operations/place-key.js';

/** A deployed DAG, active or retired. Null when there is none. */
export async function getDag(context: StoreContext, dagId: string): Promise<Dag | null> {
  const dag = await context.collections.dags.findOne({ _id: dagId });
  return dag === null ? null : toDag(dag);
}

/** Deployed DAGs by id. */
export async function listDags(
  context: StoreContext,
  filter: { readonly project?: string; readonly state?: Dag['state'] } = {},
): Promise<Dag[]> {
  const dags = await context.collections.dags
    .find({
      ...(filter.project === undefined ? {} : { project: filter.project }),
      ...(filter.state === undefined ? {} : { state: filter.state }),
    })
    .sort({ _id: 1 })
    .toArray();
  return dags.map(toDag);
}

/** The compiled definition of a version; immutable. Null when there is none. */
export async function getVersion(
  context: StoreContext,
  dagId: string,
  version: string,
): Promise<DagDefinition | null> {
  return (await context.versions.get(dagId, version))?.definition ?? null;
}

function toDag(dag: DagDocument): Dag {
  return {
    id: dag._id,
    project: dag.project,
    version: dag.version,
    state: dag.state,
    scheduleRev: dag.scheduleRev,
    nextFireAt: dag.nextFireAt,
    pausedAt: dag.pausedAt,
    broken: dag.broken,
    activeRunIds: dag.activeRunIds.map((key) => openingOf(key)._id),
    deployedAt: dag.deployedAt,
  };
}
