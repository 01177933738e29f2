import { isDeepStrictEqual } from 'node:util';
import { ConflictError } from '../../errors.js';
import type { DagDefinition } from '../../model/definition.js';
import type { DagDocument } from '../collections.js';
import type { DeployParams, DeployResult } from '../verbs/dag-verbs.js';

/**
 * What deploying these params to this DAG amounts to. Only "unchanged" is no work: an equal version on a DAG that was retired
 * or marked broken brings it back. Throws ConflictError when another project has the DAG; one that it has retired is free.
 */
export function changeOf(dag: DagDocument | null, params: DeployParams): DeployResult['change'] {
  if (dag === null) return 'added';
  if (dag.state === 'retired') return 'revived';
  if (dag.project !== params.project) {
    throw new ConflictError(
      `DAG "${dag._id}" belongs to project "${dag.project}"; this is project "${params.project}".`,
      {
        hint: `Give the DAG another id, or remove it from "${dag.project}" first (flow deploy --prune there).`,
      },
    );
  }
  return dag.version === params.version && dag.broken === null ? 'unchanged' : 'changed';
}

/** True when both fire at the same instants. */
export function hasSameSchedule(one: DagDefinition, other: DagDefinition): boolean {
  return isDeepStrictEqual(one.schedule, other.schedule);
}

/** True when both also decide alike about late and paused fires: then a deploy leaves `scheduleRev` as it is. */
export function hasSameScheduling(one: DagDefinition, other: DagDefinition): boolean {
  return (
    hasSameSchedule(one, other) &&
    isDeepStrictEqual(one.misfire, other.misfire) &&
    one.onResume === other.onResume
  );
}
