/**
 * The shape of a query: what it asks for without the values, as text, and the hashes that MongoDB makes of it for
 * `queryHash` and `planCacheKey`. Source of the coding: what MongoDB 4.2 answers to `explain`.
 */
import type { OrderedIndex } from '../storage/ordered-index.js';
import { type Doc, isDoc, isNumeric, isTruthy, type Value } from '../values/value.js';
import { murmurHash } from './murmur-hash.js';
import { isOperatorDocument } from './predicates.js';

/** What of a query makes its shape. */
export interface ShapedQuery {
  readonly filter: Doc;
  readonly sort?: Doc | undefined;
  readonly projection?: Doc | undefined;
}

/** `queryHash`: equal for queries that differ in values only. Eight hex digits. */
export function queryHash(query: ShapedQuery): string {
  return hashed(shapeOf(query));
}

/** `planCacheKey`: as `queryHash`, but it also tells which conditions have an index. */
export function planCacheKey(query: ShapedQuery, indexes: readonly OrderedIndex[]): string {
  const marks = leaves(treeOf(query.filter)).map(({ path }) => {
    const usable = indexes.filter((index) => index.spec.key.has(path));
    return usable.length === 0 ? '' : `<${'1'.repeat(usable.length)}>`;
  });
  return hashed(shapeOf(query) + marks.join(''));
}

function hashed(shape: string): string {
  const low = murmurHash(shape) & 0xffffffffn;
  return low.toString(16).toUpperCase().padStart(8, '0');
}

/** A condition: an operator on a path, or conditions joined by one. */
interface Condition {
  readonly code: string;
  readonly path: string;
  readonly inner: readonly Condition[];
}

/** The codes of the operators, in the order in which conditions are sorted. */
const CODES: readonly (readonly [string, string])[] = [
  ['$and', 'an'],
  ['$or', 'or'],
  ['$elemMatch', 'eo'],
  ['$all', 'an'],
  ['$size', 'sz'],
  ['$eq', 'eq'],
  ['$lte', 'le'],
  ['$lt', 'lt'],
  ['$gt', 'gt'],
  ['$gte', 'ge'],
  ['$regex', 're'],
  ['$mod', 'mo'],
  ['$exists', 'ex'],
  ['$in', 'in'],
  ['$not', 'nt'],
  ['$nor', 'nr'],
  ['$type', 'ty'],
  ['$expr', 'xp'],
];

const CODE_OF = new Map(CODES);
const RANK_OF = new Map(CODES.map(([, code], rank) => [code, rank]));

function treeOf(filter: Doc): Condition {
  const inner: Condition[] = [];
  for (const [key, operand] of filter) {
    if (key === '$and' && Array.isArray(operand)) {
      for (const clause of operand) if (isDoc(clause)) inner.push(treeOf(clause));
    } else if ((key === '$or' || key === '$nor') && Array.isArray(operand)) {
      inner.push(joined(CODE_OF.get(key)!, operand.filter(isDoc).map(treeOf)));
    } else if (key.startsWith('$')) inner.push(leaf(key, ''));
    else inner.push(...conditionsOn(key, operand));
  }
  return inner.length === 1 ? inner[0]! : joined('an', inner);
}

function conditionsOn(path: string, operand: Value): Condition[] {
  if (!isOperatorDocument(operand)) return [leaf('$eq', path)];
  return [...operand].map(([operator, inner]) => {
    if (operator === '$ne') return joined('nt', [leaf('$eq', path)]);
    if (operator === '$nin') return joined('nt', [leaf('$in', path)]);
    if (operator === '$not' && isDoc(inner)) return joined('nt', conditionsOn(path, inner));
    return leaf(operator, path);
  });
}

function leaf(operator: string, path: string): Condition {
  return { code: CODE_OF.get(operator) ?? operator.slice(1), path, inner: [] };
}

function joined(code: string, inner: readonly Condition[]): Condition {
  const flat =
    code === 'an' ? inner.flatMap((one) => (one.code === 'an' ? one.inner : one)) : inner;
  return { code, path: '', inner: [...flat].sort(byCodeAndPath) };
}

function byCodeAndPath(left: Condition, right: Condition): number {
  const rank = (condition: Condition) => RANK_OF.get(condition.code) ?? CODES.length;
  const byRank = rank(left) - rank(right);
  if (byRank !== 0) return byRank;
  return left.path < right.path ? -1 : left.path > right.path ? 1 : 0;
}

function leaves(condition: Condition): Condition[] {
  return condition.inner.length === 0 ? [condition] : condition.inner.flatMap(leaves);
}

function shapeOf({ filter, sort, projection }: ShapedQuery): string {
  let shape = conditionText(treeOf(filter));
  if (sort && sort.size > 0) {
    const fields = [...sort].map(([path, order]) => (isDescending(order) ? 'd' : 'a') + path);
    shape += `~${fields.join(',')}`;
  }
  if (projection && projection.size > 0) {
    const fields = [...projection].sort(([left], [right]) => (left < right ? -1 : 1));
    shape += `|${fields.map(([path, keeps]) => (isTruthy(keeps) ? 'i' : 'e') + path).join('')}`;
  }
  return shape;
}

function conditionText({ code, path, inner }: Condition): string {
  if (inner.length === 0) return code + path;
  return `${code}${path}[${inner.map(conditionText).join(',')}]`;
}

function isDescending(order: Value): boolean {
  return isNumeric(order) && Number(order.toString()) < 0;
}
