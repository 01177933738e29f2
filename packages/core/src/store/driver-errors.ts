/** Turns what the driver throws into {@link StoreError}: the only place that knows its classes, codes and labels. */
import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb';
import { isFlowError, StoreError } from '../errors.js';

/** Codes of servers that are starting, stopping, stepping down or overloaded: the same call may work in a moment. */
const passingCodes = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  43, // CursorNotFound
  50, // MaxTimeMSExpired
  89, // NetworkTimeout
  91, // ShutdownInProgress
  112, // WriteConflict
  133, // FailedToSatisfyReadPreference: mongos finds no primary
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  217, // IncompleteTransactionHistory: what a repeated write had done is not remembered any more
  262, // ExceededTimeLimit
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
]);

const passingLabels = [
  'RetryableWriteError',
  'RetryableError',
  'TransientTransactionError',
  'SystemOverloadedError',
];

const driverOnlyRetryable = new Set([
  'MongoPoolClearedError',
  'MongoWaitQueueTimeoutError',
  'MongoNetworkTimeoutError',
  'MongoPoolClearedOnNetworkError',
  'MongoOperationTimeoutError',
  // The connection is being replaced: see connection-watch.ts.
  'MongoClientClosedError',
  'MongoNotConnectedError',
  'MongoPoolClosedError',
  'MongoServerClosedError',
  'MongoTopologyClosedError',
]);

/** Errors of Node's sockets that the driver lets through as they are, when it writes while the other side closes. */
const socketCodes = new Set([
  'EPIPE',
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ERR_SOCKET_CLOSED',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
]);

/** True for E11000: a unique index has this key already. */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === 11000;
}

/** Which items of an unordered bulk write met a key that was there already. Throws the error when anything else went wrong. */
export function duplicatesOf(error: unknown): number[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const errors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  // A write concern that failed comes without write errors: the caller cannot tell what is there.
  if (errors.length === 0 || error.result.getWriteConcernError() !== undefined) throw error;
  if (errors.some((one) => one.code !== 11000)) throw error;
  return errors.map((one) => one.index);
}

/**
 * An error of the driver as a StoreError, with the original as `cause`; errors of Flowline as they are. `retryable`
 * comes from the driver's labels, the server's code or the kind of the error; `store-unreachable` is the code when no
 * server answered at all. Messages never hold a password.
 */
export function convertDriverError(thrown: unknown): unknown {
  if (isFlowError(thrown)) return thrown;
  if (!(thrown instanceof MongoError))
    return isOfSocket(thrown) ? brokenConnection(thrown) : thrown;
  const error = insideOfBulk(thrown);
  if (error instanceof MongoServerSelectionError) {
    return new StoreError(`The database does not answer: ${withoutSecrets(error.message)}`, {
      cause: thrown,
      retryable: true,
      unreachable: true,
      hint: 'Check that the server runs and that FLOW_MONGODB_URI names it.',
    });
  }
  if (error instanceof MongoNetworkError || driverOnlyRetryable.has(error.name)) {
    return brokenConnection(error, thrown);
  }
  if (error.code === 18 || error.code === 13) {
    return new StoreError(`The database refused access: ${withoutSecrets(error.message)}`, {
      cause: thrown,
      hint: 'The user needs the readWrite role on the database; check the credentials of FLOW_MONGODB_URI.',
    });
  }
  const retryable =
    passingLabels.some((label) => error.hasErrorLabel(label)) ||
    (typeof error.code === 'number' && passingCodes.has(error.code));
  return new StoreError(`The database refused: ${withoutSecrets(error.message)}`, {
    cause: thrown,
    retryable,
  });
}

/** True when the database was away or asked to be asked again: nobody's fault in particular. */
export function isPassing(thrown: unknown): boolean {
  const error = convertDriverError(thrown);
  return isFlowError(error) && error.retryable;
}

/** True when trying again can never help, because what is stored is at fault: not the database, not a passing state. */
export function isLasting(thrown: unknown): boolean {
  const error = convertDriverError(thrown);
  if (!isFlowError(error)) return true;
  return !error.retryable && error.code !== 'store' && error.code !== 'store-unreachable';
}

function isOfSocket(error: unknown): error is Error {
  return error instanceof Error && socketCodes.has((error as NodeJS.ErrnoException).code ?? '');
}

function brokenConnection(error: Error, cause: Error = error): StoreError {
  return new StoreError(`The connection to the database failed: ${withoutSecrets(error.message)}`, {
    cause,
    retryable: true,
  });
}

/** A connection that breaks during a bulk write comes wrapped, without its class and its labels. */
function insideOfBulk(error: MongoError): MongoError {
  const { errorResponse } = error as { errorResponse?: unknown };
  return error instanceof MongoBulkWriteError && errorResponse instanceof MongoError
    ? errorResponse
    : error;
}

/** Runs one verb and converts what it throws. */
export async function converting<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw convertDriverError(error);
  }
}

/** A text without the credentials of connection strings in it. */
export function withoutSecrets(text: string): string {
  return text.replace(/(mongodb(?:\+srv)?:\/\/)[^@\s/]+@/gi, '$1***@');
}
