import { toRegExp } from '../values/pattern.js';
import { BSONRegExp, BSONSymbol } from '../values/value.js';
import type { Predicate } from './path.js';

/**
 * Compiles a pattern to a test that holds for matching text and for an equal regular expression.
 * Throws 51091 for a pattern that is not valid or that cannot be rewritten.
 */
export function compileRegExp(pattern: string, options: string): Predicate {
  const regExp = toRegExp(pattern, options);
  return (value) => {
    if (typeof value === 'string') return regExp.test(value);
    if (value instanceof BSONRegExp) return value.pattern === pattern && value.options === options;
    return value instanceof BSONSymbol && regExp.test(value.value);
  };
}
