import { DbError, failedToParse } from '../errors.js';
import { DocumentScan } from '../planner/execute.js';
import { planQuery } from '../planner/plan.js';
import { compileProjection } from '../projection/compile-projection.js';
import { compileFilter, type Matcher } from '../query/compile-filter.js';
import { compileSort } from '../sort/compile-sort.js';
import { cursorReply, type DocumentSource, listSource, takeBatch } from '../state/cursors.js';
import type { Collection } from '../storage/collection.js';
import { type Doc, isDoc, Long, type Value } from '../values/value.js';
import {
  booleanField,
  type Command,
  type CommandContext,
  collectionName,
  countField,
  documentField,
  wrongType,
} from './command.js';
import { readableCollection } from './namespaces.js';
import { aggregateView } from './views.js';

/** The batch size of a find without one, as in MongoDB. */
const DEFAULT_BATCH = 101;

export const find: Command = {
  name: 'find',
  fields: [
    'filter',
    'projection',
    'sort',
    'skip',
    'limit',
    'batchSize',
    'singleBatch',
    'hint',
    'min',
    'max',
    'returnKey',
    'showRecordId',
    'noCursorTimeout',
    'allowPartialResults',
    'tailable',
    'awaitData',
    'oplogReplay',
    'collation',
    'allowDiskUse',
    'ntoreturn',
    'snapshot',
  ],
  unknownField: 9,
  inTransaction: true,
  run: runFind,
};

async function runFind(context: CommandContext): Promise<Doc> {
  const name = collectionName(context);
  const query = readQuery(context);
  const namespace = `${context.database}.${name}`;
  const view = context.store.catalogue.view(context.database, name);
  if (view !== undefined) return aggregateView(context, view, query);
  const collection = readableCollection(context, name);
  if (query.tailable && collection?.identity.options.get('capped') !== true && collection) {
    throw new DbError(
      2,
      `error processing query: tailable cursor requested on non capped collection`,
    );
  }
  const source = openQuery(context, collection, query);
  return openCursor(context, source, namespace, {
    batchSize: query.batchSize ?? DEFAULT_BATCH,
    limit: query.limit,
    singleBatch: query.singleBatch,
    noTimeout: query.noCursorTimeout,
    isTailable: query.tailable && collection !== undefined,
    awaitsData: query.awaitData,
  });
}

/** A find as it was asked for. */
export interface Query {
  readonly filter: Doc;
  readonly projection: Doc | undefined;
  readonly sort: Doc | undefined;
  readonly skip: number;
  /** 0 for no limit. */
  readonly limit: number;
  readonly batchSize: number | undefined;
  readonly singleBatch: boolean;
  readonly hint: Value;
  readonly noCursorTimeout: boolean;
  readonly tailable: boolean;
  readonly awaitData: boolean;
}

export function readQuery(context: CommandContext): Query {
  const { body } = context;
  refuseCollation(body);
  refuseUnsupported(body);
  const limit = countField(body, 'limit') ?? 0;
  const tailable = booleanField(body, 'tailable');
  const awaitData = booleanField(body, 'awaitData');
  if (awaitData && !tailable) throw failedToParse('Cannot set awaitData without tailable');
  return {
    filter: documentField(body, 'filter') ?? new Map(),
    projection: documentField(body, 'projection'),
    sort: documentField(body, 'sort'),
    skip: countField(body, 'skip') ?? 0,
    limit,
    batchSize: countField(body, 'batchSize'),
    singleBatch: booleanField(body, 'singleBatch'),
    hint: readHintField(body),
    noCursorTimeout: booleanField(body, 'noCursorTimeout'),
    tailable,
    awaitData,
  };
}

function readHintField(body: Doc): Value {
  const hint = body.get('hint');
  if (hint === undefined || typeof hint === 'string' || isDoc(hint)) return hint;
  throw wrongType('hint', hint, 'string or object');
}

