import { DbError } from '../errors.js';
import { DocumentScan, type Found } from '../planner/execute.js';
import { planQuery } from '../planner/plan.js';
import { compileProjection } from '../projection/compile-projection.js';
import { compileFilter, type Matcher } from '../query/compile-filter.js';
import { compileSort, type Sorter } from '../sort/compile-sort.js';
import type { Collection } from '../storage/collection.js';
import { Blocked } from '../storage/store.js';
import { type CompiledUpdate, compileUpdate } from '../update/compile-update.js';
import { toDouble } from '../values/numbers.js';
import { typeName } from '../values/type-names.js';
import { type Doc, doc, int32, isDoc, isNumeric, isTruthy, type Value } from '../values/value.js';
import {
  type Command,
  type CommandContext,
  collectionName,
  documentField,
  waitForUnblock,
  wrongType,
} from './command.js';
import { expressionEnv } from './expression-env.js';
import { readableCollection, refuseView } from './namespaces.js';
import { refuseCollation } from './query.js';
import { insertUpsert, updateRecord } from './update.js';
import { rememberedResult, rememberResult } from './write-statements.js';

/** `findAndModify`: finds, changes and answers one document in one step that nothing can come between. */
export const findAndModify: Command = {
  name: 'findAndModify',
  aliases: ['findandmodify'],
  fields: [
    'query',
    'sort',
    'remove',
    'update',
    'new',
    'fields',
    'upsert',
    'bypassDocumentValidation',
    'collation',
    'arrayFilters',
    'hint',
  ],
  unknownField: 51177,
  inTransaction: true,
  isRetryable: true,
  run: runFindAndModify,
};

/** The fields that have to be documents, with the codes that say so. */
const OBJECT_FIELDS = [
  ['query', 31160],
  ['sort', 31174],
  ['fields', 31175],
] as const;

interface Request {
  readonly filter: Doc;
  readonly sort: Doc | undefined;
  readonly remove: boolean;
  readonly update: Doc | readonly Value[] | undefined;
  readonly returnNew: boolean;
  readonly upsert: boolean;
  readonly arrayFilters: readonly Value[] | undefined;
  readonly hint: Value;
  readonly project: (document: Doc) => Doc;
}

async function runFindAndModify(context: CommandContext): Promise<Doc> {
  const name = collectionName(context);
  const request = readRequest(context);
  refuseView(context, name);
  const statementId = Number(context.body.get('stmtId')?.toString() ?? 0);
  const earlier = rememberedResult(context, statementId);
  if (earlier !== undefined) return repeatedReply(earlier, request);
  const outcome = request.remove
    ? await removeOne(context, name, request)
    : await updateOne(context, name, request);
  if (outcome.stored !== null) rememberResult(context, statementId, outcome.stored);
  return outcome.reply;
}

/** What the command answers, and what it keeps for a retry: null if it wrote nothing. */
interface Outcome {
  readonly reply: Doc;
  readonly stored: Doc | null;
}

/**
 * The answer to a retry, made from what the first try kept, as MongoDB makes it from its log: the whole document, and
 * an error if the other one of before and after was kept. After another kind of write the retry is answered by that write where
 * MongoDB does so, and else refused: an update after a removal (40606), anything but an upsert after an insert (40608).
 */
function repeatedReply(stored: Doc, request: Request): Doc {
  const image = stored.get('image') as Doc | undefined;
  if (stored.has('upserted')) {
    if (!request.upsert) throw otherWrite(40608, 'insert');
    if (!request.returnNew) return upsertReply(stored.get('upserted') as Doc, null);
    if (image === undefined) throw incompleteHistory();
    return upsertReply(stored.get('upserted') as Doc, image);
  }
  const kept = stored.get('kind');
  // The record of an update tells whether it modified; that of a removal does not.
  if (!stored.has('nModified')) {
    if (!request.remove) throw otherWrite(40606, 'delete');
    if (image === undefined) {
      throw new DbError(40607, 'No pre-image available for findAndModify retry request');
    }
    return removeReply(1, image);
  }
  if (request.returnNew && kept !== 'after') {
    throw new DbError(
      40611,
      'findAndModify retry wants the document after update returned, but only before update document is stored',
    );
  }
  if (!request.returnNew && kept !== 'before') {
    throw new DbError(
      40612,
      'findAndModify retry wants the document before update returned, but only after update document is stored',
    );
  }
  return updateReply(image as Doc);
}

function otherWrite(code: number, kind: string): DbError {
  return new DbError(
    code,
    `findAndModify retry request is not compatible with previous write in the transaction of type: ${kind}`,
  );
}

/** An `insert` or `update` keeps no document for a findAndModify that takes its number. */
function incompleteHistory(): DbError {
  return new DbError(217, 'the inserted document is no longer known under this transaction number');
}

