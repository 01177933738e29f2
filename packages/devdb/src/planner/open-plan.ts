import type { Collection } from '../storage/collection.js';
import type { KeyRange } from '../storage/ordered-index.js';
import type { Plan } from './plan.js';
import {
  ChainScan,
  CollectionScan,
  IndexScan,
  MergeScan,
  type Scan,
  type ScanStats,
} from './scan.js';

/** Opens a plan. A record may come more than once where several keys or branches lead to it: see `mayRepeat`. */
export function openPlan(collection: Collection, plan: Plan, stats: ScanStats): Scan {
  if (plan.stage === 'COLLSCAN') return new CollectionScan(collection, plan.reverse);
  if (plan.stage === 'OR') {
    return new ChainScan(plan.branches.map((branch) => openPlan(collection, branch, stats)));
  }
  const { index, ranges, reverse } = plan;
  if (!plan.merge) return new IndexScan(index, ranges, reverse, stats);
  return new MergeScan(
    ranges.map((range) => ({
      scan: new IndexScan(index, [range], reverse, stats),
      skip: commonPrefix(range),
    })),
    reverse,
  );
}

/** How much of a range's texts is the fixed part before the field that gives the order. */
function commonPrefix(range: KeyRange): number {
  let length = 0;
  while (
    length < range.low.length &&
    length < range.high.length &&
    range.low[length] === range.high[length]
  ) {
    length += 1;
  }
  return length;
}

/** Whether the scan of a plan can give one record twice. */
export function mayRepeat(plan: Plan): boolean {
  if (plan.stage === 'OR') return true;
  return plan.stage === 'IXSCAN' && plan.index.multikey !== 0;
}
