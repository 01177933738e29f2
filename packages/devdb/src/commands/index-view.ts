/** What a find shows or bounds by the index that it walks: `min`, `max`, `returnKey`, `showRecordId`. */
import { DbError } from '../errors.js';
import type { Found } from '../planner/execute.js';
import type { Plan } from '../planner/plan.js';
import type { OrderedIndex } from '../storage/ordered-index.js';
import { encodeKey } from '../values/index-key.js';
import { type Doc, Long } from '../values/value.js';
import type { IndexBounds, Query } from './query.js';

/**
 * A test of the bounds `min` and `max`. Throws 51174 for bounds on other fields than the index's, 51176 for two bounds that are
 * not on the same fields.
 */
export function withinBounds(bounds: IndexBounds, plan: Plan): (document: Doc) => boolean {
  if (plan.stage !== 'IXSCAN') throw new DbError(51173, 'min and max need an index as hint');
  const { index } = plan;
  const { min, max } = bounds;
  if (min !== undefined && max !== undefined && !sameFields(min, max)) {
    throw new DbError(51176, 'min and max must have the same field names');
  }
  const low = bounds.min === undefined ? null : boundText(bounds.min, index);
  const high = bounds.max === undefined ? null : boundText(bounds.max, index);
  if (low !== null && high !== null && low >= high) {
    throw new DbError(51175, 'The value provided for min does not come before max in this index');
  }
  return (document) =>
    index
      .keysOf(document)
      .texts.some((text) => (low === null || text >= low) && (high === null || text < high));
}

function sameFields(left: Doc, right: Doc): boolean {
  return [...left.keys()].join('\0') === [...right.keys()].join('\0');
}

function boundText(bound: Doc, index: OrderedIndex): string {
  const paths = [...index.spec.key.keys()];
  if (bound.size !== paths.length || paths.some((path) => !bound.has(path))) {
    throw new DbError(51174, 'The index chosen by the hint is not compatible with min/max');
  }
  return encodeKey(
    paths.map((path) => bound.get(path)),
    index.descending,
  );
}

/** What is left of a found document: its projection, or its index key, and its record id. */
export function shownDocument(
  query: Query,
  plan: Plan,
  project: (document: Doc) => Doc,
): (found: Found) => Doc {
  const show = query.returnKey ? keyOf(plan) : project;
  if (!query.showRecordId) return ({ document }) => show(document);
  return ({ document, recordId }) =>
    new Map([...show(document), ['$recordId', Long.fromNumber(recordId)]]);
}

/** The key of the index that the plan walks; nothing where it walks none. */
function keyOf(plan: Plan): (document: Doc) => Doc {
  if (plan.stage !== 'IXSCAN') return () => new Map();
  const { index } = plan;
  if (index.multikey !== 0) {
    throw new DbError(238, 'returnKey is not supported for indexes with arrays by this server');
  }
  const paths = [...index.spec.key.keys()];
  return (document) => {
    const [values = []] = index.keysOf(document).values;
    return new Map(paths.map((path, at) => [path, values[at]]));
  };
}