/** Only the simple collation is supported. */
export function refuseCollation(body: Doc): void {
  const collation = body.get('collation');
  if (collation === undefined) return;
  if (!isDoc(collation)) throw wrongType('collation', collation, 'object');
  if (collation.size === 0) return;
  if (collation.get('locale') === 'simple') return;
  if (typeof collation.get('locale') !== 'string') {
    throw new DbError(40414, "BSON field 'collation.locale' is missing but a required field");
  }
  throw new DbError(238, 'this development server supports the simple collation only');
}

function refuseUnsupported(body: Doc): void {
  for (const field of ['min', 'max'] as const) {
    const value = body.get(field);
    if (isDoc(value) && value.size > 0) {
      throw new DbError(238, `find option '${field}' is not supported by this development server`);
    }
  }
  for (const field of ['returnKey', 'showRecordId'] as const) {
    if (booleanField(body, field)) {
      throw new DbError(238, `find option '${field}' is not supported by this development server`);
    }
  }
  for (const field of ['ntoreturn', 'snapshot']) {
    if (body.has(field)) throw failedToParse(`Failed to parse: unrecognized field '${field}'`);
  }
}

/** Compiles a command's filter. */
export function commandFilter(context: CommandContext, filter: Doc): Matcher {
  return compileFilter(filter, { now: context.now });
}

/** The documents of a query: filtered, sorted, cut and projected. */
export function openQuery(
  context: CommandContext,
  collection: Collection | undefined,
  query: Query,
): DocumentSource {
  const matcher = commandFilter(context, query.filter);
  const sort = query.sort && query.sort.size > 0 ? compileSort(query.sort) : null;
  const projection =
    query.projection && query.projection.size > 0
      ? compileProjection(query.projection, query.filter, { now: context.now })
      : null;
  if (collection === undefined) return listSource([]);
  const plan = planQuery(collection, query.filter, { sort: query.sort, hint: query.hint });
  const scan = new DocumentScan(collection, plan, matcher.matches);
  const project = (document: Doc): Doc => (projection === null ? document : projection(document));
  if (sort !== null && sort.natural === null && !plan.providesSort) {
    const documents = sort
      .sort(
        scan.toArray().map((found) => found.document),
        query.limit === 0 ? 0 : query.skip + query.limit,
      )
      .slice(query.skip);
    return listSource(documents.map(project));
  }
  let toSkip = query.skip;
  let left = query.limit === 0 ? Number.POSITIVE_INFINITY : query.limit;
  return {
    next() {
      if (left === 0) return null;
      for (let found = scan.next(); found !== null; found = scan.next()) {
        if (toSkip > 0) {
          toSkip -= 1;
          continue;
        }
        left -= 1;
        return project(found.document);
      }
      return null;
    },
    pause: () => scan.pause(),
  };
}

/** The first batch of a source, and a cursor for the rest if there is any. */
export function openCursor(
  context: CommandContext,
  source: DocumentSource,
  namespace: string,
  options: {
    readonly batchSize: number;
    readonly limit?: number;
    readonly singleBatch?: boolean;
    readonly noTimeout?: boolean;
    readonly isTailable?: boolean;
    readonly awaitsData?: boolean;
  },
): Doc {
  const batch = takeBatch(source, options.batchSize);
  const reachedLimit = Boolean(options.limit) && batch.documents.length >= options.limit!;
  let { held } = batch;
  let over = (batch.ended && !options.isTailable) || reachedLimit || options.singleBatch === true;
  if (!over && held === null && options.batchSize > 0 && !options.isTailable) {
    // A cursor with nothing left is not opened.
    held = source.next();
    over = held === null;
  }
  const extra = source.resumeToken
    ? new Map([['postBatchResumeToken', source.resumeToken()]])
    : undefined;
  if (over) {
    source.close?.();
    return cursorReply('firstBatch', batch.documents, Long.ZERO, namespace, extra);
  }
  source.pause?.();
  const cursor = context.server.cursors.open({
    namespace,
    source,
    session: context.session?.key ?? null,
    txnNumber: context.transaction === null ? null : context.txnNumber,
    command: context.body,
    noTimeout: options.noTimeout ?? false,
    isTailable: options.isTailable ?? false,
    awaitsData: options.awaitsData ?? false,
  });
  cursor.held = held;
  return cursorReply('firstBatch', batch.documents, cursor.id, namespace, extra);
}
