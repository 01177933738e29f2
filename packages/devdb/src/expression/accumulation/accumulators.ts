import { compareValues } from '../../values/order.js';
import { type Doc, isNumeric, MISSING, type Value } from '../../values/value.js';
import { type Evaluated, isNullish, orNull } from '../expression.js';
import { mergeInto } from '../operators/objects.js';
import { ValueSet } from '../operators/sets.js';
import { Deviation, NumberTotal } from './number-total.js';

/** Collects values one by one; `result` may be asked for once, at the end. */
export interface Accumulator {
  add(value: Evaluated): void;
  result(): Value;
}

/** Accumulators that can also stand as expressions over an array or a list of operands. */
export const LIST_ACCUMULATORS: ReadonlyMap<string, () => Accumulator> = new Map([
  ['$sum', sum],
  ['$avg', average],
  ['$min', () => extreme(-1)],
  ['$max', () => extreme(1)],
  ['$stdDevPop', () => deviation(false)],
  ['$stdDevSamp', () => deviation(true)],
]);

/** Every accumulator of `$group`, `$bucket` and `$bucketAuto`, by name. */
export const ACCUMULATORS: ReadonlyMap<string, () => Accumulator> = new Map([
  ...LIST_ACCUMULATORS,
  ['$first', first],
  ['$last', last],
  ['$push', push],
  ['$addToSet', addToSet],
  ['$mergeObjects', mergeObjects],
]);

/** Whatever is no number does not count. */
function sum(): Accumulator {
  const total = new NumberTotal();
  return {
    add(value) {
      if (isNumeric(value)) total.add(value);
    },
    result: () => total.result(),
  };
}

function average(): Accumulator {
  const total = new NumberTotal();
  let count = 0;
  return {
    add(value) {
      if (!isNumeric(value)) return;
      total.add(value);
      count += 1;
    },
    result: () => (count === 0 ? null : total.mean(count)),
  };
}

/** The greatest (sign 1) or least (sign -1) of what is neither null nor absent. */
function extreme(sign: 1 | -1): Accumulator {
  let found: Evaluated = MISSING;
  return {
    add(value) {
      if (isNullish(value)) return;
      if (found === MISSING || compareValues(value, found) * sign > 0) found = value;
    },
    result: () => orNull(found),
  };
}

function deviation(sample: boolean): Accumulator {
  const running = new Deviation(sample);
  return {
    add(value) {
      if (isNumeric(value)) running.add(value);
    },
    result: () => running.result(),
  };
}

function first(): Accumulator {
  let found: { value: Evaluated } | undefined;
  return {
    add(value) {
      found ??= { value };
    },
    result: () => (found ? orNull(found.value) : null),
  };
}

function last(): Accumulator {
  let found: Evaluated = MISSING;
  return {
    add(value) {
      found = value;
    },
    result: () => orNull(found),
  };
}

function push(): Accumulator {
  const list: Value[] = [];
  return {
    add(value) {
      if (value !== MISSING) list.push(value);
    },
    result: () => list,
  };
}

function addToSet(): Accumulator {
  const set = new ValueSet();
  return {
    add(value) {
      if (value !== MISSING) set.add(value);
    },
    result: () => set.values(),
  };
}

function mergeObjects(): Accumulator {
  let merged: Doc | undefined;
  return {
    add(value) {
      merged = mergeInto(merged, value);
    },
    result: () => merged ?? new Map(),
  };
}
