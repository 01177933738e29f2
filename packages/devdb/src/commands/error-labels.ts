/** The `errorLabels` of a reply, by which drivers know what they may try again. They go by them, since we say we are a 4.4. */
import { type Doc, isDoc, isNumeric, type Value } from '../values/value.js';
import type { Command } from './command.js';

/** Nodes that went away or may no longer write, and the like: errors that pass. */
const PASSING: ReadonlySet<number> = new Set([
  6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436,
]);

/** A lock that was not got, a write conflict, a snapshot that is gone: the transaction has to begin anew. */
const LOST_TRANSACTION: ReadonlySet<number> = new Set([24, 112, 246]);

const NO_SUCH_TRANSACTION = 251;

/**
 * The labels that a reply gets for its code or for the code of its write concern error: `TransientTransactionError` in a
 * transaction, `RetryableWriteError` for a retryable write and for the end of a transaction, which is tried again by itself.
 */
export function labelsOf(command: Command | undefined, body: Doc, reply: Doc): string[] {
  if (command === undefined || !isGiven(body.get('txnNumber'))) return [];
  const code = codeIn(reply);
  const concern = reply.get('writeConcernError');
  const concernCode = isDoc(concern) ? codeIn(concern) : null;
  const isPassing = (one: number | null) => one !== null && PASSING.has(one);
  if (!isGiven(body.get('autocommit'))) {
    const passes = isPassing(code) || isPassing(concernCode);
    return command.isRetryable === true && passes ? ['RetryableWriteError'] : [];
  }
  const ends = command.name === 'commitTransaction' || command.name === 'abortTransaction';
  const isLost =
    code !== null &&
    (LOST_TRANSACTION.has(code) ||
      (code === NO_SUCH_TRANSACTION && !(ends && concernCode !== null)) ||
      (!ends && PASSING.has(code)));
  if (isLost) return ['TransientTransactionError'];
  return ends && (isPassing(code) || isPassing(concernCode)) ? ['RetryableWriteError'] : [];
}

function isGiven(value: Value): boolean {
  return value !== undefined && value !== null;
}

function codeIn(reply: Doc): number | null {
  const code = reply.get('code');
  return isNumeric(code) ? Number(code.toString()) : null;
}
