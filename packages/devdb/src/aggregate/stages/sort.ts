import { DbError } from '../../errors.js';
import { splitFieldPath } from '../../expression/field-path.js';
import { type Sorter, sorterOf } from '../../sort/compile-sort.js';
import { toDouble } from '../../values/numbers.js';
import { isDoc, isNumeric, type Value } from '../../values/value.js';
import type { StageDefinition } from '../stage.js';

/** `$sort`: all documents in order. An absent field comes before null here, unlike in a query. */
export const SORT: StageDefinition = {
  name: '$sort',
  compile(value) {
    const sorter = stageSorter(value);
    return (source) => sorter.sort([...source]);
  },
};

/** Compiles the order of a `$sort` stage, which has error codes of its own. */
export function stageSorter(value: Value): Sorter {
  if (!isDoc(value)) {
    throw new DbError(15973, 'the $sort key specification must be an object');
  }
  if (value.size === 0) throw new DbError(15976, '$sort stage must have at least one sort key');
  const fields = [...value].map(([name, order]) => ({
    path: splitFieldPath(name),
    direction: directionOf(order),
  }));
  return sorterOf(fields, { absent: 'missing' });
}

function directionOf(order: Value): 1 | -1 {
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
