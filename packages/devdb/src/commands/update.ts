import { DbError } from '../errors.js';
import { DocumentScan } from '../planner/execute.js';
import { planQuery } from '../planner/plan.js';
import { compileFilter, type Matcher } from '../query/compile-filter.js';
import type { Collection } from '../storage/collection.js';
import type { RecordId } from '../storage/ordered-index.js';
import { Blocked } from '../storage/store.js';
import { type CompiledUpdate, compileUpdate } from '../update/compile-update.js';
import { seedUpsert } from '../update/seed-upsert.js';
import { checkInsertable } from '../update/storage-rules.js';
import { encodeDocument } from '../values/encode.js';
import { type Doc, doc, isDoc, ObjectId, type Value } from '../values/value.js';
import {
  type Command,
  type CommandContext,
  collectionName,
  documentField,
  optionalBooleanField,
  waitForUnblock,
  wrongType,
} from './command.js';
import { expressionEnv } from './expression-env.js';
import { writeBatch } from './insert.js';
import {
  checkValidator,
  readableCollection,
  refuseView,
  writableCollection,
} from './namespaces.js';
import { refuseOptionalCollation } from './query.js';
import { runStatements, type StatementResult, statementReply } from './write-statements.js';

export const update: Command = {
  name: 'update',
  fields: ['updates', 'ordered', 'bypassDocumentValidation'],
  unknownField: 40415,
  inTransaction: true,
  isRetryable: true,
  run: runUpdate,
};

const STATEMENT_FIELDS: ReadonlySet<string> = new Set([
  'q',
  'u',
  'multi',
  'upsert',
  'arrayFilters',
  'collation',
  'hint',
]);

async function runUpdate(context: CommandContext): Promise<Doc> {
  const name = collectionName(context);
  const statements = writeBatch(context.body, 'updates').map(readStatement);
  return statementReply(
    context,
    await runStatements(context, context.body.get('updates') as Doc[], (_, index) =>
      executeUpdate(context, name, statements[index]!),
    ),
  );
}

/** One element of `updates`, checked. */
export interface UpdateStatement {
  readonly filter: Doc;
  readonly update: Doc | readonly Value[];
  readonly multi: boolean;
  readonly upsert: boolean;
  readonly arrayFilters: readonly Value[] | undefined;
  readonly hint: Value;
}

function readStatement(statement: Doc): UpdateStatement {
  for (const field of statement.keys()) {
    if (!STATEMENT_FIELDS.has(field)) {
      throw new DbError(40415, `BSON field 'update.updates.${field}' is an unknown field.`);
    }
  }
  for (const field of ['q', 'u']) {
    if (!statement.has(field)) {
      throw new DbError(
        40414,
        `BSON field 'update.updates.${field}' is missing but a required field`,
      );
    }
  }
  refuseOptionalCollation(statement);
  const update = statement.get('u');
  if (!isDoc(update) && !Array.isArray(update)) {
    throw new DbError(9, 'Update argument must be either an object or an array');
  }
  const arrayFilters = statement.get('arrayFilters');
  if (arrayFilters !== undefined && !Array.isArray(arrayFilters)) {
    throw new DbError(10065, 'invalid parameter: expected an object (arrayFilters)');
  }
  arrayFilters?.forEach((filter, position) => {
    if (!isDoc(filter))
      throw wrongType(`update.updates.arrayFilters.${position}`, filter, 'object');
  });
  if (Array.isArray(update) && !update.every(isDoc)) {
    throw new DbError(14, "Each element of the 'pipeline' array must be an object");
  }
  return {
    filter: documentField(statement, 'q') ?? new Map(),
    update,
    multi: optionalBooleanField(statement, 'multi'),
    upsert: optionalBooleanField(statement, 'upsert'),
    arrayFilters,
    hint: statement.get('hint'),
  };
}

async function executeUpdate(
  context: CommandContext,
  name: string,
  statement: UpdateStatement,
): Promise<StatementResult> {
  refuseView(context, name);
  if (statement.multi && context.txnNumber !== null && context.transaction === null) {
    throw new DbError(72, 'Cannot use (or request) retryable writes with multi=true');
  }
  const compiled = compileUpdate(statement.update, {
    timestamp: () => context.store.clock.tick(),
    ...expressionEnv(context),
    arrayFilters: statement.arrayFilters,
  });
  if (statement.multi && compiled.isReplacement) {
    throw new DbError(9, 'multi update is not supported for replacement-style update');
  }
  const matcher = compileFilter(statement.filter, {
    ...expressionEnv(context),
    exprRefusedIn: statement.upsert ? 'the filter of an upsert' : undefined,
  });
  for (;;) {
    const collection = readableCollection(context, name);
    const targets = collection === undefined ? [] : findTargets(collection, statement, matcher);
    if (targets.length > 0) {
      const done = await updateTargets(context, collection!, targets, matcher, compiled);
      // All of them may have changed while a transaction was waited for: look again, as an upsert must.
      if (done.matched > 0 || statement.multi) return done;
      continue;
    }
    if (!statement.upsert) return { matched: 0, modified: 0, upserted: undefined };
    const inserted = await insertUpsert(context, name, statement.filter, compiled, matcher);
    if (inserted !== null)
      return { matched: 1, modified: 0, upserted: doc(['_id', inserted.get('_id')]) };
  }
}

