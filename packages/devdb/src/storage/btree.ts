import sortedBtree from 'sorted-btree';

/**
 * The B+ tree of `sorted-btree`. The package is CommonJS: Node gives its namespace, whose `default` is the class; bundlers and
 * test runners give the class itself.
 */
export const BTree: typeof sortedBtree.default =
  sortedBtree.default ?? (sortedBtree as unknown as typeof sortedBtree.default);

/** A B+ tree that clones in O(1) and copies on write. */
export type BTree<K, V> = InstanceType<typeof sortedBtree.default<K, V>>;
