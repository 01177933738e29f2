import { DbError } from '../../errors.js';
import { formatValue } from '../../values/format.js';
import { compareText } from '../../values/order.js';
import { typeName } from '../../values/type-names.js';
import { int32, isDoc, type Value } from '../../values/value.js';
import { coerceToText } from '../conversion/text-of-value.js';
import { type Evaluated, type Expression, isNullish } from '../expression.js';
import { binary, lazy, type Operator, unary } from '../operator.js';
import type { Scope } from '../scope.js';

/** A longer text would fit into no document. */
const LONGEST_TEXT = 64 * 1024 * 1024;

/** Operators on whole texts. Upper and lower case know ASCII letters only, as in MongoDB. */
export const STRINGS: readonly Operator[] = [
  lazy('$concat', (operands, root) => {
    let joined = '';
    for (const operand of operands) {
      const value = operand.evaluate(root);
      if (isNullish(value)) return null;
      if (typeof value !== 'string') {
        throw new DbError(16702, `$concat only supports strings, not ${typeName(value)}`);
      }
      joined += value;
      if (joined.length > LONGEST_TEXT) {
        throw new DbError(146, `$concat would make a text of more than ${LONGEST_TEXT} characters`);
      }
    }
    return joined;
  }),
  unary('$toUpper', (value) => upper(coerceToText(value))),
  unary('$toLower', (value) =>
    coerceToText(value).replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  ),
  binary('$strcasecmp', (left, right) =>
    int32(Math.sign(compareText(upper(coerceToText(left)), upper(coerceToText(right))))),
  ),
  unary('$strLenBytes', (value) => int32(Buffer.byteLength(textOf('$strLenBytes', value, 34473)))),
  unary('$strLenCP', (value) => int32([...textOf('$strLenCP', value, 34471)].length)),
  binary('$split', split),
  trim('$trim', true, true),
  trim('$ltrim', true, false),
  trim('$rtrim', false, true),
];

function upper(text: string): string {
  return text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

function textOf(name: string, value: Evaluated, code: number): string {
  if (typeof value === 'string') return value;
  throw new DbError(code, `${name} requires a string argument, found: ${typeName(value)}`);
}

function split(text: Evaluated, separator: Evaluated): Evaluated {
  if (isNullish(text) || isNullish(separator)) return null;
  const requirement = '$split requires an expression that evaluates to a string as a';
  if (typeof text !== 'string') {
    throw new DbError(40085, `${requirement} first argument, found: ${typeName(text)}`);
  }
  if (typeof separator !== 'string') {
    throw new DbError(40086, `${requirement} second argument, found: ${typeName(separator)}`);
  }
  if (separator === '') throw new DbError(40087, '$split requires a non-empty separator');
  return text.split(separator);
}

/** What is cut off by default: what Unicode calls space, and the null character. */
const BLANKS = [
  ...'\0 \t\n\v\f\r\u00a0\u1680',
  ...'\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a',
];

function trim(name: string, left: boolean, right: boolean): Operator {
  return {
    name,
    compile(operand, scope) {
      const { input, chars } = trimOptions(name, operand, scope);
      return scope.computed(chars ? [input, chars] : [input], (root) => {
        const text = input.evaluate(root);
        if (isNullish(text)) return null;
        if (typeof text !== 'string') throw notText(name, 'input', text, 50699);
        let cut = new Set(BLANKS);
        if (chars) {
          const given = chars.evaluate(root);
          if (isNullish(given)) return null;
          if (typeof given !== 'string') throw notText(name, "'chars'", given, 50700);
          cut = new Set(given);
        }
        return trimmed([...text], cut, left, right);
      });
    },
  };
}

function notText(name: string, what: string, value: Value, code: number): DbError {
  return new DbError(
    code,
    `${name} requires its ${what} to be a string, got ${formatValue(value)} (of type: ` +
      `${typeName(value)}) instead.`,
  );
}

function trimmed(text: string[], cut: ReadonlySet<string>, left: boolean, right: boolean): string {
  let start = 0;
  let end = text.length;
  if (left) while (start < end && cut.has(text[start]!)) start++;
  if (right) while (end > start && cut.has(text[end - 1]!)) end--;
  return text.slice(start, end).join('');
}

function trimOptions(
  name: string,
  operand: Value,
  scope: Scope,
): { input: Expression; chars: Expression | undefined } {
  if (!isDoc(operand)) {
    throw new DbError(
      50696,
      `${name} only supports an object as an argument, found ${typeName(operand)}`,
    );
  }
  for (const key of operand.keys()) {
    if (key !== 'input' && key !== 'chars') {
      throw new DbError(50694, `${name} found an unknown argument: ${key}`);
    }
  }
  if (!operand.has('input')) throw new DbError(50695, `${name} requires an 'input' field`);
  return {
    input: scope.compile(operand.get('input')),
    chars: operand.has('chars') ? scope.compile(operand.get('chars')) : undefined,
  };
}
