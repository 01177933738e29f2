import { StoreError } from '../../errors.js';
import type { Collections } from '../collections.js';
import { hello, oldestWireVersion, type StoreContext } from '../context.js';
import { createIndexes } from '../indexes.js';

/** Creates collections and indexes. Refuses a server that is too old, and sharded collections of ours. */
export async function prepare(context: StoreContext): Promise<void> {
  const deployment = await hello(context.db);
  if (deployment.maxWireVersion < oldestWireVersion) {
    throw new StoreError('The database is older than MongoDB 4.4.', {
      hint: 'Flowline needs MongoDB 4.4 or newer.',
    });
  }
  if (deployment.msg === 'isdbgrid') await refuseSharded(context);
  await createIndexes(context.db);
}

/** Unique slots and the claim need each collection on one shard. */
async function refuseSharded(context: StoreContext): Promise<void> {
  const sharded = await shardedCollections(context);
  if (sharded.length === 0) return;
  throw new StoreError(
    `These collections are sharded, and Flowline's must not be: ${sharded.join(', ')}.`,
    {
      hint: 'Use a database whose collections are not sharded; a sharded cluster is fine otherwise.',
    },
  );
}

/** Full names of those of our collections that are sharded. Ask behind mongos only: elsewhere nothing is. */
export async function shardedCollections(context: StoreContext): Promise<string[]> {
  const names = Object.keys(context.collections) as (keyof Collections)[];
  const sharded = await context.client
    .db('config')
    .collection<{ _id: string }>('collections')
    .find({
      _id: { $in: names.map((name) => `${context.db.databaseName}.${name}`) },
      dropped: { $ne: true },
      unsplittable: { $ne: true },
    })
    .toArray();
  return sharded.map(({ _id }) => _id);
}
