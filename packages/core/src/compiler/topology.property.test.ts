import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connectedSets, findCycles, type GraphNode, topologicalOrder } from './topology.js';

interface Node extends GraphNode {
  readonly id: string;
  readonly dependencies: Node[];
}

/** A graph from pairs `[node, dependency]`; with `isAcyclic`, edges lead to smaller numbers only. */
function build(count: number, pairs: readonly (readonly [number, number])[], isAcyclic: boolean) {
  // Ids whose order is not the order of the edges.
  const nodes: Node[] = Array.from({ length: count }, (_, index) => ({
    id: `n${(index * 7_919) % 1_009}`,
    dependencies: [],
  }));
  for (const [a, b] of pairs) {
    const from = nodes[isAcyclic ? Math.max(a, b) % count : a % count]!;
    const to = nodes[isAcyclic ? Math.min(a, b) % count : b % count]!;
    if (isAcyclic && nodes.indexOf(from) <= nodes.indexOf(to)) continue;
    if (!from.dependencies.includes(to)) from.dependencies.push(to);
  }
  return nodes;
}

const edges = fc.array(fc.tuple(fc.nat(30), fc.nat(30)), { maxLength: 80 });
const size = fc.integer({ min: 1, max: 30 });
const acyclic = fc.tuple(size, edges).map(([count, pairs]) => build(count, pairs, true));
const any = fc.tuple(size, edges).map(([count, pairs]) => build(count, pairs, false));

const shuffled = (nodes: readonly Node[], seed: readonly number[]) =>
  nodes
    .map((node, index) => [seed[index % seed.length]!, node] as const)
    .sort(([a], [b]) => a - b)
    .map(([, node]) => node);
const seeds = fc.array(fc.nat(), { minLength: 31, maxLength: 31 });

describe('topologicalOrder', () => {
  it('holds each node once, after its dependencies', () => {
    fc.assert(
      fc.property(acyclic, (nodes) => {
        const order = topologicalOrder(nodes);
        expect(new Set(order)).toEqual(new Set(nodes));
        expect(order).toHaveLength(nodes.length);
        for (const node of nodes) {
          for (const dependency of node.dependencies) {
            expect(order.indexOf(dependency)).toBeLessThan(order.indexOf(node));
          }
        }
      }),
    );
  });

  it('is the same for every order of the input', () => {
    fc.assert(
      fc.property(acyclic, seeds, (nodes, seed) => {
        expect(topologicalOrder(shuffled(nodes, seed))).toEqual(topologicalOrder(nodes));
      }),
    );
  });
});

describe('findCycles', () => {
  it('finds one exactly when no topological order is complete', () => {
    fc.assert(
      fc.property(any, (nodes) => {
        const isOrdered = topologicalOrder(nodes).length === nodes.length;
        expect(findCycles(nodes).length === 0).toBe(isOrdered);
      }),
    );
  });

  it('lists edges that exist, each node once, from the smallest id', () => {
    fc.assert(
      fc.property(any, (nodes) => {
        for (const cycle of findCycles(nodes)) {
          expect(new Set(cycle).size).toBe(cycle.length);
          cycle.forEach((node, index) => {
            expect(node.dependencies).toContain(cycle[(index + 1) % cycle.length]);
          });
          const ids = cycle.map(({ id }) => id);
          expect(ids[0]).toBe([...ids].sort()[0]);
        }
      }),
    );
  });

  it('is the same for every order of the input', () => {
    fc.assert(
      fc.property(any, seeds, (nodes, seed) => {
        expect(findCycles(shuffled(nodes, seed))).toEqual(findCycles(nodes));
      }),
    );
  });

  it('takes a chain of 50,000 jobs', () => {
    const nodes: Node[] = [];
    for (let index = 0; index < 50_000; index++) {
      const id = `n${String(index).padStart(5, '0')}`;
      nodes.push({ id, dependencies: nodes.slice(-1) });
    }
    expect(findCycles(nodes)).toEqual([]);
    expect(topologicalOrder(nodes.toReversed()).at(-1)?.id).toBe('n49999');
  });
});

describe('connectedSets', () => {
  it('separates nodes exactly where no edge crosses', () => {
    fc.assert(
      fc.property(any, (nodes) => {
        const sets = connectedSets(nodes);
        expect(sets.flat()).toHaveLength(nodes.length);
        const setOf = new Map(sets.flatMap((set) => set.map((node) => [node, set])));
        for (const node of nodes) {
          for (const dependency of node.dependencies) {
            expect(setOf.get(dependency)).toBe(setOf.get(node));
          }
        }
        // No set can be cut: from its first node, edges reach all others.
        for (const set of sets) {
          const reached = new Set([set[0]!]);
          for (const from of reached) {
            for (const node of set) {
              const isNeighbour =
                from.dependencies.includes(node) || node.dependencies.includes(from);
              if (isNeighbour) reached.add(node);
            }
          }
          expect(reached.size).toBe(set.length);
        }
      }),
    );
  });
});
