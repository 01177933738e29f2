import { DbError } from '../errors.js';
import { DocumentScan } from '../planner/execute.js';
import { type IndexPlan, type Plan, planQuery } from '../planner/plan.js';
import type { PartInterval } from '../planner/predicates.js';
import { compileFilter } from '../query/compile-filter.js';
import { type Doc, doc, int32, isDoc, type Value } from '../values/value.js';
import type { Command, CommandContext } from './command.js';
import { expressionEnv } from './expression-env.js';

/** `explain` of find, count, distinct, delete, update and findAndModify: the winning plan, and what it examined. */
export const explain: Command = {
  name: 'explain',
  fields: ['verbosity'],
  unknownField: 9,
  run: runExplain,
};

interface Explained {
  readonly name: string;
  readonly filter: Doc;
  readonly sort: Doc | undefined;
  readonly hint: Value;
  readonly skip: number;
  readonly limit: number;
}

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
  reply.set(
    'queryPlanner',
    doc(
      ['plannerVersion', int32(1)],
      ['namespace', `${context.database}.${query.name}`],
      ['indexFilterSet', false],
      ['parsedQuery', parsedQuery(query.filter)],
      ['winningPlan', plan === null ? doc(['stage', 'EOF']) : describePlan(plan, query)],
      ['rejectedPlans', []],
    ),
  );
  if (verbosity !== 'queryPlanner') {
    const scan = plan === null ? null : new DocumentScan(collection!, plan, matcher.matches);
    const isLimited = query.limit > 0 && (query.sort === undefined || plan?.providesSort === true);
    const wanted = isLimited ? query.skip + query.limit : Number.POSITIVE_INFINITY;
    let found = 0;
    while (scan !== null && found < wanted && scan.next() !== null) found += 1;
    const returned = Math.max(
      0,
      (query.limit > 0 ? Math.min(found, query.skip + query.limit) : found) - query.skip,
    );
    reply.set(
      'executionStats',
      doc(
        ['executionSuccess', true],
        ['nReturned', int32(returned)],
        ['executionTimeMillis', int32(0)],
        ['totalKeysExamined', int32(scan?.stats.keysExamined ?? 0)],
        ['totalDocsExamined', int32(scan?.stats.documentsExamined ?? 0)],
        ['executionStages', plan === null ? doc(['stage', 'EOF']) : describePlan(plan, query)],
      ),
    );
  }
  return reply;
}

function readInner(command: Doc): Explained {
  const [name, target] = command.entries().next().value ?? ['', undefined];
  const first = (field: string): Doc => {
    const list = command.get(field);
    if (!Array.isArray(list) || !isDoc(list[0]))
      throw new DbError(9, `explain: '${field}' must hold one statement`);
    return list[0];
  };
  const make = (filter: Value, from: Doc, limit?: number): Explained => ({
    name: String(target),
    filter: isDoc(filter) ? filter : new Map(),
    sort: isDoc(from.get('sort')) ? (from.get('sort') as Doc) : undefined,
    hint: from.get('hint'),
    skip: Number(from.get('skip')?.toString() ?? 0),
    limit: limit ?? Math.abs(Number(from.get('limit')?.toString() ?? 0)),
  });
  switch (name) {
    case 'find':
      return make(command.get('filter'), command);
    case 'count':
    case 'distinct':
      return make(command.get('query'), command);
    case 'findAndModify':
    case 'findandmodify':
      return make(command.get('query'), command, 1);
    case 'update': {
      const statement = first('updates');
      return make(statement.get('q'), statement, statement.get('multi') === true ? 0 : 1);
    }
    case 'delete': {
      const statement = first('deletes');
      return make(statement.get('q'), statement);
    }
    case 'aggregate': {
      const pipeline = command.get('pipeline');
      const head =
        Array.isArray(pipeline) && isDoc(pipeline[0]) ? pipeline[0].get('$match') : undefined;
      return make(head, command);
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

/** The filter with each equality spelled out. */
function parsedQuery(filter: Doc): Doc {
  const parts: Doc[] = [];
  for (const [key, condition] of filter) {
    if (key.startsWith('$')) parts.push(doc([key, condition]));
    else if (isDoc(condition) && [...condition.keys()][0]?.startsWith('$')) {
      for (const [operator, operand] of condition) parts.push(doc([key, doc([operator, operand])]));
    } else parts.push(doc([key, doc(['$eq', condition])]));
  }
  if (parts.length === 0) return new Map();
  return parts.length === 1 ? parts[0]! : doc(['$and', parts]);
}

function describePlan(plan: Plan, query: Explained): Doc {
  let stage: Doc;
  if (plan.stage === 'COLLSCAN') {
    stage = doc(['stage', 'COLLSCAN']);
    if (query.filter.size > 0) stage.set('filter', parsedQuery(query.filter));
    stage.set('direction', plan.reverse ? 'backward' : 'forward');
  } else if (plan.stage === 'OR') {
    stage = doc(
      ['stage', 'FETCH'],
      ['inputStage', doc(['stage', 'OR'], ['inputStages', plan.branches.map(describeIndex)])],
    );
  } else if (plan.isIdLookup && query.filter.size === 1) {
    stage = doc(['stage', 'IDHACK']);
  } else {
    stage = doc(['stage', 'FETCH'], ['inputStage', describeIndex(plan)]);
  }
  if (query.sort && query.sort.size > 0 && !plan.providesSort && !query.sort.has('$natural')) {
    stage = doc(['stage', 'SORT'], ['sortPattern', query.sort], ['inputStage', stage]);
  }
  if (query.skip > 0)
    stage = doc(['stage', 'SKIP'], ['skipAmount', int32(query.skip)], ['inputStage', stage]);
  if (query.limit > 0)
    stage = doc(['stage', 'LIMIT'], ['limitAmount', int32(query.limit)], ['inputStage', stage]);
  return stage;
}

function describeIndex(plan: IndexPlan): Doc {
  const { index } = plan;
  const paths = [...index.spec.key.keys()];
  const bounds: Doc = new Map();
  paths.forEach((path, position) => {
    bounds.set(path, describeParts(plan.parts[position] ?? null));
  });
  const multikeyPaths: Doc = new Map();
  paths.forEach((path, position) => {
    multikeyPaths.set(path, (index.multikey >> position) & 1 ? [path] : []);
  });
  return doc(
    ['stage', 'IXSCAN'],
    ['keyPattern', index.spec.key],
    ['indexName', index.spec.name],
    ['isMultiKey', index.multikey !== 0],
    ['multiKeyPaths', multikeyPaths],
    ['isUnique', index.spec.unique],
    ['isSparse', index.spec.sparse],
    ['isPartial', index.spec.partialFilter !== undefined],
    ['indexVersion', int32(2)],
    ['direction', plan.reverse ? 'backward' : 'forward'],
    ['indexBounds', bounds],
  );
}

function describeParts(parts: readonly PartInterval[] | null): Value[] {
  if (parts === null) return ['[MinKey, MaxKey]'];
  return parts.map((part) => part.label);
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
        doc(
          ['plannerVersion', int32(1)],
          ['namespace', `${context.database}.${query.name}`],
          ['indexFilterSet', false],
          ['parsedQuery', parsedQuery(filter)],
          ['winningPlan', plan === null ? doc(['stage', 'EOF']) : describePlan(plan, query)],
          ['rejectedPlans', []],
        ),
      ],
    ),
  ]);
  return doc(['stages', [cursor, ...stages.slice(isDoc(match) ? 1 : 0)]]);
}
