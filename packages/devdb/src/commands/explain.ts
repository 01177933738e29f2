import { DbError } from '../errors.js';
import { type DistinctPlan, distinctDocuments, planDistinct } from '../planner/distinct-scan.js';
import { DocumentScan } from '../planner/execute.js';
import { type Plan, planQuery } from '../planner/plan.js';
import type { ScanStats } from '../planner/scan.js';
import { newStats } from '../planner/scan.js';
import { compileFilter, type Matcher } from '../query/compile-filter.js';
import type { Collection } from '../storage/collection.js';
import { type Doc, doc, int32, isDoc, type Value } from '../values/value.js';
import type { Command, CommandContext } from './command.js';
import { describePlanner, describeStages, type Explained } from './explain-plan.js';
import { expressionEnv } from './expression-env.js';

/** `explain` of find, count, distinct, delete, update and findAndModify: the winning plan, and what it examined. */
export const explain: Command = {
  name: 'explain',
  fields: ['verbosity'],
  unknownField: 9,
  run: runExplain,
};

function runExplain(context: CommandContext): Doc {
  const inner = context.body.get('explain');
  if (!isDoc(inner)) throw new DbError(9, 'explain command requires a nested object');
  const verbosity = context.body.get('verbosity') ?? 'allPlansExecution';
  if (!['queryPlanner', 'executionStats', 'allPlansExecution'].includes(String(verbosity))) {
    throw new DbError(
      9,
      "verbosity string must be one of {'queryPlanner', 'executionStats', 'allPlansExecution'}",
    );
  }
  const query = readInner(inner);
  const collection = context.store
    .catalogueOf(context.unit)
    .collection(context.database, query.name);
  const matcher = compileFilter(query.filter, expressionEnv(context));
  const reply: Doc = new Map();
  const plan = collection === undefined ? null : planQuery(collection, query.filter, query);
  const leaps =
    collection !== undefined && query.kind === 'distinct'
      ? planDistinct(collection, query.filter, [...query.projection!.keys()].at(-1)!)
      : null;
  const namespace = `${context.database}.${query.name}`;
  reply.set('queryPlanner', describePlanner(namespace, query, collection, plan, leaps));
  if (verbosity !== 'queryPlanner') {
    const { returned, stats } =
      plan === null
        ? { returned: 0, stats: newStats() }
        : leaps === null
          ? execute(collection!, plan, query, matcher)
          : executeLeaps(collection!, leaps, matcher);
    reply.set(
      'executionStats',
      doc(
        ['executionSuccess', true],
        ['nReturned', int32(returned)],
        ['executionTimeMillis', int32(0)],
        ['totalKeysExamined', int32(stats.keysExamined)],
        ['totalDocsExamined', int32(stats.documentsExamined)],
        ['executionStages', describeStages(plan, query, leaps)],
      ),
    );
  }
  return reply;
}

/** What a run gave and what it looked at. */
interface Execution {
  readonly returned: number;
  readonly stats: ScanStats;
}

function execute(
  collection: Collection,
  plan: Plan,
  query: Explained,
  matcher: Matcher,
): Execution {
  const scan = new DocumentScan(collection, plan, matcher.matches);
  const stopsEarly = query.limit > 0 && (query.sort === undefined || plan.providesSort);
  const wanted = query.limit > 0 ? query.skip + query.limit : Number.POSITIVE_INFINITY;
  let found = 0;
  while (!(stopsEarly && found >= wanted) && scan.next() !== null) found += 1;
  return { returned: Math.max(0, Math.min(found, wanted) - query.skip), stats: scan.stats };
}

function executeLeaps(collection: Collection, leaps: DistinctPlan, matcher: Matcher): Execution {
  const stats = newStats();
  let returned = 0;
  for (const _ of distinctDocuments(collection, leaps, matcher.matches, stats)) returned += 1;
  return { returned, stats };
}

function readInner(command: Doc): Explained {
  const [name, target] = command.entries().next().value ?? ['', undefined];
  const first = (field: string): Doc => {
    const list = command.get(field);
    if (!Array.isArray(list) || !isDoc(list[0]))
      throw new DbError(9, `explain: '${field}' must hold one statement`);
    return list[0];
  };
  const make = (
    kind: Explained['kind'],
    filter: Value,
    from: Doc,
    more: Partial<Explained> = {},
  ): Explained => ({
    kind,
    name: String(target),
    filter: isDoc(filter) ? filter : new Map(),
    sort: isDoc(from.get('sort')) ? (from.get('sort') as Doc) : undefined,
    projection: undefined,
    hint: from.get('hint'),
    skip: Number(from.get('skip')?.toString() ?? 0),
    limit: Math.abs(Number(from.get('limit')?.toString() ?? 0)),
    ...more,
  });
  switch (name) {
    case 'find': {
      const projection = command.get('projection');
      return make('find', command.get('filter'), command, isDoc(projection) ? { projection } : {});
    }
    case 'count':
      return make('count', command.get('query'), command);
    case 'distinct': {
      const projection = doc(['_id', int32(0)], [String(command.get('key')), int32(1)]);
      return make('distinct', command.get('query'), command, { projection });
    }
    case 'findAndModify':
    case 'findandmodify': {
      const kind = command.get('remove') === true ? 'delete' : 'update';
      return make(kind, command.get('query'), command, { limit: 1 });
    }
    case 'update': {
      const statement = first('updates');
      return make('update', statement.get('q'), statement);
    }
    case 'delete': {
      const statement = first('deletes');
      return make('delete', statement.get('q'), statement, { limit: 0 });
    }
    case 'aggregate': {
      const pipeline = command.get('pipeline');
      const head =
        Array.isArray(pipeline) && isDoc(pipeline[0]) ? pipeline[0].get('$match') : undefined;
      return make('aggregate', head, command);
    }
    case 'insert':
    case 'create':
    case 'drop':
    case 'createIndexes':
      throw new DbError(20, `Cannot explain cmd: ${name}`);
    default:
      throw new DbError(59, `Explain failed due to unknown command: ${name}`);
  }
}

/** The reply of an aggregate with `explain`: how its first stage finds documents. */
export function explainPipeline(
  context: CommandContext,
  name: string | null,
  stages: readonly Value[],
): Doc {
  const first = stages[0];
  const match = isDoc(first) ? first.get('$match') : undefined;
  const filter: Doc = isDoc(match) ? match : new Map();
  const query: Explained = {
    kind: 'aggregate',
    projection: undefined,
    name: name ?? '$cmd.aggregate',
    filter,
    sort: undefined,
    hint: context.body.get('hint'),
    skip: 0,
    limit: 0,
  };
  const collection =
    name === null
      ? undefined
      : context.store.catalogueOf(context.unit).collection(context.database, name);
  const plan = collection === undefined ? null : planQuery(collection, filter, query);
  const cursor = doc([
    '$cursor',
    doc(
      ['query', filter],
      [
        'queryPlanner',
        describePlanner(`${context.database}.${query.name}`, query, collection, plan),
      ],
    ),
  ]);
  return doc(['stages', [cursor, ...stages.slice(isDoc(match) ? 1 : 0)]]);
}
