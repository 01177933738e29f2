import { DbError } from '../errors.js';
import { cursorReply, type OpenCursor, takeBatch } from '../state/cursors.js';
import { type Doc, doc, isDoc, isLong, Long, type Value } from '../values/value.js';
import {
  type Command,
  type CommandContext,
  checkNamespace,
  countField,
  wrongType,
} from './command.js';

/** How long a getMore waits on a tailable cursor without `maxTimeMS`, as in MongoDB. */
const AWAIT_MS = 1000;

export const getMore: Command = {
  name: 'getMore',
  fields: ['collection', 'batchSize', 'term', 'lastKnownCommittedOpTime'],
  unknownField: 9,
  inTransaction: true,
  run: runGetMore,
};

async function runGetMore(context: CommandContext): Promise<Doc> {
  const { body, server } = context;
  const id = body.get('getMore');
  if (!isLong(id)) throw wrongType('getMore', id, 'long');
  const name = body.get('collection');
  if (typeof name !== 'string') {
    if (name === undefined)
      throw new DbError(9, "Field 'collection' is missing: getMore needs one");
    throw wrongType('collection', name, 'string');
  }
  if (name === '')
    throw new DbError(73, `Invalid namespace for getMore: ${context.database}.${name}`);
  const batchSize = countField(body, 'batchSize');
  if (batchSize === 0) {
    throw new DbError(2, 'Batch size for getMore must be positive, but received: 0');
  }
  const cursor = server.cursors.get(id);
  if (cursor === undefined) throw cursorNotFound(id);
  checkOwner(context, cursor, `${context.database}.${name}`);
  if (cursor.busy) throw new DbError(20, `cursor id ${id} is already in use`);
  cursor.busy = true;
  try {
    return await nextBatch(context, cursor, batchSize ?? Number.POSITIVE_INFINITY);
  } catch (error) {
    server.cursors.close(cursor);
    throw error;
  } finally {
    cursor.busy = false;
    cursor.lastUsedMs = context.store.clock.nowMs();
  }
}

function cursorNotFound(id: Long): DbError {
  return new DbError(43, `cursor id ${id} not found`);
}

function checkOwner(context: CommandContext, cursor: OpenCursor, namespace: string): void {
  if (cursor.namespace !== namespace) {
    throw new DbError(
      13,
      `Requested getMore on namespace '${namespace}', but cursor belongs to a different namespace ${cursor.namespace}`,
    );
  }
  const session = context.session?.key ?? null;
  if (cursor.session !== session) {
    if (cursor.session === null) {
      throw new DbError(
        50736,
        `Cannot run getMore on cursor ${cursor.id}, which was not created in a session, in session ${session}`,
      );
    }
    throw new DbError(
      session === null ? 50737 : 50738,
      `Cannot run getMore on cursor ${cursor.id}, which was created in session ${cursor.session}, ${session === null ? 'without an lsid' : `in session ${session}`}`,
    );
  }
  const txnNumber = context.transaction === null ? null : context.txnNumber;
  if (cursor.txnNumber !== txnNumber) {
    if (cursor.txnNumber === null) {
      throw new DbError(
        50739,
        `Cannot run getMore on cursor ${cursor.id}, which was not created in a transaction, in transaction ${txnNumber}`,
      );
    }
    throw new DbError(
      txnNumber === null ? 50740 : 50741,
      `Cannot run getMore on cursor ${cursor.id}, which was created in transaction ${cursor.txnNumber}, outside of it`,
    );
  }
}

async function nextBatch(context: CommandContext, cursor: OpenCursor, limit: number): Promise<Doc> {
  const { source } = cursor;
  source.checkAlive?.();
  const deadline = context.store.clock.nowMs() + waitTime(context, cursor);
  let batch = takeBatch(source, limit, cursor.held);
  while (batch.documents.length === 0 && source.waitForMore && !source.isOver?.()) {
    const left = deadline - context.store.clock.nowMs();
    if (left <= 0 || context.client.signal.aborted) break;
    source.pause?.();
    await source.waitForMore(left, context.client.signal);
    if (cursor.killed) throw new DbError(237, 'cursor killed while it waited');
    batch = takeBatch(source, limit);
  }
  // A change is told to a stream only when it cannot be lost any more.
  if (source.resumeToken && batch.documents.length > 0) await context.store.disk?.flushed();
  cursor.held = batch.held;
  source.pause?.();
  const extra = source.resumeToken
    ? new Map([['postBatchResumeToken', source.resumeToken()]])
    : undefined;
  const grows = cursor.isTailable && !source.isOver?.();
  if ((batch.ended || (batch.held === null && source.isAtEnd?.())) && !grows) {
    context.server.cursors.close(cursor);
    return cursorReply('nextBatch', batch.documents, Long.ZERO, cursor.namespace, extra);
  }
  return cursorReply('nextBatch', batch.documents, cursor.id, cursor.namespace, extra);
}

function waitTime(context: CommandContext, cursor: OpenCursor): number {
  if (!cursor.awaitsData) {
    if (context.deadlineMs !== Number.POSITIVE_INFINITY) {
      throw new DbError(2, 'cannot set maxTimeMS on getMore command for a non-awaitData cursor');
    }
    return 0;
  }
  if (context.deadlineMs === Number.POSITIVE_INFINITY) return AWAIT_MS;
  return context.deadlineMs - context.store.clock.nowMs();
}

export const killCursors: Command = {
  name: 'killCursors',
  fields: ['cursors'],
  unknownField: 'ignore',
  inTransaction: true,
  run: runKillCursors,
};

function runKillCursors(context: CommandContext): Doc {
  const ids = context.body.get('cursors');
  const name = context.body.get('killCursors');
  if (typeof name !== 'string') {
    throw new DbError(9, "the value of 'killCursors' must be a collection name");
  }
  checkNamespace(context.database, name);
  if (!Array.isArray(ids) || ids.length === 0) {
    throw new DbError(
      ids === undefined ? 9 : Array.isArray(ids) ? 2 : 9,
      "'cursors' must be a non-empty array of cursor ids",
    );
  }
  const killed: Value[] = [];
  const notFound: Value[] = [];
  for (const id of ids) {
    if (!isLong(id))
      throw new DbError(
        9,
        `cursor ids must be 64-bit integers, found ${isDoc(id) ? 'a document' : String(id)}`,
      );
    const cursor = context.server.cursors.get(id);
    if (cursor === undefined) {
      notFound.push(id);
      continue;
    }
    context.server.cursors.close(cursor);
    killed.push(id);
  }
  return doc(
    ['cursorsKilled', killed],
    ['cursorsNotFound', notFound],
    ['cursorsAlive', []],
    ['cursorsUnknown', []],
  );
}
