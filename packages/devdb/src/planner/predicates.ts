/**
 * What a filter says about single paths, as far as an index can use it. Everything that is left out here only makes a scan
 * wider: each document found is matched against the whole filter afterwards.
 */
import { after } from '../storage/ordered-index.js';
import { formatValue } from '../values/format.js';
import { bracketRange, encodeKeyPart } from '../values/index-key.js';
import { toDouble } from '../values/numbers.js';
import {
  BSONRegExp,
  type Doc,
  isDoc,
  isNumeric,
  MaxKey,
  MinKey,
  type Value,
} from '../values/value.js';

export type RangeOperator = '$gt' | '$gte' | '$lt' | '$lte';

/** One condition on one path: one of some values, or one side of a range within a type. */
export type Predicate =
  | { readonly kind: 'points'; readonly values: readonly Value[] }
  | { readonly kind: 'range'; readonly operator: RangeOperator; readonly value: Value };

/** Part of one field's key texts, in index order: from `low` (included) to `high` (excluded). */
export interface PartInterval {
  readonly low: string;
  readonly high: string;
  /** The text of the one value that the interval holds, or null for a range. */
  readonly point: string | null;
  /** As `explain` prints it. */
  readonly label: string;
}

/** The conditions of a filter by path: those that stand at the top or under `$and`. */
export function predicatesOf(filter: Doc): Map<string, Predicate[]> {
  const found = new Map<string, Predicate[]>();
  collect(filter, found);
  return found;
}

function collect(filter: Doc, found: Map<string, Predicate[]>): void {
  for (const [key, condition] of filter) {
    if (key === '$and' && Array.isArray(condition)) {
      for (const part of condition) if (isDoc(part)) collect(part, found);
    } else if (!key.startsWith('$')) {
      for (const predicate of conditionPredicates(condition)) {
        const list = found.get(key);
        if (list) list.push(predicate);
        else found.set(key, [predicate]);
      }
    }
  }
}

function conditionPredicates(condition: Value): Predicate[] {
  if (!isOperatorDocument(condition)) return equality([condition]);
  const predicates: Predicate[] = [];
  for (const [operator, operand] of condition) {
    if (operator === '$eq') predicates.push(...equality([operand]));
    else if (operator === '$in' && Array.isArray(operand)) predicates.push(...equality(operand));
    else if (isRangeOperator(operator)) predicates.push(...range(operator, operand));
  }
  return predicates;
}

/** Whether a condition is a set of operators and not a document to be equal to. */
export function isOperatorDocument(condition: Value): condition is Doc {
  if (!isDoc(condition)) return false;
  const first = condition.keys().next();
  return (
    !first.done && first.value.startsWith('$') && !['$ref', '$id', '$db'].includes(first.value)
  );
}

function isRangeOperator(name: string): name is RangeOperator {
  return name === '$gt' || name === '$gte' || name === '$lt' || name === '$lte';
}

function equality(values: readonly Value[]): Predicate[] {
  const points: Value[] = [];
  for (const value of values) {
    if (value === undefined || value instanceof BSONRegExp) return [];
    points.push(value);
    // A missing field is indexed as null, an empty array as undefined.
    if (value === null) points.push(undefined);
    // Arrays are equal as a whole, or as an element: the index holds their elements, or the element.
    if (Array.isArray(value)) points.push(value[0]);
  }
  return [{ kind: 'points', values: points }];
}

function range(operator: RangeOperator, value: Value): Predicate[] {
  if (value === null) {
    return operator === '$gte' || operator === '$lte' ? equality([null]) : [];
  }
  if (value === undefined || Array.isArray(value) || value instanceof BSONRegExp) return [];
  if (value instanceof MinKey || value instanceof MaxKey) return [];
  if (isNumeric(value) && Number.isNaN(toDouble(value))) return [];
  return [{ kind: 'range', operator, value }];
}

/** The intervals of one predicate, sorted and apart from each other. */
export function intervalsOf(predicate: Predicate, descending: boolean): PartInterval[] {
  if (predicate.kind === 'points') {
    const texts = new Map(
      predicate.values.map((value) => [encodeKeyPart(value, descending), value]),
    );
    return [...texts]
      .sort(([left], [right]) => compareUnits(left, right))
      .map(([text, value]) => ({
        low: text,
        high: after(text),
        point: text,
        label: `[${formatValue(value)}, ${formatValue(value)}]`,
      }));
  }
  const { operator, value } = predicate;
  const [bottom, top] = bracketRange(value, descending);
  const text = encodeKeyPart(value, descending);
  const towardsTop = (operator === '$gt' || operator === '$gte') !== descending;
  const inclusive = operator === '$gte' || operator === '$lte';
  const label = rangeLabel(operator, value);
  return towardsTop
    ? [{ low: inclusive ? text : after(text), high: top, point: null, label }]
    : [{ low: bottom, high: inclusive ? after(text) : text, point: null, label }];
}

function rangeLabel(operator: RangeOperator, value: Value): string {
  const text = formatValue(value);
  const isNumber = isNumeric(value);
  const top = isNumber ? 'inf.0' : 'MaxKey';
  const bottom = isNumber ? '-inf.0' : 'MinKey';
  switch (operator) {
    case '$gt':
      return `(${text}, ${top}]`;
    case '$gte':
      return `[${text}, ${top}]`;
    case '$lt':
      return `[${bottom}, ${text})`;
    case '$lte':
      return `[${bottom}, ${text}]`;
  }
}

/** The intervals that lie in both lists. */
export function intersect(
  left: readonly PartInterval[],
  right: readonly PartInterval[],
): PartInterval[] {
  const out: PartInterval[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length && j < right.length) {
    const one = left[i]!;
    const other = right[j]!;
    const low = compareUnits(one.low, other.low) > 0 ? one.low : other.low;
    const high = compareUnits(one.high, other.high) < 0 ? one.high : other.high;
    if (low < high) {
      const [narrow, wide] = one.point !== null ? [one, other] : [other, one];
      const label =
        narrow.point !== null || narrow.label === wide.label
          ? narrow.label
          : joinLabels(one.low > other.low ? one : other, one.high < other.high ? one : other);
      out.push({ low, high, point: one.point ?? other.point, label });
    }
    if (one.high < other.high) i += 1;
    else j += 1;
  }
  return out;
}

function joinLabels(lower: PartInterval, upper: PartInterval): string {
  return `${lower.label.slice(0, lower.label.lastIndexOf(', '))}, ${upper.label.slice(upper.label.lastIndexOf(', ') + 2)}`;
}

function compareUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether a predicate can hold for a document that does not have the field. */
export function admitsMissing(predicate: Predicate): boolean {
  return predicate.kind === 'points' && predicate.values.some((value) => value === null);
}
