/**
 * Chooses how to find the documents of a filter: by `_id`, by an index, by one index for each branch of an `$or`, or by a
 * walk over the collection. An index never changes an answer: whatever it finds is matched against the filter again.
 */
import { DbError } from '../errors.js';
import type { Collection } from '../storage/collection.js';
import type { OrderedIndex } from '../storage/ordered-index.js';
import { type Doc, isDoc, type Value } from '../values/value.js';
import { type IndexPlan, indexPlan, sortFields } from './index-plan.js';
import { isNegative, samePattern } from './key-pattern.js';
import { predicatesOf } from './predicates.js';
import { IndexScan, newStats } from './scan.js';

/** How to find candidates. */
export type Plan = CollectionPlan | IndexPlan | OrPlan;

export interface CollectionPlan {
  readonly stage: 'COLLSCAN';
  readonly reverse: boolean;
  readonly providesSort: false;
}

export interface OrPlan {
  readonly stage: 'OR';
  readonly branches: readonly IndexPlan[];
  readonly providesSort: false;
}

/** What a plan is made for, beside the filter. */
export interface PlanOptions {
  readonly sort?: Doc | undefined;
  /** An index name, a key pattern or `{ $natural: 1 | -1 }`. */
  readonly hint?: Value;
}

/** How many keys of each candidate are counted before the best is taken. */
const TRIAL_KEYS = 101;

/** Throws 2 BadValue for a hint that names no index. */
export function planQuery(collection: Collection, filter: Doc, options: PlanOptions = {}): Plan {
  const predicates = predicatesOf(filter);
  const sort = sortFields(options.sort);
  const hint = readHint(collection, options.hint);
  if (hint === 'forward' || hint === 'backward') {
    return { stage: 'COLLSCAN', reverse: hint === 'backward', providesSort: false };
  }
  if (hint !== null) return indexPlan(hint, predicates, filter, sort, true)!;
  if (options.sort?.has('$natural')) {
    const direction = options.sort.get('$natural');
    return { stage: 'COLLSCAN', reverse: isNegative(direction), providesSort: false };
  }
  const candidates: IndexPlan[] = [];
  for (const index of collection.indexes) {
    const plan = indexPlan(index, predicates, filter, sort, false);
    if (plan?.isIdLookup) return plan;
    if (plan !== null) candidates.push(plan);
  }
  const best = chooseBest(candidates);
  if (best !== null && best.parts[0] !== null) return best;
  return orPlan(collection, filter) ?? best ?? COLLECTION_WALK;
}

const COLLECTION_WALK: CollectionPlan = { stage: 'COLLSCAN', reverse: false, providesSort: false };

function readHint(
  collection: Collection,
  hint: Value,
): OrderedIndex | 'forward' | 'backward' | null {
  if (hint === undefined || hint === null) return null;
  if (isDoc(hint) && hint.size === 0) return null;
  if (isDoc(hint) && hint.has('$natural')) {
    return isNegative(hint.get('$natural')) ? 'backward' : 'forward';
  }
  const found = collection.indexes.find((index) =>
    isDoc(hint) ? samePattern(index.spec.key, hint) : index.spec.name === hint,
  );
  if (found === undefined) {
    throw new DbError(2, 'hint provided does not correspond to an existing index');
  }
  return found;
}

/** The candidate with the fewest keys, counted up to a limit; among equals one that spares a sort, then more fields. */
function chooseBest(candidates: readonly IndexPlan[]): IndexPlan | null {
  if (candidates.length <= 1) return candidates[0] ?? null;
  let best: IndexPlan | null = null;
  let bestScore: readonly number[] = [];
  for (const plan of candidates) {
    const keys = countKeys(plan);
    const bounded = plan.parts.indexOf(null);
    const fields = bounded === -1 ? plan.parts.length : bounded;
    const score = [keys, plan.providesSort ? 0 : 1, -fields, plan.parts.length];
    if (best === null || compareScores(score, bestScore) < 0) {
      best = plan;
      bestScore = score;
    }
  }
  return best;
}

function compareScores(left: readonly number[], right: readonly number[]): number {
  for (let index = 0; index < left.length; index++) {
    const difference = left[index]! - right[index]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

function countKeys(plan: IndexPlan): number {
  const scan = new IndexScan(plan.index, plan.ranges, plan.reverse, newStats());
  let count = 0;
  while (count < TRIAL_KEYS && scan.next() !== null) count += 1;
  return count;
}

function orPlan(collection: Collection, filter: Doc): OrPlan | null {
  const branches = filter.get('$or');
  if (!Array.isArray(branches) || branches.length === 0) return null;
  const rest = new Map(filter);
  rest.delete('$or');
  const plans: IndexPlan[] = [];
  for (const branch of branches) {
    if (!isDoc(branch)) return null;
    const both: Doc = new Map([['$and', [rest, branch]]]);
    const plan = planQuery(collection, both);
    if (plan.stage !== 'IXSCAN' || plan.parts[0] === null) return null;
    plans.push(plan);
  }
  return { stage: 'OR', branches: plans, providesSort: false };
}
