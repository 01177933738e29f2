/** What the write commands share: order, write errors, results that are remembered for a retry, the reply. */
import { DbError } from '../errors.js';
import { type Doc, doc, int32, isNumeric, type Value } from '../values/value.js';
import { type CommandContext, optionalBooleanField } from './command.js';
import { endOpenTransaction } from './transactions.js';

/** What one statement did. */
export interface StatementResult {
  readonly matched: number;
  /** Null for inserts and deletes, which do not report it. */
  readonly modified: number | null;
  /** `{ _id }` of a document that an upsert inserted. */
  readonly upserted: Doc | undefined;
}

/** What the statements of one command did. */
export interface BatchResult {
  readonly results: ReadonlyMap<number, StatementResult>;
  readonly errors: readonly { readonly index: number; readonly error: DbError }[];
}

/**
 * Runs the statements one after the other; stops at the first error of an ordered batch. A statement that an earlier try of this
 * command has done is not done again. In a transaction any error ends the batch and the transaction; a conflict is
 * the command's own error.
 */
export async function runStatements(
  context: CommandContext,
  statements: readonly Doc[],
  execute: (statement: Doc, index: number) => Promise<StatementResult>,
): Promise<BatchResult> {
  const ordered = optionalBooleanField(context.body, 'ordered', true);
  const idOf = statementIds(context.body, statements.length);
  const results = new Map<number, StatementResult>();
  const errors: { index: number; error: DbError }[] = [];
  for (const [index, statement] of statements.entries()) {
    const earlier = rememberedResult(context, idOf(index));
    if (earlier !== undefined) {
      results.set(index, repeatedResult(context, earlier));
      continue;
    }
    try {
      const result = await execute(statement, index);
      results.set(index, result);
      // What wrote nothing left no trace: a retry looks again, as in MongoDB.
      const wrote = result.modified === null ? result.matched > 0 : result.modified > 0;
      if (wrote || result.upserted !== undefined) {
        rememberResult(context, idOf(index), toStored(result));
      }
    } catch (error) {
      if (!(error instanceof DbError) || error.code === 50) throw error;
      if (context.transaction !== null) {
        if (error.labels?.includes('TransientTransactionError')) throw error;
        endOpenTransaction(context.server, context.session!);
        errors.push({ index, error });
        break;
      }
      errors.push({ index, error });
      if (ordered) break;
    }
  }
  return { results, errors };
}

/** The statement id at each position: `stmtIds`, or counted from `stmtId`. */
function statementIds(body: Doc, count: number): (index: number) => number {
  const ids = body.get('stmtIds');
  if (Array.isArray(ids)) {
    if (ids.length !== count) {
      throw new DbError(
        2,
        `Number of statement ids must match the number of batch entries. Got ${ids.length} statement ids but ${count} operations.`,
      );
    }
    return (index) => Number(ids[index]?.toString());
  }
  const first = body.get('stmtId');
  const base = isNumeric(first) ? Number(first.toString()) : 0;
  return (index) => base + index;
}

/** What an earlier try of a retryable write answered for a statement. */
export function rememberedResult(context: CommandContext, statementId: number): Doc | undefined {
  if (!isRetryable(context)) return undefined;
  const record = context.store.retries.get(context.session!.key);
  return record?.txnNumber === context.txnNumber ? record.statements.get(statementId) : undefined;
}

/** Keeps a statement's result for a retry; it reaches the disk together with the write. */
export function rememberResult(context: CommandContext, statementId: number, result: Doc): void {
  if (!isRetryable(context)) return;
  const record = context.store.retries.get(context.session!.key);
  if (record === undefined || record.txnNumber !== context.txnNumber) return;
  record.statements.set(statementId, result);
  record.lastUsedMs = context.store.clock.nowMs();
  context.retry.isDirty = true;
}

function isRetryable(context: CommandContext): boolean {
  return context.session !== null && context.txnNumber !== null && context.transaction === null;
}

function toStored(result: StatementResult): Doc {
  const stored = doc(['n', int32(result.matched)]);
  if (result.modified !== null) stored.set('nModified', int32(result.modified));
  if (result.upserted !== undefined) stored.set('upserted', result.upserted);
  return stored;
}

/**
 * What a retry answers for a statement that an earlier try has done. As in MongoDB, an update is not answered by a deletion
 * that had its number (40638), while a deletion or an insertion is answered by any write.
 */
function repeatedResult(context: CommandContext, stored: Doc): StatementResult {
  if (context.name === 'update' && !stored.has('nModified') && !stored.has('upserted')) {
    throw new DbError(
      40638,
      'update retry request is not compatible with previous write in the transaction of type: delete',
    );
  }
  return fromStored(stored);
}

function fromStored(stored: Doc): StatementResult {
  const modified = stored.get('nModified');
  return {
    matched: Number(stored.get('n')?.toString()),
    modified: modified === undefined ? null : Number(modified?.toString()),
    upserted: stored.get('upserted') as Doc | undefined,
  };
}

/** The reply of insert, update and delete. */
export function statementReply(context: CommandContext, batch: BatchResult): Doc {
  let matched = 0;
  let modified = 0;
  const upserted: Value[] = [];
  for (const [index, result] of [...batch.results].sort(([left], [right]) => left - right)) {
    matched += result.matched;
    modified += result.modified ?? 0;
    if (result.upserted !== undefined) {
      upserted.push(doc(['index', int32(index)], ['_id', result.upserted.get('_id')]));
    }
  }
  const reply = doc(['n', int32(matched)]);
  if (context.name === 'update') {
    if (upserted.length > 0) reply.set('upserted', upserted);
    reply.set('nModified', int32(modified));
  }
  if (batch.errors.length > 0) {
    reply.set(
      'writeErrors',
      batch.errors.map(({ index, error }) => {
        const entry = doc(['index', int32(index)], ['code', int32(error.code)]);
        for (const [key, value] of error.extra ?? []) entry.set(key, value);
        return entry.set('errmsg', error.message);
      }),
    );
  }
  return reply;
}
