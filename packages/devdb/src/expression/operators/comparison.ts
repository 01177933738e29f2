import { compareValues } from '../../values/order.js';
import { int32 } from '../../values/value.js';
import { binary, type Operator } from '../operator.js';

/**
 * Comparisons in MongoDB's order over all types, so without the type brackets of filters: an absent
 * field is less than null and equals only another absent one.
 */
export const COMPARISON: readonly Operator[] = [
  binary('$cmp', (left, right) => int32(Math.sign(compareValues(left, right)))),
  binary('$eq', (left, right) => compareValues(left, right) === 0),
  binary('$ne', (left, right) => compareValues(left, right) !== 0),
  binary('$gt', (left, right) => compareValues(left, right) > 0),
  binary('$gte', (left, right) => compareValues(left, right) >= 0),
  binary('$lt', (left, right) => compareValues(left, right) < 0),
  binary('$lte', (left, right) => compareValues(left, right) <= 0),
];
