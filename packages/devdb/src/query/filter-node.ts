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

/** All nodes hold; each one may set the position, the last one to do so wins. */
export function allOf(nodes: readonly FilterNode[]): FilterNode {
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

/** One of the nodes holds. */
export function anyOf(nodes: readonly FilterNode[]): FilterNode {
  return (container, position) => {
    for (const node of nodes) if (node(container, position)) return true;
    return false;
  };
}

/** The node does not hold; what does not hold has no position. */
export function notNode(node: FilterNode): FilterNode {
  return (container) => !node(container, null);
}
