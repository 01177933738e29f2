import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { encodeDocument } from '../values/encode.js';
import { fromPlain, type Plain } from '../values/from-plain.js';
import {
  Binary,
  BSONRegExp,
  Decimal128,
  type Doc,
  Long,
  MaxKey,
  MISSING,
  MinKey,
  ObjectId,
  Timestamp,
  type Value,
} from '../values/value.js';
import { compileExpression } from './compile-expression.js';
import { OPERATORS } from './operator-table.js';

const env = { now: new Date('2024-02-29T12:00:00.000Z') };

const scalar = fc.oneof(
  fc.constantFrom<Plain>(
    null,
    undefined,
    true,
    false,
    '',
    'a',
    'é😀',
    '2020-01-02',
    '+01:00',
    '12',
  ),
  fc.constantFrom<Plain>(0, 1, -1, 2, 1.5, -0, 1e300, Number.NaN, Number.POSITIVE_INFINITY),
  fc.constantFrom<Plain>(2147483647, -2147483648, Long.MAX_VALUE, Long.MIN_VALUE),
  fc.constantFrom<Plain>(
    Decimal128.fromString('1.50'),
    Decimal128.fromString('NaN'),
    Decimal128.fromString('-Infinity'),
    Decimal128.fromString('1E+6000'),
  ),
  fc.constantFrom<Plain>(
    new Date(0),
    new Date(8.64e15),
    new Timestamp({ t: 1, i: 2 }),
    new ObjectId('0123456789abcdef01234567'),
    new Binary(Buffer.from('x')),
    new BSONRegExp('a(b)?', 'i'),
    new MinKey(),
    new MaxKey(),
  ),
);

const { document: value } = fc.letrec<{ document: Plain }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalar,
    fc.array(tie('document'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'k', 'v'), tie('document'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
}));

const names = [...OPERATORS.keys()];
const parameters = [
  ...['input', 'as', 'in', 'cond', 'vars', 'initialValue', 'if', 'then', 'else', 'branches'],
  ...['default', 'date', 'timezone', 'format', 'dateString', 'to', 'onError', 'onNull', 'regex'],
  ...['options', 'chars', 'inputs', 'year', 'month', 'iso8601'],
];
const { expression } = fc.letrec<{ expression: Plain }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    scalar,
    fc.constantFrom('$a', '$b.k', '$$ROOT', '$$NOW', '$$this', '$list', '$nosuch.x'),
    fc.array(tie('expression'), { maxLength: 3 }),
    fc
      .tuple(fc.constantFrom(...names), fc.array(tie('expression'), { maxLength: 3 }))
      .map(([name, operands]) => ({ [name]: operands })),
    fc
      .tuple(fc.constantFrom(...names), tie('expression'))
      .map(([name, operand]) => ({ [name]: operand })),
    fc
      .tuple(
        fc.constantFrom(...names),
        fc.dictionary(fc.constantFrom(...parameters), tie('expression'), {
          maxKeys: 4,
          noNullPrototype: true,
        }),
      )
      .map(([name, operand]) => ({ [name]: operand })),
  ),
}));

/** The result, or the code of MongoDB's error; whatever else is thrown is a fault of ours. */
function outcome(plain: Plain, document: Doc): Value | typeof MISSING | string {
  try {
    return compileExpression(fromPlain(plain), env).evaluate(document);
  } catch (error) {
    if (error instanceof DbError) return `error ${error.code}`;
    throw error;
  }
}

describe('any expression over any document', () => {
  it('gives a value that can be stored or an error of MongoDB, and changes nothing', () => {
    fc.assert(
      fc.property(expression, fc.array(value, { maxLength: 3 }), (plain, [a, b, list]) => {
        const document = fromPlain({ a: a ?? 1, b: b ?? null, list: list ?? [1, 'x'] }) as Doc;
        const before = encodeDocument(document);
        const result = outcome(plain, document);
        if (result !== MISSING) encodeDocument(new Map([['result', result]]));
        expect(encodeDocument(document)).toEqual(before);
      }),
      { numRuns: 1_000 },
    );
  });
});
