import { DbError } from '../errors.js';
import { isOperatorDocument } from '../query/comparison.js';
import { compareText } from '../values/order.js';
import { BSONRegExp, type Doc, isDoc, type Value } from '../values/value.js';
import type { CompiledUpdate } from './compile-update.js';
import { checkDollarName } from './storage-rules.js';

/**
 * The document that an upsert starts from: what the filter says by equality (also `$eq`, and
 * `$in`, `$all` and `$or` with one member, and inside of `$and`). A replacement takes only `_id`.
 * Throws NotSingleValueField (54) where the filter names a path twice, or one inside another.
 */
export function seedUpsert(filter: Doc, update: CompiledUpdate): Doc {
  const equalities = new Map<string, Value>();
  collect(filter, equalities, update.isReplacement);
  const sorted = [...equalities].sort(([left], [right]) => compareText(left, right));
  const seed: Doc = new Map();
  for (const [path, value] of sorted) put(seed, path.split('.'), value);
  return seed;
}

function collect(filter: Doc, found: Map<string, Value>, onlyId: boolean): void {
  for (const [key, operand] of filter) {
    if (key === '$and' && Array.isArray(operand)) {
      for (const clause of operand) if (isDoc(clause)) collect(clause, found, onlyId);
    } else if (key === '$or' && Array.isArray(operand) && operand.length === 1) {
      if (isDoc(operand[0])) collect(operand[0], found, onlyId);
    } else if (!key.startsWith('$') && (!onlyId || isIdPath(key))) {
      for (const value of equalValuesOf(operand)) add(found, key, value);
    }
  }
}

function isIdPath(path: string): boolean {
  return path === '_id' || path.startsWith('_id.');
}

function equalValuesOf(operand: Value): readonly Value[] {
  if (operand instanceof BSONRegExp) return [];
  if (!isDoc(operand) || !isOperatorDocument(operand)) return [operand];
  return [...operand].flatMap(([operator, value]) => {
    if (operator === '$eq') return [value];
    if (operator === '$in' && Array.isArray(value) && value.length === 1) return plain(value);
    if (operator === '$all' && Array.isArray(value)) return plain(value);
    return [];
  });
}

/** The values that stand for equality: not patterns and not operators. */
function plain(values: readonly Value[]): readonly Value[] {
  return values.filter(
    (value) => !(value instanceof BSONRegExp) && !(isDoc(value) && isOperatorDocument(value)),
  );
}

function add(found: Map<string, Value>, path: string, value: Value): void {
  for (const other of found.keys()) {
    if (other === path) {
      throw new DbError(54, `cannot infer query fields to set, path '${path}' is matched twice`);
    }
    if (path.startsWith(`${other}.`) || other.startsWith(`${path}.`)) {
      throw new DbError(
        54,
        `cannot infer query fields to set, both paths '${other}' and '${path}' are matched`,
      );
    }
  }
  found.set(path, value);
}

/** Sets a value in a document under construction; numbers in paths name fields, not elements. */
function put(container: Doc, path: readonly string[], value: Value): void {
  const [field, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) container.set(field, value);
  else {
    let inner = container.get(field);
    if (!isDoc(inner)) {
      inner = new Map();
      container.set(field, inner);
    }
    put(inner, rest, value);
  }
  if (field.startsWith('$')) checkDollarName(container, field);
}
