import { DbError } from '../errors.js';
import { DocumentScan } from '../planner/execute.js';
import { type Plan, planQuery } from '../planner/plan.js';
import { compileProjection } from '../projection/compile-projection.js';
import { compileFilter, type Matcher } from '../query/compile-filter.js';
import { compileSort } from '../sort/compile-sort.js';
import { type DocumentSource, listSource } from '../state/cursors.js';
import type { Collection } from '../storage/collection.js';
import { type Doc } from '../values/value.js';
import { type Command, type CommandContext, collectionName } from './command.js';
import { expressionEnv } from './expression-env.js';
import { shownDocument, withinBounds } from './index-view.js';
import { readableCollection } from './namespaces.js';
import { openCursor } from './open-cursor.js';
import { type Query, readQuery } from './query.js';
import { aggregateView } from './view-queries.js';

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

/** Compiles a command's filter. */
export function commandFilter(
  context: CommandContext,
  filter: Doc,
  env = expressionEnv(context),
): Matcher {
  return compileFilter(filter, env);
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
      ? compileProjection(query.projection, query.filter, expressionEnv(context))
      : null;
  if (collection === undefined) return listSource([]);
  const plan = planQuery(collection, query.filter, { sort: query.sort, hint: query.hint });
  const isWithin = query.bounds === undefined ? null : withinBounds(query.bounds, plan);
  const matches =
    isWithin === null
      ? matcher.matches
      : (document: Doc) => isWithin(document) && matcher.matches(document);
  const scan = new DocumentScan(collection, plan, matches);
  const { namespace } = collection;
  const show = shownDocument(query, plan, projection ?? ((document) => document));
  if (sort !== null && sort.natural === null && !plan.providesSort) {
    const found = sort
      .sortBy(
        scan.toArray(),
        (one) => one.document,
        query.limit === 0 ? 0 : query.skip + query.limit,
      )
      .slice(query.skip);
    return {
      ...listSource(found.map(show)),
      checkAlive: () => checkAlive(context, collection, namespace, plan),
    };
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
        return show(found);
      }
      return null;
    },
    isAtEnd: () => left === 0,
    checkAlive: () => checkAlive(context, collection, namespace, plan),
    pause: () => scan.pause(),
  };
}

/** Throws 175 if the collection that a cursor was opened on has another name or is gone, or an index that it reads is. */
function checkAlive(
  context: CommandContext,
  collection: Collection,
  namespace: string,
  plan: Plan,
): void {
  if (context.transaction !== null) return;
  if (collection.namespace !== namespace) {
    throw new DbError(175, `collection renamed from '${namespace}' to '${collection.namespace}'`);
  }
  const { database, name } = collection.identity;
  if (context.store.catalogue.collection(database, name) !== collection) {
    throw new DbError(175, 'collection dropped');
  }
  const used =
    plan.stage === 'IXSCAN'
      ? [plan.index]
      : plan.stage === 'OR'
        ? plan.branches.map((one) => one.index)
        : [];
  for (const { spec } of used) {
    if (collection.indexes.some((index) => index.spec.name === spec.name)) continue;
    throw new DbError(175, `index '${spec.name}' dropped`);
  }
}
