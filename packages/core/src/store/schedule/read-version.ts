import type { DagDefinition } from '../../model/definition.js';
import type { DagDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { isLasting } from '../driver-errors.js';

/**
 * The definition of a DAG's current version, or in words why there is none: it is not stored, or what is stored cannot be
 * read. One damaged version must not keep a leader or a deploy from going on. The database's own errors are thrown.
 */
export async function readVersion(
  context: StoreContext,
  dag: Pick<DagDocument, '_id' | 'version'>,
): Promise<DagDefinition | string> {
  try {
    const known = await context.versions.get(dag._id, dag.version);
    return known?.definition ?? `version ${dag.version} is not in the database`;
  } catch (error) {
    if (!isLasting(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    return `version ${dag.version} cannot be read: ${reason}`;
  }
}
