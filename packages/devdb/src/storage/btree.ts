import sortedBtree from 'sorted-btree';
import { bulkLoad } from 'sorted-btree/extended/bulkLoad.js';

/**
 * The B+ tree of `sorted-btree`. The package is CommonJS: Node gives its namespace, whose `default` is the class; bundlers and
 * test runners give the class itself.
 */
export const BTree: typeof sortedBtree.default =
  sortedBtree.default ?? (sortedBtree as unknown as typeof sortedBtree.default);

/** A tree of entries that come sorted and without repetition: quicker than one `set` after the other, and denser. */
export function sortedTree<K, V>(
  keys: K[],
  values: V[],
  compare: (left: K, right: K) => number,
): BTree<K, V> {
  if (keys.length === 0) return new BTree<K, V>(undefined, compare);
  return bulkLoad(keys, values, NODE_SIZE, compare) as unknown as BTree<K, V>;
}

/** The package's own default. */
const NODE_SIZE = 32;

/** A B+ tree that clones in O(1) and copies on write. */
export type BTree<K, V> = InstanceType<typeof sortedBtree.default<K, V>>;
