import { DbError } from '../errors.js';
import { fromPlain, fromPlainDoc, type Plain } from '../values/from-plain.js';
import { compileExpression } from './compile-expression.js';
import type { Evaluated } from './expression.js';

/** `$$NOW` of {@link evaluatePlain}. */
export const PLAIN_NOW = new Date('2024-02-29T12:00:00.000Z');

/**
 * Evaluates an expression that is written as a literal, over a document that is. An error of
 * MongoDB's is given as `error <code>`, so that tables of cases can hold both outcomes.
 */
export function evaluatePlain(
  expression: Plain,
  document: { readonly [key: string]: Plain } = {},
): Evaluated {
  try {
    const compiled = compileExpression(fromPlain(expression), { now: PLAIN_NOW });
    return compiled.evaluate(fromPlainDoc(document));
  } catch (error) {
    if (error instanceof DbError) return `error ${error.code}`;
    throw error;
  }
}
