import { compareText } from '../values/order.js';
import type { Doc, Value } from '../values/value.js';
import type { MatchPosition } from './path.js';

/**
 * One compiled part of a filter. `test` takes a document, or an array whose elements count as
 * fields (as `$elemMatch` sees nested arrays), and leaves the array index that decided in
 * `position` where it is given.
 */
export type FilterNode = (
  container: Doc | readonly Value[],
  position: MatchPosition | null,
) => boolean;

/**
 * A part of a conjunction. The parts are tested in the order of the server, which is that of
 * `rank` and path: where several set a position, the last one wins, so that the order shows.
 */
export interface Conjunct {
  readonly node: FilterNode;
  readonly rank: Rank;
  readonly path: string;
}

/** The order of the kinds of conditions in a conjunction (the server's `MatchType`). */
export const Rank = {
  or: 1,
  elemMatchObject: 2,
  elemMatchValue: 3,
  size: 4,
  eq: 5,
  lte: 6,
  lt: 7,
  gt: 8,
  gte: 9,
  regex: 10,
  mod: 11,
  exists: 12,
  in: 13,
  bits: 14,
  not: 15,
  nor: 16,
  type: 17,
  expression: 18,
  always: 19,
} as const;

/** One of the {@link Rank} values. */
export type Rank = (typeof Rank)[keyof typeof Rank];

/** All parts hold; each one may set the position, the last one to do so wins. */
export function allOf(conjuncts: readonly Conjunct[]): FilterNode {
  const sorted = [...conjuncts].sort(
    (left, right) => left.rank - right.rank || compareText(left.path, right.path),
  );
  const nodes = sorted.map(({ node }) => node);
  if (nodes.length === 0) return () => true;
  if (nodes.length === 1) return nodes[0]!;
  if (nodes.length === 2) {
    const [first, second] = nodes as [FilterNode, FilterNode];
    return (container, position) => first(container, position) && second(container, position);
  }
  return (container, position) => {
    for (const node of nodes) if (!node(container, position)) return false;
    return true;
  };
}

/** One of the nodes holds. As in the server, an alternative sets no position. */
export function anyOf(nodes: readonly FilterNode[]): FilterNode {
  return (container) => {
    for (const node of nodes) if (node(container, null)) return true;
    return false;
  };
}

/** The node does not hold; what does not hold has no position. */
export function notNode(node: FilterNode): FilterNode {
  return (container) => !node(container, null);
}
