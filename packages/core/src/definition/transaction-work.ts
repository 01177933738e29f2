import type { ClientSession, MongoClient } from 'mongodb';

/**
 * What `ctx.commit` runs inside its transaction. Every write that is to belong to it takes `{ session }`, and its
 * collection comes from `client`, the one that the session belongs to: `client.db('shop').collection('orders')`.
 *
 * May run more than once, as the driver's `withTransaction` does it: what is not a write with the session must bear that.
 *
 * The one place outside of the store that names types of the driver: docs/decisions/driver-types-in-commit.md.
 */
export type TransactionWork<T> = (session: ClientSession, client: MongoClient) => Promise<T>;
