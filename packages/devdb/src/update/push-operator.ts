import { badValue } from '../errors.js';
import { compareSortKeys, type SortField, sortKeyOf } from '../sort/sort-keys.js';
import { toDouble } from '../values/numbers.js';
import { compareValues } from '../values/order.js';
import { typeName } from '../values/type-names.js';
import { type Doc, isDoc, isNumeric, MISSING, type Value } from '../values/value.js';
import { hasPushClauses, notAnArray } from './array-operators.js';
import { checkStorable } from './storage-rules.js';
import type { LeafOperator } from './update-context.js';

type Order = (left: Value, right: Value) => number;

interface PushClauses {
  readonly each: readonly Value[];
  readonly position: number | null;
  readonly slice: number | null;
  readonly order: Order | null;
}

/** `$push`: a value, or `$each` with `$position`, `$sort` and `$slice`, which work in that order. */
export function pushOperator(operand: Value, path: string): LeafOperator {
  const clauses = hasPushClauses(operand)
    ? readClauses(operand)
    : { each: [operand], position: null, slice: null, order: null };
  return {
    apply(found, context) {
      if (found !== MISSING && !Array.isArray(found)) throw notAnArray(path, found);
      checkStorable(clauses.each as Value[], path);
      const before = found === MISSING ? [] : found;
      const after = push(before, clauses);
      if (found !== MISSING && after === before) return found;
      context.modified = true;
      if (before.length > 0 && isAppended(before, after, clauses)) {
        context.appended = clauses.each.length;
      }
      return after;
    },
  };
}

/** The array after the clauses; the same array where they have nothing to do. */
function push(before: Value[], { each, position, slice, order }: PushClauses): Value[] {
  let after = before;
  if (each.length > 0) {
    const at = position === null ? before.length : insertionPoint(position, before.length);
    after = [...before.slice(0, at), ...each, ...before.slice(at)];
  }
  if (order) after = [...after].sort(order);
  if (slice !== null && Math.abs(slice) < after.length) {
    after = slice < 0 ? after.slice(slice) : after.slice(0, slice);
  }
  return after;
}

/** Whether the array has only grown at its end; an order or a position counts as more, whatever comes of it. */
function isAppended(before: Value[], after: Value[], { each, position, order }: PushClauses) {
  const isElsewhere = position !== null && position <= before.length;
  return order === null && !isElsewhere && after.length === before.length + each.length;
}

/** A negative position counts from the end. */
function insertionPoint(position: number, length: number): number {
  return position < 0 ? Math.max(0, length + position) : Math.min(position, length);
}

function readClauses(operand: Doc): PushClauses {
  for (const clause of operand.keys()) {
    if (!['$each', '$position', '$slice', '$sort'].includes(clause)) {
      throw badValue(`Unrecognized clause in $push: ${clause}`);
    }
  }
  const each = operand.get('$each');
  if (!Array.isArray(each)) {
    throw badValue(
      `The argument to $each in $push must be an array but it was of type: ${typeName(each)}`,
    );
  }
  return {
    each,
    position: wholeClause(operand, '$position', 'an integer value, not of type:'),
    slice: wholeClause(operand, '$slice', 'an integer value but was given type:'),
    order: operand.has('$sort') ? readOrder(operand.get('$sort')) : null,
  };
}

function wholeClause(operand: Doc, clause: string, expected: string): number | null {
  if (!operand.has(clause)) return null;
  const value = operand.get(clause);
  const number = isNumeric(value) ? toDouble(value) : Number.NaN;
  if (!Number.isInteger(number)) {
    throw badValue(`The value for ${clause} must be ${expected} ${typeName(value)}`);
  }
  return number;
}

function readOrder(sort: Value): Order {
  if (isNumeric(sort)) {
    const direction = sortDirection(sort);
    return (left, right) => compareValues(left, right) * direction;
  }
  if (!isDoc(sort)) {
    throw badValue(
      'The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields',
    );
  }
  if (sort.size === 0) {
    throw badValue('The $sort pattern is empty when it should be a set of fields.');
  }
  const fields = [...sort].map(([path, direction]): SortField => {
    const parts = path.split('.');
    if (parts.includes('')) {
      throw badValue(`The $sort field is a dotted field but has an empty part: ${path}`);
    }
    return { path: parts, direction: sortDirection(direction) };
  });
  const keyOf = (element: Value) => sortKeyOf(isDoc(element) ? element : new Map(), fields, null);
  return (left, right) => compareSortKeys(fields, keyOf(left), keyOf(right));
}

function sortDirection(value: Value): 1 | -1 {
  const direction = isNumeric(value) ? toDouble(value) : 0;
  if (direction !== 1 && direction !== -1) {
    throw badValue('The $sort element value must be either 1 or -1');
  }
  return direction;
}
