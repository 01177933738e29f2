import { type Operator, variadic } from '../operator.js';
import { type Accumulator, LIST_ACCUMULATORS } from './accumulators.js';

/** `$sum`, `$avg`, `$min`, `$max` and the deviations as expressions. */
export const LIST_OPERATORS: readonly Operator[] = [...LIST_ACCUMULATORS].map(([name, start]) =>
  overList(name, start),
);

/** One operand that is an array counts as its elements; of several each counts as it is. */
function overList(name: string, start: () => Accumulator): Operator {
  return variadic(name, (values) => {
    const accumulator = start();
    const [only] = values;
    const list = values.length === 1 && Array.isArray(only) ? only : values;
    for (const value of list) accumulator.add(value);
    return accumulator.result();
  });
}
