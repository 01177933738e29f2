import { LIST_OPERATORS } from './accumulation/list-operators.js';
import { CONVERSION } from './conversion/conversion-operators.js';
import { DATE_PARTS } from './dates/date-part-operators.js';
import { DATE_TEXT } from './dates/date-text-operators.js';
import type { Operator } from './operator.js';
import { ARITHMETIC } from './operators/arithmetic.js';
import { ARRAYS } from './operators/arrays.js';
import { COMPARISON } from './operators/comparison.js';
import { ITERATION } from './operators/iteration.js';
import { LOGIC } from './operators/logic.js';
import { MATHEMATICS } from './operators/mathematics.js';
import { OBJECTS } from './operators/objects.js';
import { REGEX } from './operators/regex.js';
import { ROUNDING } from './operators/rounding.js';
import { SETS } from './operators/sets.js';
import { STRINGS } from './operators/strings.js';
import { SUBSTRINGS } from './operators/substrings.js';
import { TRIGONOMETRY } from './operators/trigonometry.js';
import { ZIP } from './operators/zip.js';

const FAMILIES: readonly (readonly Operator[])[] = [
  ARITHMETIC,
  ARRAYS,
  COMPARISON,
  CONVERSION,
  DATE_PARTS,
  DATE_TEXT,
  ITERATION,
  LIST_OPERATORS,
  LOGIC,
  MATHEMATICS,
  OBJECTS,
  REGEX,
  ROUNDING,
  SETS,
  STRINGS,
  SUBSTRINGS,
  TRIGONOMETRY,
  ZIP,
];

/** Every expression operator that is known, by name. What is not here is refused (168). */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  FAMILIES.flat().map((operator) => [operator.name, operator]),
);
