import { DbError } from '../errors.js';
import { checkLength, toRegExp } from '../values/pattern.js';
import { BSONRegExp, BSONSymbol } from '../values/value.js';
import type { Predicate } from './path.js';

/** A filter takes three bytes less than an expression: MongoDB puts something around its pattern. */
const MAX_PATTERN_BYTES = 32_761;

/**
 * Compiles a pattern to a test that holds for matching text and for an equal regular expression.
 * Throws 51091 for a pattern that is not valid or that cannot be rewritten, 2 for a null byte.
 */
export function compileRegExp(pattern: string, options: string): Predicate {
  for (const [what, text] of [
    ['Regular expression', pattern],
    ['Regular expression options string', options],
  ] as const) {
    if (text.includes('\0')) throw new DbError(2, `${what} cannot contain an embedded null byte`);
  }
  checkLength(pattern, MAX_PATTERN_BYTES);
  const regExp = toRegExp(pattern, options);
  return (value) => {
    if (typeof value === 'string') return regExp.test(value);
    if (value instanceof BSONRegExp) return value.pattern === pattern && value.options === options;
    return value instanceof BSONSymbol && regExp.test(value.value);
  };
}
