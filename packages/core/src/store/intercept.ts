/**
 * A hook around every single operation that the store sends, for tests that let the process "die", lose an answer, fail at the
 * k-th one, choose who is next, or take a guard away. Not installed, it costs nothing.
 */
import type { Collections } from './collections.js';

/** One operation of the driver. */
export interface StoreOperation {
  /** The driver's method; `hello` for a look at the server's clock. */
  readonly method: string;
  /** The collection it goes to; empty for none. */
  readonly collection: string;
  /** The arguments of the method: filter, update, options; documents to insert. */
  readonly args: readonly unknown[];
  /** True for what changes something. */
  readonly isWrite: boolean;
}

/**
 * Called in place of each operation; `run` performs it, with other arguments when they are given (not for `find` and
 * `aggregate`, whose cursor is there already). What this returns or throws is what the store sees.
 */
export type OperationInterceptor = <T>(
  operation: StoreOperation,
  run: (args?: readonly unknown[]) => Promise<T>,
) => Promise<T>;

const reads = new Set<PropertyKey>(['countDocuments', 'distinct', 'findOne']);
const writes = new Set<PropertyKey>([
  'bulkWrite',
  'deleteMany',
  'deleteOne',
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
      const isWrite = writes.has(method);
      if (isWrite || reads.has(method)) {
        return (...args) =>
          intercept(
            { method: String(method), collection: name, args, isWrite },
            (others) => call(...(others ?? args)) as never,
          );
      }
      if (!cursors.has(method)) return call;
      return (...args) => {
        const operation = { method: String(method), collection: name, args, isWrite: false };
        return wrapCursor(call(...args) as object, operation, intercept);
      };
    }),
  ]);
  return Object.fromEntries(wrapped) as Collections;
}

function wrapCursor(
  cursor: object,
  operation: StoreOperation,
  intercept: OperationInterceptor,
): object {
  const wrapped = wrap(cursor, (name, call) => {
    if (cursorReads.has(name)) {
      return (...args) => intercept(operation, () => call(...args) as never);
    }
    return (...args) => {
      const result = call(...args);
      // sort(), limit() and the like return the cursor itself; a wrapper around this one has to see that.
      return result === cursor ? wrapped : result;
    };
  });
  return wrapped;
}

function wrap(target: object, method: (name: PropertyKey, call: Method) => Method): object {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name, object);
      return typeof value === 'function' ? method(name, value.bind(object) as Method) : value;
    },
  });
}
