import type { Operator } from './operator.js';
import { ARITHMETIC } from './operators/arithmetic.js';
import { ARRAYS } from './operators/arrays.js';
import { COMPARISON } from './operators/comparison.js';
import { ITERATION } from './operators/iteration.js';
import { LOGIC } from './operators/logic.js';
import { OBJECTS } from './operators/objects.js';
import { SETS } from './operators/sets.js';

const FAMILIES: readonly (readonly Operator[])[] = [
  ARITHMETIC,
  ARRAYS,
  COMPARISON,
  ITERATION,
  LOGIC,
  OBJECTS,
  SETS,
];

/** Every expression operator that is known, by name. What is not here is refused (168). */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  FAMILIES.flat().map((operator) => [operator.name, operator]),
);
