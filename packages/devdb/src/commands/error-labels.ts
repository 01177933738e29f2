/** The `errorLabels` of a reply, by which drivers know what they may try again. They go by them, since we say we are a 4.4. */
import type { Cursors } from '../state/cursors.js';
import { type Doc, isDoc, isLong, isNumeric, type Value } from '../values/value.js';
import type { Command } from './command.js';

/** Nodes that went away or may no longer write, and the like: errors that pass. */
const PASSING: ReadonlySet<number> = new Set([
  6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436,
]);

/** A lock that was not got, a write conflict, a snapshot that is gone, another transaction in the way: it has to begin anew. */
const LOST_TRANSACTION: ReadonlySet<number> = new Set([24, 112, 246, 267]);

const NO_SUCH_TRANSACTION = 251;

/** Beside what passes: a change stream has to look for its node, or for where its data are, again. */
const RESUMABLE: ReadonlySet<number> = new Set([63, 133, 150, 234, 13388]);

/**
 * The labels that a reply gets for its code or for the code of its write concern error: `TransientTransactionError` in a
 * transaction, `RetryableWriteError` for a retryable write and for the end of a transaction, which is tried again by itself,
 * `ResumableChangeStreamError` where a change stream is opened or read on.
 */
export function labelsOf(
  command: Command | undefined,
  body: Doc,
  reply: Doc,
  cursors: Cursors,
): string[] {
  if (command === undefined) return [];
  const code = codeIn(reply);
  if (!isGiven(body.get('txnNumber'))) {
    const resumes = code !== null && (PASSING.has(code) || RESUMABLE.has(code));
    return resumes && isOfChangeStream(command, body, cursors)
      ? ['ResumableChangeStreamError']
      : [];
  }
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

function isOfChangeStream(command: Command, body: Doc, cursors: Cursors): boolean {
  if (command.name === 'getMore') {
    const id = body.get('getMore');
    return isLong(id) && cursors.get(id)?.source.resumeToken !== undefined;
  }
  const pipeline = body.get('pipeline');
  const first = command.name === 'aggregate' && Array.isArray(pipeline) ? pipeline[0] : undefined;
  return isDoc(first) && first.has('$changeStream');
}

function isGiven(value: Value): boolean {
  return value !== undefined && value !== null;
}

function codeIn(reply: Doc): number | null {
  const code = reply.get('code');
  return isNumeric(code) ? Number(code.toString()) : null;
}
