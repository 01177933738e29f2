import { type Doc, MISSING, type Missing, type Value } from '../values/value.js';

/** What an expression gives: a BSON value, or MISSING where it names an absent field. */
export type Evaluated = Value | Missing;

/**
 * A compiled expression. `evaluate` takes the document that `$$ROOT` stands for; variables live in
 * the scope that it was compiled in. Values that come out are shared with the input and must not
 * be changed in place. Throws a DbError where MongoDB would.
 */
export interface Expression {
  readonly evaluate: (root: Doc) => Evaluated;
  /** Whether the result is the same for every document. */
  readonly constant: boolean;
}

/** An expression that gives one value. */
export function literal(value: Evaluated): Expression {
  return { evaluate: () => value, constant: true };
}

/** Whether a value is null, BSON undefined or absent: most operators answer null to these. */
export function isNullish(value: Evaluated): value is null | undefined | Missing {
  return value === null || value === undefined || value === MISSING;
}

/** Absent becomes null, as inside an array literal. */
export function orNull(value: Evaluated): Value {
  return value === MISSING ? null : value;
}
