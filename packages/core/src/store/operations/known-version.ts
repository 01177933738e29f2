import { ConflictError, NotFoundError } from '../../errors.js';
import type { StoreContext } from '../context.js';
import type { KnownVersion } from '../version-cache.js';

/** The version that a new run of the DAG gets. Throws NotFoundError (no such DAG), ConflictError (retired). */
export async function currentVersion(context: StoreContext, dagId: string): Promise<string> {
  const dag = await context.collections.dags.findOne({ _id: dagId });
  if (dag === null) {
    throw new NotFoundError(`There is no DAG ${dagId}.`, {
      hint: 'Deploy it first, with flow deploy.',
    });
  }
  if (dag.state === 'retired') {
    throw new ConflictError(`The DAG ${dagId} is retired: it left the code it was deployed from.`, {
      hint: 'Deploy it again to run it.',
    });
  }
  return dag.version;
}

/** Throws NotFoundError when the version is not stored. */
export async function knownVersion(
  context: StoreContext,
  dagId: string,
  version: string,
): Promise<KnownVersion> {
  const known = await context.versions.get(dagId, version);
  if (known !== null) return known;
  throw new NotFoundError(`There is no version ${version} of the DAG ${dagId}.`, {
    hint: 'Deploy it first, with flow deploy.',
  });
}
