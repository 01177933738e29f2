import { NotFoundError } from '@flowline/core';
import { type Backfill, type Dag, didYouMean, type Store } from '@flowline/core/internal';

/** The DAG with this id. Throws NotFoundError with the nearest id as a hint. */
export async function requireDag(
  store: Pick<Store, 'getDag' | 'listDags'>,
  dagId: string,
): Promise<Dag> {
  const dag = await store.getDag(dagId);
  if (dag !== null) return dag;
  const ids = (await store.listDags({ state: 'active' })).map(({ id }) => id);
  throw new NotFoundError(`no DAG "${dagId}" is deployed`, { hint: hintFor(dagId, ids) });
}

/** The backfill with this id. Throws NotFoundError. */
export async function requireBackfill(
  store: Pick<Store, 'getBackfill'>,
  id: string,
): Promise<Backfill> {
  const backfill = await store.getBackfill(id);
  if (backfill !== null) return backfill;
  throw new NotFoundError(`there is no backfill "${id}"`, { hint: 'See "flow backfill ls".' });
}

function hintFor(dagId: string, ids: readonly string[]): string {
  if (ids.length === 0) return 'Nothing is deployed in this database: run "flow deploy".';
  const near = didYouMean(dagId, ids);
  return near === undefined
    ? `Deployed are: ${ids.slice(0, 10).join(', ')}.`
    : `Did you mean "${near}"?`;
}
