import { DbError } from '../../errors.js';
import { toDouble } from '../../values/numbers.js';
import { typeName } from '../../values/type-names.js';
import { int32, isNumeric } from '../../values/value.js';
import { coerceToText } from '../conversion/text-of-value.js';
import { type Evaluated, isNullish } from '../expression.js';
import { asInt32 } from '../numeric.js';
import { exactly, type Operator, operandsOf, ranged } from '../operator.js';
import { indexBound } from './arrays.js';

/** Parts of texts and places in them, counted in UTF-8 bytes or in code points. */
export const SUBSTRINGS: readonly Operator[] = [
  ternary('$substrBytes', substringOfBytes),
  ternary('$substr', substringOfBytes),
  ternary('$substrCP', substringOfCodePoints),
  ranged('$indexOfBytes', 2, 4, indexOfBytes),
  ranged('$indexOfCP', 2, 4, indexOfCodePoint),
];

type Substring = (text: Evaluated, start: Evaluated, length: Evaluated) => Evaluated;

function ternary(name: string, apply: Substring): Operator {
  return {
    name,
    compile(operand, scope) {
      const operands = exactly(name, 3, operandsOf(operand, scope));
      return scope.computed(operands, (root) =>
        apply(...(operands.map((each) => each.evaluate(root)) as Parameters<Substring>)),
      );
    },
  };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function substringOfBytes(text: Evaluated, start: Evaluated, length: Evaluated): Evaluated {
  const bytes = Buffer.from(coerceToText(text));
  if (!isNumeric(start)) throw notNumeric('starting index', start, 16034);
  if (!isNumeric(length)) throw notNumeric('length', length, 16035);
  const lower = Math.trunc(toDouble(start));
  if (lower < 0) {
    throw new DbError(
      50752,
      `$substrBytes: starting index must be non-negative (got: ${toDouble(start)})`,
    );
  }
  const count = Math.trunc(toDouble(length));
  const end = count < 0 ? bytes.length : Math.min(bytes.length, lower + count);
  if (isContinuation(bytes[lower])) {
    throw new DbError(
      28656,
      '$substrBytes:  Invalid range, starting index is a UTF-8 continuation byte.',
    );
  }
  if (isContinuation(bytes[end])) {
    throw new DbError(
      28657,
      '$substrBytes:  Invalid range, ending index is in the middle of a UTF-8 character.',
    );
  }
  return bytes.toString('utf8', lower, end);
}

function notNumeric(what: string, value: Evaluated, code: number): DbError {
  return new DbError(
    code,
    `$substrBytes: ${what} must be a numeric type (is BSON type ${typeName(value)})`,
  );
}

function substringOfCodePoints(text: Evaluated, start: Evaluated, length: Evaluated): Evaluated {
  const points = [...coerceToText(text)];
  const from = codePointNumber('starting index', start, [34450, 34451, 34455]);
  const count = codePointNumber('length', length, [34452, 34453, 34454]);
  return points.slice(from, from + count).join('');
}

function codePointNumber(
  what: string,
  value: Evaluated,
  [type, whole, negative]: readonly [number, number, number],
): number {
  if (!isNumeric(value)) {
    throw new DbError(
      type,
      `$substrCP: ${what} must be a numeric type (is BSON type ${typeName(value)})`,
    );
  }
  const number = asInt32(value);
  if (number === undefined) {
    throw new DbError(whole, `$substrCP: ${what} cannot be represented as a 32-bit integer`);
  }
  if (number < 0) throw new DbError(negative, `$substrCP: ${what} must be nonnegative`);
  return number;
}

function indexOfBytes(values: Evaluated[]): Evaluated {
  if (isNullish(values[0]!)) return null;
  const [text, token] = bothTexts('$indexOfBytes', values, 40091, 40092);
  const bytes = Buffer.from(text);
  const bounds = searchBounds('$indexOfBytes', values, bytes.length);
  if (!bounds) return int32(-1);
  return int32(bytes.subarray(0, bounds.end).indexOf(Buffer.from(token), bounds.start));
}

function indexOfCodePoint(values: Evaluated[]): Evaluated {
  if (isNullish(values[0]!)) return null;
  const [text, token] = bothTexts('$indexOfCP', values, 40093, 40094);
  const points = [...text];
  const wanted = [...token];
  const bounds = searchBounds('$indexOfCP', values, points.length);
  if (!bounds) return int32(-1);
  for (let at = bounds.start; at + wanted.length <= bounds.end; at++) {
    if (wanted.every((point, offset) => points[at + offset] === point)) return int32(at);
  }
  return int32(-1);
}

function bothTexts(
  name: string,
  [text, token]: Evaluated[],
  first: number,
  second: number,
): [string, string] {
  if (typeof text !== 'string') {
    throw new DbError(
      first,
      `${name} requires a string as the first argument, found: ${typeName(text as Evaluated)}`,
    );
  }
  if (typeof token !== 'string') {
    throw new DbError(
      second,
      `${name} requires a string as the second argument, found: ${typeName(token as Evaluated)}`,
    );
  }
  return [text, token];
}

/** Where a search starts and ends; undefined where it cannot find anything. */
function searchBounds(
  name: string,
  values: readonly Evaluated[],
  length: number,
): { start: number; end: number } | undefined {
  const start = values.length > 2 ? indexBound(values[2]!, name, 'starting') : 0;
  const end = values.length > 3 ? Math.min(indexBound(values[3]!, name, 'ending'), length) : length;
  return start > length || end < start ? undefined : { start, end };
}
