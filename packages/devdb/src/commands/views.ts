import { DbError } from '../errors.js';
import type { Value } from '../values/value.js';
import type { CommandContext } from './command.js';

/** How many views may stand on each other, as in MongoDB. */
export const MAX_VIEW_DEPTH = 20;

/** What a view reads in the end: a collection (which may not exist) and the pipelines of all views on the way. */
export interface ResolvedView {
  readonly collection: string;
  readonly pipeline: readonly Value[];
}

/** Follows a name through views. Throws 5 for a cycle and 165 for too long a chain. */
export function resolveName(context: CommandContext, name: string): ResolvedView {
  const { catalogue } = context.store;
  let pipeline: readonly Value[] = [];
  let current = name;
  for (let depth = 0; depth <= MAX_VIEW_DEPTH; depth++) {
    const view = catalogue.view(context.database, current);
    if (view === undefined) return { collection: current, pipeline };
    pipeline = [...view.pipeline, ...pipeline];
    current = view.viewOn;
  }
  throw new DbError(
    165,
    `View depth too deep or view cycle detected on ${context.database}.${name}`,
  );
}
