/**
 * The distinct values of an indexed field, found by leaps: from the first entry that has a value to the first one behind
 * all that have it. What is found is a document, and it is matched against the filter before anything is leapt over, so
 * that the index never changes the answer.
 */
import type { Collection } from '../storage/collection.js';
import { after, type KeyRange, type OrderedIndex } from '../storage/ordered-index.js';
import { encodeKey } from '../values/index-key.js';
import { type Doc, MISSING } from '../values/value.js';
import type { IndexPlan } from './index-plan.js';
import { impliesPartial } from './partial.js';
import { planQuery } from './plan.js';
import { predicatesOf } from './predicates.js';
import type { ScanStats } from './scan.js';
import { newStats } from './scan.js';

/** How the values of a path are found by leaps. */
export interface DistinctPlan {
  readonly plan: IndexPlan;
  /** Where the path stands in the index. */
  readonly position: number;
}

/**
 * The plan for the distinct values of a path, or null where leaps are no help: the fields before it in the index must be
 * fixed to single values, and the filter must say nothing about other fields.
 */
export function planDistinct(
  collection: Collection,
  filter: Doc,
  path: string,
): DistinctPlan | null {
  const predicates = predicatesOf(filter);
  const conditions = [...predicates.keys()];
  if (conditions.length < filter.size) return null;
  for (const index of collection.indexes) {
    const paths = [...index.spec.key.keys()];
    const position = paths.indexOf(path);
    const { partialFilter, sparse } = index.spec;
    if (position < 0 || sparse) continue;
    if (partialFilter !== undefined && !impliesPartial(predicates, filter, partialFilter)) continue;
    const covered = new Set(paths.slice(0, position + 1));
    if (!conditions.every((one) => covered.has(one))) continue;
    const plan = planQuery(collection, filter, { hint: index.spec.key });
    if (plan.stage !== 'IXSCAN' || plan.index !== index || !isFixed(plan, position)) continue;
    if (hasAllValues(plan, position)) return { plan, position };
  }
  return null;
}

function isFixed({ parts }: IndexPlan, position: number): boolean {
  return parts.slice(0, position).every((part) => part?.every(({ point }) => point !== null));
}

/**
 * Whether each value of a document that matches has an entry within the ranges. Not so for arrays where the ranges leave
 * something out: by the value itself, or by another field of the same array. A leap could then miss a document's rest.
 */
function hasAllValues({ index, parts }: IndexPlan, position: number): boolean {
  const isArray = (index.multikey >> position) & 1;
  const before = index.multikey & ((1 << position) - 1);
  return !isArray || (before === 0 && parts[position] === null);
}

/** Documents that match and have between them every value of the path. */
export function* distinctDocuments(
  collection: Collection,
  { plan, position }: DistinctPlan,
  matches: (document: Doc) => boolean,
  stats: ScanStats = newStats(),
): Generator<Doc> {
  const { index } = plan;
  for (const range of plan.ranges) {
    yield* inRange(collection, index, range, position, matches, stats);
  }
}

function* inRange(
  collection: Collection,
  index: OrderedIndex,
  range: KeyRange,
  position: number,
  matches: (document: Doc) => boolean,
  stats: ScanStats,
): Generator<Doc> {
  let entries = index.ascendingFrom(range.low);
  for (;;) {
    const step = entries.next();
    if (step.done || step.value[0] >= range.high) return;
    const [text, recordId] = step.value;
    stats.keysExamined += 1;
    const document = collection.records.get(recordId);
    if (document === undefined) continue;
    stats.documentsExamined += 1;
    if (!matches(document)) continue;
    yield document;
    const prefix = leapPrefix(index, document, text, position);
    if (prefix !== null) entries = index.ascendingFrom(after(prefix));
  }
}

/**
 * What all entries with this value begin with. Null for null and undefined: in the index an absent field and an empty array
 * look like these, and the next entry may be the one that really has the value.
 */
function leapPrefix(
  index: OrderedIndex,
  document: Doc,
  text: string,
  position: number,
): string | null {
  for (const values of index.keysOf(document).values) {
    const prefix = encodeKey(values.slice(0, position + 1), index.descending);
    if (!text.startsWith(prefix)) continue;
    const value = values[position] ?? MISSING;
    return value === MISSING ? null : prefix;
  }
  return null;
}
