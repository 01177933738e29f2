import { DbError } from '../../errors.js';
import type { Evaluated } from '../../expression/expression.js';
import { splitFieldPath } from '../../expression/field-path.js';
import { type Sorter, sorterOf } from '../../sort/compile-sort.js';
import { toDouble } from '../../values/numbers.js';
import { compareValues } from '../../values/order.js';
import { type Doc, isDoc, isNumeric, MISSING, type Value } from '../../values/value.js';
import type { StageDefinition } from '../stage.js';

/** `$sort`: all documents in order. An absent field comes before null here, unlike in a query. */
export const SORT: StageDefinition = {
  name: '$sort',
  compile(value) {
    const sorter = stageSorter(value);
    return (source) => sorter.sort([...source]);
  },
};

/** Puts the documents of a stage in order. */
export type StageSorter = Pick<Sorter, 'sort'>;

/** Compiles the order of a `$sort` stage, which has error codes of its own. */
export function stageSorter(value: Value): StageSorter {
  if (!isDoc(value)) {
    throw new DbError(15973, 'the $sort key specification must be an object');
  }
  if (value.size === 0) throw new DbError(15976, '$sort stage must have at least one sort key');
  const fields = [...value].map(([name, order]) => ({
    path: splitFieldPath(name),
    direction: directionOf(order),
  }));
  const [first] = fields;
  if (first && value.size === 1 && value.has('_id')) return byId(first.direction);
  return sorterOf(fields, { absent: 'missing' });
}

/** By `_id` alone arrays are compared as a whole: MongoDB knows that a stored one is no array. */
function byId(direction: 1 | -1): StageSorter {
  const idOf = (document: Doc): Evaluated => (document.has('_id') ? document.get('_id') : MISSING);
  return {
    sort: (documents, limit = 0) => {
      const sorted = documents.toSorted(
        (left, right) => compareValues(idOf(left), idOf(right)) * direction,
      );
      return limit > 0 ? sorted.slice(0, limit) : sorted;
    },
  };
}

function directionOf(order: Value): 1 | -1 {
  if (isDoc(order)) throw metaError(order);
  if (!isNumeric(order)) {
    throw new DbError(
      15974,
      "$sort key ordering must be specified using a number or {$meta: 'textScore'}",
    );
  }
  const direction = Math.trunc(toDouble(order));
  if (direction === 1 || direction === -1) return direction;
  throw new DbError(15975, '$sort key ordering must be 1 (for ascending) or -1 (for descending)');
}

/** There is no text index, so that `{$meta: 'textScore'}` is refused as well, with a code of its own. */
function metaError(order: Doc): DbError {
  return order.get('$meta') === 'textScore'
    ? new DbError(
        40218,
        'pipeline requires text score metadata, but there is no text score available',
      )
    : new DbError(17312, '$meta is the only expression supported by $sort right now');
}
