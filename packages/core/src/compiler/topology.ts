/** Order and cycles of a graph that is given as node -> its dependencies. Pure; iterative, so that depth is no limit. */

export interface GraphNode {
  readonly id: string;
  readonly dependencies: readonly GraphNode[];
}

/**
 * The nodes so that each stands after its dependencies, ties by id: the same for any order of the input. Nodes on a cycle
 * and all that depend on one are left out.
 */
export function topologicalOrder<N extends GraphNode>(nodes: readonly N[]): N[] {
  const sorted = [...nodes].sort(byId);
  const missing = new Map<GraphNode, number>();
  const dependents = new Map<GraphNode, N[]>();
  for (const node of sorted) {
    const dependencies = new Set(node.dependencies);
    missing.set(node, dependencies.size);
    for (const dependency of dependencies) {
      const list = dependents.get(dependency);
      if (list === undefined) dependents.set(dependency, [node]);
      else list.push(node);
    }
  }
  const order: N[] = [];
  // Level by level, each level sorted: deterministic without a priority queue.
  let level = sorted.filter((node) => missing.get(node) === 0);
  while (level.length > 0) {
    order.push(...level);
    const next: N[] = [];
    for (const node of level) {
      for (const dependent of dependents.get(node) ?? []) {
        const left = missing.get(dependent)! - 1;
        missing.set(dependent, left);
        if (left === 0) next.push(dependent);
      }
    }
    level = next.sort(byId);
  }
  return order;
}

/**
 * One cycle for each edge that closes one, found depth first from the smallest id; without those edges the graph has no
 * cycle. Each is listed in the direction of the dependencies, from its smallest id.
 */
export function findCycles<N extends GraphNode>(nodes: readonly N[]): N[][] {
  const cycles: N[][] = [];
  const done = new Set<GraphNode>();
  for (const start of [...nodes].sort(byId)) {
    if (done.has(start)) continue;
    const trail: N[] = [start];
    const onTrail = new Set<GraphNode>(trail);
    const pending: N[][] = [sortedDependencies(start)];
    while (trail.length > 0) {
      const next = pending.at(-1)!.shift();
      if (next === undefined) {
        const node = trail.pop()!;
        pending.pop();
        onTrail.delete(node);
        done.add(node);
      } else if (onTrail.has(next)) {
        cycles.push(fromSmallest(trail.slice(trail.indexOf(next))));
      } else if (!done.has(next)) {
        trail.push(next);
        onTrail.add(next);
        pending.push(sortedDependencies(next));
      }
    }
  }
  return cycles;
}

/** The sets of nodes that edges connect, whatever their direction; sets and members in the order of `nodes`. */
export function connectedSets<N extends GraphNode>(nodes: readonly N[]): N[][] {
  const neighbours = new Map<GraphNode, GraphNode[]>(nodes.map((node) => [node, []]));
  for (const node of nodes) {
    for (const dependency of node.dependencies) {
      neighbours.get(node)?.push(dependency);
      neighbours.get(dependency)?.push(node);
    }
  }
  const setOf = new Map<GraphNode, number>();
  let count = 0;
  for (const node of nodes) {
    if (setOf.has(node)) continue;
    const open: GraphNode[] = [node];
    setOf.set(node, count);
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const neighbour of neighbours.get(next) ?? []) {
        if (setOf.has(neighbour)) continue;
        setOf.set(neighbour, count);
        open.push(neighbour);
      }
    }
    count += 1;
  }
  const sets: N[][] = Array.from({ length: count }, () => []);
  for (const node of nodes) sets[setOf.get(node)!]!.push(node);
  return sets;
}

function sortedDependencies<N extends GraphNode>(node: N): N[] {
  return [...new Set(node.dependencies as readonly N[])].sort(byId);
}

function fromSmallest<N extends GraphNode>(cycle: N[]): N[] {
  const smallest = cycle.reduce((best, node) => (byId(node, best) < 0 ? node : best));
  const at = cycle.indexOf(smallest);
  return [...cycle.slice(at), ...cycle.slice(0, at)];
}

function byId(a: GraphNode, b: GraphNode): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
