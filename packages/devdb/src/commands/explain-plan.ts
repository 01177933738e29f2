/** A plan as `explain` shows it. */
import type { DistinctPlan } from '../planner/distinct-scan.js';
import type { IndexPlan } from '../planner/index-plan.js';
import type { Plan } from '../planner/plan.js';
import type { PartInterval } from '../planner/predicates.js';
import { planCacheKey, queryHash } from '../planner/query-shape.js';
import type { Collection } from '../storage/collection.js';
import { type Doc, doc, int32, isDoc, type Value } from '../values/value.js';

/** What of a command is explained. */
export interface Explained {
  readonly kind: 'find' | 'count' | 'distinct' | 'update' | 'delete' | 'aggregate';
  readonly name: string;
  readonly filter: Doc;
  readonly sort: Doc | undefined;
  readonly projection: Doc | undefined;
  readonly hint: Value;
  readonly skip: number;
  readonly limit: number;
}

/** The `queryPlanner` member; no plan for a collection that does not exist. */
export function describePlanner(
  namespace: string,
  query: Explained,
  collection: Collection | undefined,
  plan: Plan | null,
  leaps: DistinctPlan | null = null,
): Doc {
  const planner = doc(
    ['plannerVersion', int32(1)],
    ['namespace', namespace],
    ['indexFilterSet', false],
  );
  // A write by `_id` is planned without the query being parsed.
  if (!isWrite(query) || !isIdLookup(plan, query)) {
    planner.set('parsedQuery', parsedQuery(query.filter));
    if (collection !== undefined) {
      planner.set('queryHash', queryHash(query));
      planner.set('planCacheKey', planCacheKey(query, collection.indexes));
    }
  }
  planner.set('winningPlan', describeStages(plan, query, leaps));
  planner.set('rejectedPlans', []);
  return planner;
}

function isWrite({ kind }: Explained): boolean {
  return kind === 'update' || kind === 'delete';
}

function isIdLookup(plan: Plan | null, query: Explained): boolean {
  return plan?.stage === 'IXSCAN' && plan.isIdLookup && query.filter.size === 1;
}

/** The stages of a plan, the last one outermost. */
export function describeStages(
  plan: Plan | null,
  query: Explained,
  leaps: DistinctPlan | null = null,
): Doc {
  if (plan === null) return doc(['stage', 'EOF']);
  if (leaps !== null) return describeLeaps(leaps, query);
  const stage = describePlan(plan, query);
  const outer = OUTER_STAGES[query.kind];
  return outer === undefined ? stage : doc(['stage', outer], ['inputStage', stage]);
}

/** A scan from each value of an index to the next one. */
function describeLeaps({ plan }: DistinctPlan, { projection }: Explained): Doc {
  const scan = describeIndex(plan);
  scan.set('stage', 'DISTINCT_SCAN');
  return doc(
    ['stage', plan.index.multikey === 0 ? 'PROJECTION_COVERED' : 'PROJECTION_SIMPLE'],
    ['transformBy', projection ?? new Map()],
    ['inputStage', scan],
  );
}

const OUTER_STAGES: Readonly<Partial<Record<Explained['kind'], string>>> = {
  count: 'COUNT',
  update: 'UPDATE',
  delete: 'DELETE',
};

function describePlan(plan: Plan, query: Explained): Doc {
  let stage = describeSource(plan, query);
  if (query.sort && query.sort.size > 0 && !plan.providesSort && !query.sort.has('$natural')) {
    const keys = doc(['stage', 'SORT_KEY_GENERATOR'], ['inputStage', stage]);
    stage = doc(['stage', 'SORT'], ['sortPattern', query.sort], ['inputStage', keys]);
  }
  if (query.skip > 0) {
    stage = doc(['stage', 'SKIP'], ['skipAmount', int32(query.skip)], ['inputStage', stage]);
  }
  if (query.limit > 0 && !isIdLookup(plan, query)) {
    stage = doc(['stage', 'LIMIT'], ['limitAmount', int32(query.limit)], ['inputStage', stage]);
  }
  return stage;
}

function describeSource(plan: Plan, query: Explained): Doc {
  if (plan.stage === 'COLLSCAN') {
    const stage = doc(['stage', 'COLLSCAN']);
    if (query.filter.size > 0) stage.set('filter', parsedQuery(query.filter));
    stage.set('direction', plan.reverse ? 'backward' : 'forward');
    return stage;
  }
  if (plan.stage === 'OR') {
    const branches = doc(['stage', 'OR'], ['inputStages', plan.branches.map(describeIndex)]);
    return doc(['stage', 'FETCH'], ['inputStage', branches]);
  }
  if (isIdLookup(plan, query)) return doc(['stage', 'IDHACK']);
  return doc(['stage', 'FETCH'], ['inputStage', describeIndex(plan)]);
}

function describeIndex(plan: IndexPlan): Doc {
  const { index } = plan;
  const paths = [...index.spec.key.keys()];
  const bounds: Doc = new Map();
  const multikeyPaths: Doc = new Map();
  paths.forEach((path, position) => {
    bounds.set(path, describeParts(plan.parts[position] ?? null));
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

/** The filter with each equality spelled out. */
export function parsedQuery(filter: Doc): Doc {
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
