import { encodeKeyPart } from '../values/index-key.js';
import { compareValues } from '../values/order.js';
import { typeBracket } from '../values/type-names.js';
import { type Doc, isTruthy, type Value } from '../values/value.js';
import { isOperatorDocument, type Predicate, predicatesOf } from './predicates.js';

/**
 * Whether every document that a filter matches is in a partial index. False when in doubt: then the index is not used.
 */
export function impliesPartial(
  predicates: ReadonlyMap<string, readonly Predicate[]>,
  filter: Doc,
  partialFilter: Doc,
): boolean {
  for (const [path, condition] of partialFilter) {
    if (path === '$and' && Array.isArray(condition)) {
      if (!condition.every((part) => impliesPartial(predicates, filter, part as Doc))) return false;
      continue;
    }
    if (path.startsWith('$')) return false;
    const known = predicates.get(path) ?? [];
    if (!conditionHolds(known, path, condition)) return false;
  }
  return true;
}

function conditionHolds(known: readonly Predicate[], path: string, condition: Value): boolean {
  if (!isOperatorDocument(condition)) return known.some((one) => onlyValues(one, [condition]));
  for (const [operator, operand] of condition) {
    if (operator === '$exists') {
      if (!isTruthy(operand) || !known.some(excludesMissing)) return false;
      continue;
    }
    const [needed] =
      predicatesOf(new Map([[path, new Map([[operator, operand]])]])).get(path) ?? [];
    if (needed === undefined || !known.some((one) => isNarrower(one, needed))) return false;
  }
  return true;
}

function excludesMissing(predicate: Predicate): boolean {
  return predicate.kind === 'range' || !predicate.values.some((value) => value == null);
}

function onlyValues(predicate: Predicate, allowed: readonly Value[]): boolean {
  if (predicate.kind !== 'points') return false;
  const texts = new Set(allowed.map((value) => encodeKeyPart(value)));
  return predicate.values.every((value) => texts.has(encodeKeyPart(value)));
}

function isNarrower(known: Predicate, needed: Predicate): boolean {
  if (needed.kind === 'points') return onlyValues(known, needed.values);
  if (known.kind === 'points') {
    return known.values.every((value) => !Array.isArray(value) && inRange(value, needed));
  }
  const isLower = (operator: string) => operator === '$gt' || operator === '$gte';
  if (isLower(known.operator) !== isLower(needed.operator)) return false;
  if (typeBracket(known.value) !== typeBracket(needed.value)) return false;
  const order = compareValues(known.value, needed.value) * (isLower(needed.operator) ? 1 : -1);
  return (
    order > 0 || (order === 0 && (needed.operator.endsWith('e') || !known.operator.endsWith('e')))
  );
}

function inRange(value: Value, range: Predicate & { kind: 'range' }): boolean {
  if (typeBracket(value) !== typeBracket(range.value)) return false;
  const order = compareValues(value, range.value);
  switch (range.operator) {
    case '$gt':
      return order > 0;
    case '$gte':
      return order >= 0;
    case '$lt':
      return order < 0;
    case '$lte':
      return order <= 0;
  }
}