function readRequest(context: CommandContext): Request {
  const { body } = context;
  refuseCollation(body);
  for (const [field, code] of OBJECT_FIELDS) {
    const value = body.get(field);
    if (body.has(field) && !isDoc(value)) {
      throw new DbError(code, `'${field}' parameter must be an object, found ${typeName(value)}`);
    }
  }
  const remove = isTruthy(body.get('remove'));
  const returnNew = isTruthy(body.get('new'));
  const upsert = isTruthy(body.get('upsert'));
  const update = body.get('update');
  if (remove) {
    if (update !== undefined) throw new DbError(9, 'Cannot specify both an update and remove=true');
    if (upsert) throw new DbError(9, 'Cannot specify both upsert=true and remove=true');
    if (returnNew) {
      throw new DbError(
        9,
        "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document",
      );
    }
  } else if (update === undefined) {
    throw new DbError(9, 'Either an update or remove=true must be specified');
  }
  if (update !== undefined && !isDoc(update) && !Array.isArray(update)) {
    throw new DbError(9, 'Update argument must be either an object or an array');
  }
  const arrayFilters = body.get('arrayFilters');
  if (arrayFilters !== undefined && !Array.isArray(arrayFilters)) {
    throw wrongType('arrayFilters', arrayFilters, 'array');
  }
  const filter = documentField(body, 'query') ?? new Map();
  const fields = documentField(body, 'fields');
  if (returnNew && fields !== undefined && hasPositional(fields)) {
    throw new DbError(2, 'cannot use a positional projection and return the new document');
  }
  const project =
    fields !== undefined && fields.size > 0
      ? compileProjection(fields, filter, expressionEnv(context))
      : (document: Doc) => document;
  return {
    filter,
    sort: signsOnly(documentField(body, 'sort')),
    remove,
    update,
    returnNew,
    upsert,
    arrayFilters,
    hint: body.get('hint'),
    project,
  };
}

function hasPositional(fields: Doc): boolean {
  return [...fields.keys()].some((path) => path.endsWith('.$'));
}

/** This command takes any number for a direction: its sign counts. */
function signsOnly(sort: Doc | undefined): Doc | undefined {
  if (sort === undefined) return undefined;
  const signed: Doc = new Map();
  for (const [path, direction] of sort) {
    const isNumber = isNumeric(direction);
    signed.set(path, isNumber ? int32(toDouble(direction) < 0 ? -1 : 1) : direction);
  }
  return signed;
}

function sorterOf({ sort }: Request): Sorter | null {
  return sort !== undefined && sort.size > 0 ? compileSort(sort) : null;
}

/** The first document in the order of the sort. */
function findFirst(
  collection: Collection,
  request: Request,
  matcher: Matcher,
  sort: Sorter | null,
): Found | null {
  const plan = planQuery(collection, request.filter, { sort: request.sort, hint: request.hint });
  const scan = new DocumentScan(collection, plan, matcher.matches);
  if (sort === null || sort.natural !== null || plan.providesSort) return scan.next();
  let best: Found | null = null;
  for (let found = scan.next(); found !== null; found = scan.next()) {
    if (best === null || sort.compare(found.document, best.document) < 0) best = found;
  }
  return best;
}

async function removeOne(
  context: CommandContext,
  name: string,
  request: Request,
): Promise<Outcome> {
  const matcher = compileFilter(request.filter, expressionEnv(context));
  const sort = sorterOf(request);
  for (;;) {
    const collection = readableCollection(context, name);
    const found = collection === undefined ? null : findFirst(collection, request, matcher, sort);
    if (found === null) return { reply: removeReply(0, null), stored: null };
    try {
      context.store.remove(context.unit, collection!, found.recordId);
      return {
        reply: removeReply(1, request.project(found.document)),
        stored: doc(['n', int32(1)], ['kind', 'remove'], ['image', found.document]),
      };
    } catch (error) {
      if (!(error instanceof Blocked)) throw error;
      await waitForUnblock(context, error);
    }
  }
}

function removeReply(count: number, value: Doc | null): Doc {
  return doc(['lastErrorObject', doc(['n', int32(count)])], ['value', value]);
}

function updateReply(value: Doc): Doc {
  return doc(
    ['lastErrorObject', doc(['n', int32(1)], ['updatedExisting', true])],
    ['value', value],
  );
}

function upsertReply(upserted: Doc, value: Doc | null): Doc {
  const id = upserted.get('_id');
  return doc(
    ['lastErrorObject', doc(['n', int32(1)], ['updatedExisting', false], ['upserted', id])],
    ['value', value],
  );
}

async function updateOne(
  context: CommandContext,
  name: string,
  request: Request,
): Promise<Outcome> {
  const compiled: CompiledUpdate = compileUpdate(request.update as Doc | readonly Value[], {
    ...expressionEnv(context),
    arrayFilters: request.arrayFilters,
    timestamp: () => context.store.clock.tick(),
  });
  const matcher = compileFilter(request.filter, {
    ...expressionEnv(context),
    exprRefusedIn: request.upsert ? 'the filter of an upsert' : undefined,
  });
  const sort = sorterOf(request);
  for (;;) {
    const collection = readableCollection(context, name);
    const found = collection === undefined ? null : findFirst(collection, request, matcher, sort);
    if (found === null) {
      if (!request.upsert) return { reply: nothingFound(), stored: null };
      const inserted = await insertUpsert(context, name, request.filter, compiled, matcher);
      if (inserted === null) continue;
      const upserted = doc(['_id', inserted.get('_id')]);
      return {
        reply: upsertReply(upserted, request.returnNew ? request.project(inserted) : null),
        stored: doc(['n', int32(1)], ['upserted', upserted], ['image', inserted]),
      };
    }
    try {
      const outcome = updateRecord(context, collection!, found.recordId, matcher, compiled);
      if (outcome === null) continue;
      const image = request.returnNew ? outcome.after : outcome.before;
      const kept = doc(
        ['n', int32(1)],
        ['nModified', int32(1)],
        ['kind', request.returnNew ? 'after' : 'before'],
        ['image', image],
      );
      return {
        reply: updateReply(request.project(image)),
        stored: outcome.modified ? kept : null,
      };
    } catch (error) {
      if (!(error instanceof Blocked)) throw error;
      await waitForUnblock(context, error);
    }
  }
}

function nothingFound(): Doc {
  return doc(
    ['lastErrorObject', doc(['n', int32(0)], ['updatedExisting', false])],
    ['value', null],
  );
}
