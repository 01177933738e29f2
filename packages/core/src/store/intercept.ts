/**
 * A hook around every single operation that the store sends, for tests that let the process "die", lose an answer or
 * fail at the k-th one. Not installed, it costs nothing.
 */
import type { Collections } from './collections.js';

/** One operation of the driver: its method and the collection it goes to. */
export interface StoreOperation {
  readonly method: string;
  readonly collection: string;
}

/** Called in place of each operation; `run` performs it. What this returns or throws is what the store sees. */
export type OperationInterceptor = <T>(
  operation: StoreOperation,
  run: () => Promise<T>,
) => Promise<T>;

const promised = new Set<PropertyKey>([
  'bulkWrite',
  'countDocuments',
  'deleteMany',
  'deleteOne',
  'distinct',
  'findOne',
  'findOneAndDelete',
  'findOneAndUpdate',
  'insertMany',
  'insertOne',
  'updateMany',
  'updateOne',
]);
const cursors = new Set<PropertyKey>(['find', 'aggregate']);
const cursorReads = new Set<PropertyKey>(['toArray', 'next', 'hasNext']);

type Method = (...args: unknown[]) => unknown;

/** The same collections, each operation passing through `intercept`. */
export function interceptCollections(
  collections: Collections,
  intercept: OperationInterceptor,
): Collections {
  const wrapped = Object.entries(collections).map(([name, collection]) => [
    name,
    wrap(collection as object, (method, call) => {
      if (promised.has(method)) {
        return (...args) =>
          intercept({ method: String(method), collection: name }, () => call(...args) as never);
      }
      if (!cursors.has(method)) return call;
      return (...args) => wrapCursor(call(...args) as object, String(method), name, intercept);
    }),
  ]);
  return Object.fromEntries(wrapped) as Collections;
}

function wrapCursor(
  cursor: object,
  method: string,
  collection: string,
  intercept: OperationInterceptor,
): object {
  return wrap(cursor, (name, call) => {
    if (cursorReads.has(name)) {
      return (...args) => intercept({ method, collection }, () => call(...args) as never);
    }
    return (...args) => {
      const result = call(...args);
      // sort(), limit() and the like return the cursor itself.
      return result === cursor ? wrapCursor(cursor, method, collection, intercept) : result;
    };
  });
}

function wrap(target: object, method: (name: PropertyKey, call: Method) => Method): object {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name, object);
      return typeof value === 'function' ? method(name, value.bind(object) as Method) : value;
    },
  });
}
