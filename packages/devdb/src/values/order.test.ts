import { describe, expect, it } from 'vitest';
import { Double, fromPlain, type Plain } from './from-plain.js';
import { encodeKeyPart } from './index-key.js';
import { compareValues, equalValues } from './order.js';
import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Decimal128,
  Long,
  MaxKey,
  MISSING,
  MinKey,
  ObjectId,
  Timestamp,
} from './value.js';

const decimal = (text: string) => Decimal128.fromString(text);
const long = (text: string) => Long.fromString(text);

/** From least to greatest; each line is above the one before it. */
const ascending: Plain[] = [
  new MinKey(),
  undefined,
  null,
  Number.NaN,
  Number.NEGATIVE_INFINITY,
  decimal('-1E+400'),
  -1e300,
  long('-9223372036854775808'),
  -1.5,
  -1,
  decimal('-1E-400'),
  0,
  decimal('1E-400'),
  decimal('0.1'),
  0.1,
  1,
  1.5,
  9007199254740992,
  long('9007199254740993'),
  9007199254740994,
  long('9223372036854775807'),
  2 ** 63,
  1e300,
  decimal('1E+400'),
  Number.POSITIVE_INFINITY,
  '',
  'A',
  'a',
  'a\0',
  'a\u0001',
  'aa',
  'é',
  '\uffff',
  '😀',
  {},
  { a: 1 },
  { a: 1, b: 1 },
  { b: 1 },
  { a: 'x' },
  [],
  [1],
  [1, 2],
  [2],
  [[1]],
  new Binary(Buffer.from('b'), 0),
  new Binary(Buffer.from('a'), 5),
  new Binary(Buffer.from('aa'), 0),
  new ObjectId('000000000000000000000001'),
  new ObjectId('f00000000000000000000000'),
  false,
  true,
  new Date(-5),
  new Date(0),
  new Date(5),
  new Timestamp({ t: 1, i: 2 }),
  new Timestamp({ t: 4_000_000_000, i: 1 }),
  new BSONRegExp('a', 'i'),
  new BSONRegExp('b', ''),
  new MaxKey(),
];

describe('compareValues', () => {
  const values = ascending.map(fromPlain);

  it('puts every value above all that come before it', () => {
    for (const [left, a] of values.entries()) {
      for (const [right, b] of values.entries()) {
        expect([left, right, Math.sign(compareValues(a, b))]).toEqual([
          left,
          right,
          Math.sign(left - right),
        ]);
      }
    }
  });

  it.each([
    [1, new Double(1)],
    [1, long('1')],
    [1, decimal('1.00')],
    [new Double(-0), 0],
    [decimal('-0'), 0],
    [Number.NaN, decimal('NaN')],
    [Number.POSITIVE_INFINITY, decimal('Infinity')],
    [long('9007199254740993'), decimal('9007199254740993')],
    ['s', new BSONSymbol('s')],
    [{ a: 1 }, { a: new Double(1) }],
  ] as [Plain, Plain][])('holds %s and %s equal, as do their index keys', (left, right) => {
    const [a, b] = [fromPlain(left), fromPlain(right)];
    expect(equalValues(a, b)).toBe(true);
    expect(encodeKeyPart(a)).toBe(encodeKeyPart(b));
  });

  it('holds an absent field equal to undefined and below null', () => {
    expect(compareValues(MISSING, undefined)).toBe(0);
    expect(compareValues(MISSING, null)).toBeLessThan(0);
  });

  it('does not hold a decimal fraction equal to the double that is nearest', () => {
    expect(equalValues(0.1, decimal('0.1'))).toBe(false);
    expect(encodeKeyPart(0.1)).not.toBe(encodeKeyPart(decimal('0.1')));
  });
});

describe('encodeKeyPart', () => {
  it('gives texts in the order of the values, and inverted ones in the other order', () => {
    const values = ascending.map(fromPlain);
    for (let index = 1; index < values.length; index++) {
      const [before, after] = [values[index - 1]!, values[index]!];
      expect([index, encodeKeyPart(before) < encodeKeyPart(after)]).toEqual([index, true]);
      expect([index, encodeKeyPart(before, true) > encodeKeyPart(after, true)]).toEqual([
        index,
        true,
      ]);
    }
  });
});