function findTargets(
  collection: Collection,
  statement: UpdateStatement,
  matcher: Matcher,
): RecordId[] {
  const plan = planQuery(collection, statement.filter, { hint: statement.hint });
  const scan = new DocumentScan(collection, plan, matcher.matches);
  if (statement.multi) return scan.toArray().map((found) => found.recordId);
  const found = scan.next();
  return found === null ? [] : [found.recordId];
}

async function updateTargets(
  context: CommandContext,
  collection: Collection,
  targets: readonly RecordId[],
  matcher: Matcher,
  compiled: CompiledUpdate,
): Promise<StatementResult> {
  let matched = 0;
  let modified = 0;
  for (const recordId of targets) {
    for (;;) {
      try {
        const outcome = updateRecord(context, collection, recordId, matcher, compiled);
        if (outcome === null) break;
        matched += 1;
        if (outcome.modified) modified += 1;
        break;
      } catch (error) {
        if (!(error instanceof Blocked)) throw error;
        await waitForUnblock(context, error);
      }
    }
  }
  return { matched, modified, upserted: undefined };
}

/**
 * Applies a compiled update to one record if it (still) matches; null if not. Synchronous, hence atomic.
 * Throws `Blocked` if a transaction is in the way.
 */
export function updateRecord(
  context: CommandContext,
  collection: Collection,
  recordId: RecordId,
  matcher: Matcher,
  compiled: CompiledUpdate,
): { before: Doc; after: Doc; modified: boolean } | null {
  const before = collection.records.get(recordId);
  if (before === undefined) return null;
  const position = matcher.matchWithPosition(before);
  if (position === null) return null;
  const applied = compiled.apply(before, { position, isInsert: false });
  if (!applied.modified) return { before, after: before, modified: false };
  checkValidator(context, collection, applied.doc, before);
  // As in MongoDB 4.2, a pipeline is told to change streams as a replacement.
  if (collection.identity.options.get('capped') === true)
    checkSameSize(collection, before, applied.doc);
  context.store.replace(context.unit, collection, recordId, applied.doc, applied.description);
  return { before, after: applied.doc, modified: true };
}

/** Throws 10003: documents of a capped collection keep their size. */
function checkSameSize(collection: Collection, before: Doc, after: Doc): void {
  const sizes = [encodeDocument(before).length, encodeDocument(after).length];
  if (sizes[0] === sizes[1]) return;
  throw new DbError(
    10003,
    `Cannot change the size of a document in a capped collection: ${sizes[0]} != ${sizes[1]} (${collection.namespace})`,
  );
}

/**
 * Inserts what an upsert makes of its filter and update. Null if a document that matches has come meanwhile (a duplicate
 * key that the filter itself would find): then the caller updates that one.
 */
export async function insertUpsert(
  context: CommandContext,
  name: string,
  filter: Doc,
  compiled: CompiledUpdate,
  matcher: Matcher,
): Promise<Doc | null> {
  const seed = seedUpsert(filter, compiled);
  const applied = compiled.apply(seed, { position: null, isInsert: true });
  const document = withIdFirst(applied.doc);
  // The update looked at what it set; the rest is the filter's.
  checkInsertable(document);
  const { adversary } = context.server;
  if (adversary?.racesUpserts) await adversary.delay();
  for (;;) {
    const collection = writableCollection(context, name);
    checkValidator(context, collection, document);
    try {
      context.store.insert(context.unit, collection, document);
      return document;
    } catch (error) {
      if (!(error instanceof Blocked)) throw error;
      await waitForUnblock(context, error);
      const current = readableCollection(context, name);
      if (current === undefined) continue;
      const again = new DocumentScan(current, planQuery(current, filter), matcher.matches).next();
      if (again !== null) return null;
    }
  }
}

function withIdFirst(document: Doc): Doc {
  const id = document.has('_id') ? document.get('_id') : new ObjectId();
  const out: Doc = new Map<string, Value>([['_id', id]]);
  for (const [key, value] of document) if (key !== '_id') out.set(key, value);
  return out;
}
