import { DbError } from '../errors.js';
import type { Collection } from '../storage/collection.js';
import { Blocked } from '../storage/store.js';
import { checkIdNames } from '../update/storage-rules.js';
import { type Doc, doc, isDoc, ObjectId, Timestamp, type Value } from '../values/value.js';
import {
  type Command,
  type CommandContext,
  collectionName,
  waitForUnblock,
  wrongType,
} from './command.js';
import { MAX_WRITE_BATCH } from './handshake.js';
import { checkValidator, refuseSystem, writableCollection } from './namespaces.js';
import { runStatements, statementReply } from './write-statements.js';

/** `insert`: each document is one statement; each is atomic by itself. */
export const insert: Command = {
  name: 'insert',
  fields: ['documents', 'ordered', 'bypassDocumentValidation'],
  unknownField: 40415,
  inTransaction: true,
  isRetryable: true,
  run: runInsert,
};

async function runInsert(context: CommandContext): Promise<Doc> {
  const name = collectionName(context);
  refuseSystem(context, name);
  const documents = writeBatch(context.body, 'documents');
  return statementReply(
    context,
    await runStatements(context, documents, async (document) => {
      const inserted = await insertOne(context, name, document);
      return { matched: 1, modified: null, upserted: doc(['_id', inserted.get('_id')]) };
    }),
  );
}

/** The statements of a write command, checked. */
export function writeBatch(body: Doc, field: string): Doc[] {
  const batch = body.get(field);
  if (batch === undefined) {
    throw new DbError(
      40414,
      `BSON field '${body.keys().next().value}.${field}' is missing but a required field`,
    );
  }
  if (!Array.isArray(batch)) {
    throw new DbError(10065, `invalid parameter: expected an object (${field})`);
  }
  if (batch.length === 0 || batch.length > MAX_WRITE_BATCH) {
    throw new DbError(
      16,
      `Write batch sizes must be between 1 and ${MAX_WRITE_BATCH}. Got ${batch.length} operations.`,
    );
  }
  batch.forEach((statement, position) => {
    if (!isDoc(statement)) throw wrongType(`${field}.${position}`, statement, 'object');
  });
  return batch as Doc[];
}

/** Inserts one document as a client sent it; waits for transactions that are in the way. */
export async function insertOne(context: CommandContext, name: string, sent: Doc): Promise<Doc> {
  const document = prepare(context, sent);
  for (;;) {
    const collection = writableCollection(context, name);
    checkValidator(context, collection, document);
    try {
      context.store.insert(context.unit, collection, document);
      enforceCap(context, collection);
      return document;
    } catch (error) {
      if (!(error instanceof Blocked)) throw error;
      await waitForUnblock(context, error);
    }
  }
}

/** `_id` first (made here if there is none), empty timestamps filled in, names at the top checked. */
function prepare(context: CommandContext, sent: Doc): Doc {
  const id = sent.has('_id') ? sent.get('_id') : new ObjectId();
  checkId(id);
  let isComplete = sent.keys().next().value === '_id';
  for (const [key, value] of sent) {
    if (key.startsWith('$')) {
      throw new DbError(2, `Document can't have $ prefixed field names: ${key}`);
    }
    if (isEmptyTime(value)) isComplete = false;
  }
  // Documents are never changed in place, so that the usual one can be kept as it came.
  if (isComplete) return sent;
  const document: Doc = new Map<string, Value>([['_id', id]]);
  for (const [key, value] of sent) {
    if (key === '_id') continue;
    document.set(key, isEmptyTime(value) ? context.store.clock.tick() : value);
  }
  return document;
}

function isEmptyTime(value: Value): boolean {
  return value instanceof Timestamp && value.isZero();
}

/** Throws for a value that no `_id` may have: arrays, regular expressions, undefined, documents with operators. */
function checkId(id: Value): void {
  if (Array.isArray(id)) throw new DbError(2, "can't use an array for _id");
  if (id === undefined) throw new DbError(2, "can't use a undefined for _id");
  if (typeof id === 'object' && id !== null && '_bsontype' in id && id._bsontype === 'BSONRegExp') {
    throw new DbError(2, "can't use a regex for _id");
  }
  checkIdNames(id);
}

/** Removes the oldest documents of a capped collection while it holds too many. */
export function enforceCap(context: CommandContext, collection: Collection): void {
  const { options } = collection.identity;
  if (options.get('capped') !== true) return;
  const max = Number(options.get('max')?.toString() ?? Number.POSITIVE_INFINITY);
  while (collection.records.size > max && collection.records.size > 1) {
    context.store.remove(context.unit, collection, collection.records.minKey()!);
  }
}
