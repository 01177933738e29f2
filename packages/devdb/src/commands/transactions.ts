/** Transactions and retryable writes: which one a command belongs to, and how it ends. */
import { DbError } from '../errors.js';
import type { ServerState } from '../state/server-state.js';
import type { Session } from '../state/sessions.js';
import { WriteUnit } from '../storage/store.js';
import type { Transaction } from '../storage/transaction.js';
import { type Doc, doc, type Value } from '../values/value.js';
import type { Command, CommandContext } from './command.js';

/**
 * The open transaction that a command with a transaction number belongs to; null for a retryable write. Starts one if
 * asked to. Throws 225, 251, 256 and their like where the number does not fit what the session has done.
 */
export function joinTransaction(
  server: ServerState,
  command: Command,
  body: Doc,
  database: string,
  session: Session | null,
  txnNumber: bigint | null,
): Transaction | null {
  if (session === null || txnNumber === null) return null;
  const { store } = server;
  if (server.replicaSet === null) {
    throw new DbError(20, 'Transaction numbers are only allowed on a replica set member or mongos');
  }
  const autocommit = body.get('autocommit');
  const starts = body.get('startTransaction');
  checkTransactionFields(command, body, database, autocommit, starts);
  const record = store.retries.get(session.key);
  if (record !== undefined && txnNumber < record.txnNumber) {
    throw new DbError(
      225,
      `Cannot start transaction ${txnNumber} on session ${session.key} because a newer transaction ${record.txnNumber} has already started.`,
    );
  }
  const isNewer = record === undefined || txnNumber > record.txnNumber;
  if (autocommit === undefined) {
    if (isNewer) {
      endOpenTransaction(server, session);
      store.retries.begin(session.key, txnNumber, 'write', store.clock.nowMs());
    } else if (record.kind === 'transaction') {
      throw new DbError(
        217,
        `Given transaction number ${txnNumber} does not match any in-progress retryable write.`,
      );
    }
    return null;
  }
  if (starts === true) {
    if (isEnd(command) || command.name === 'killCursors') {
      throw new DbError(
        263,
        `Cannot run '${command.name}' as the first operation in a multi-document transaction.`,
      );
    }
    if (!isNewer) {
      throw new DbError(
        117,
        `Cannot start a transaction at given transaction number ${txnNumber}: it has already been used.`,
      );
    }
    endOpenTransaction(server, session);
    store.retries.begin(session.key, txnNumber, 'transaction', store.clock.nowMs());
    const open = store.beginTransaction();
    session.transaction = { open, txnNumber };
    return open;
  }
  if (session.transaction?.txnNumber === txnNumber) return session.transaction.open;
  if (!isNewer && record.kind === 'transaction' && record.committed) {
    if (command.name === 'commitTransaction') return null;
    throw new DbError(256, `Transaction ${txnNumber} has been committed.`);
  }
  throw noSuchTransaction(txnNumber);
}

/** Whether a command ends transactions, and so runs on the admin database. */
function isEnd(command: Command): boolean {
  return command.name === 'commitTransaction' || command.name === 'abortTransaction';
}

function noSuchTransaction(txnNumber: bigint): DbError {
  return new DbError(251, `Transaction ${txnNumber} has been aborted or does not exist.`, {
    labels: ['TransientTransactionError'],
  });
}

function checkTransactionFields(
  command: Command,
  body: Doc,
  database: string,
  autocommit: Value,
  starts: Value,
): void {
  if (autocommit === undefined && starts !== undefined) {
    throw new DbError(
      72,
      "'startTransaction' field requires 'autocommit' field to also be specified",
    );
  }
  if (autocommit !== undefined && autocommit !== false) {
    throw new DbError(72, 'The value of autocommit must be false when it is specified');
  }
  if (starts !== undefined && starts !== true) {
    throw new DbError(72, 'The value of startTransaction must be true when it is specified');
  }
  if (autocommit === undefined) {
    if (command.isRetryable !== true) {
      throw command.inTransaction === true
        ? new DbError(
            50768,
            `txnNumber may only be provided for multi-document transactions and retryable write commands. autocommit:false was not provided, and ${command.name} is not a retryable write command.`,
          )
        : new DbError(50889, 'It is illegal to provide a txnNumber for this command');
    }
    return;
  }
  if (command.inTransaction !== true) {
    throw new DbError(263, `Cannot run '${command.name}' in a multi-document transaction.`);
  }
  if (['admin', 'local', 'config'].includes(database) && !isEnd(command)) {
    throw new DbError(
      263,
      `Cannot run command against the '${database}' database in a transaction`,
    );
  }
  if (
    body.has('writeConcern') &&
    !['commitTransaction', 'abortTransaction'].includes(command.name)
  ) {
    throw new DbError(72, 'writeConcern is not allowed within a multi-statement transaction');
  }
  if (body.has('readConcern') && starts !== true) {
    throw new DbError(72, 'readConcern is only allowed on the first command of a transaction');
  }
}

/** Aborts what a session has open, since it goes on with a newer number. */
export function endOpenTransaction(server: ServerState, session: Session): void {
  const current = session.transaction;
  if (current === null) return;
  session.transaction = null;
  server.store.abortTransaction(current.open);
  server.cursors.closeWhere(
    (cursor) => cursor.session === session.key && cursor.txnNumber === current.txnNumber,
  );
}

/** A failed statement aborts its transaction. */
export function statementFailed(context: CommandContext, error: unknown): void {
  const { session, transaction, server } = context;
  if (session === null || transaction === null) return;
  if (session.transaction?.open !== transaction) return;
  if (context.name === 'commitTransaction' || context.name === 'abortTransaction') return;
  if (error instanceof DbError && KEEPS_TRANSACTION.has(error.code)) return;
  endOpenTransaction(server, session);
}

/** Errors that say that the statement never began. */
const KEEPS_TRANSACTION: ReadonlySet<number> = new Set([43]);

async function commit(context: CommandContext): Promise<Doc> {
  const { store, session, txnNumber, server } = context;
  requireNumber(context);
  const record = store.retries.get(session!.key)!;
  if (context.transaction === null) return doc();
  const unit = new WriteUnit(context.transaction, context.unit.session);
  session!.transaction = null;
  record.committed = true;
  store.applyTransaction(unit);
  store.retries.store(session!.key, unit.stored);
  server.cursors.closeWhere(
    (cursor) => cursor.session === session!.key && cursor.txnNumber === txnNumber,
  );
  await store.commit(unit);
  return doc();
}

function abort(context: CommandContext): Doc {
  requireNumber(context);
  endOpenTransaction(context.server, context.session!);
  return doc();
}

function requireNumber(context: CommandContext): void {
  if (context.session === null || context.txnNumber === null) {
    throw new DbError(125, `${context.name} must be run within a transaction`);
  }
}

export const commitTransaction: Command = {
  name: 'commitTransaction',
  fields: ['recoveryToken'],
  unknownField: 40415,
  adminOnly: true,
  inTransaction: true,
  run: commit,
};

export const abortTransaction: Command = {
  name: 'abortTransaction',
  fields: ['recoveryToken'],
  unknownField: 40415,
  adminOnly: true,
  inTransaction: true,
  run: abort,
};
