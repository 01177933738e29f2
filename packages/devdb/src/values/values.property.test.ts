import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { addDecimals, decimalFromParts, decimalParts, multiplyDecimals } from './decimal.js';
import { decodeDocument } from './decode.js';
import { encodeDocument } from './encode.js';
import { identicalDocs } from './identical.js';
import { encodeKey, encodeKeyPart } from './index-key.js';
import { compareValues } from './order.js';
import {
  Binary,
  BSONRegExp,
  Decimal128,
  type Doc,
  int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  type Value,
} from './value.js';

const text = fc.string({ unit: 'grapheme', maxLength: 4 });
const smallDecimal = fc
  .tuple(fc.bigInt(-(10n ** 20n), 10n ** 20n), fc.integer({ min: -30, max: 30 }))
  .map(([digits, exponent]) =>
    decimalFromParts({
      kind: 'finite',
      negative: digits < 0n,
      digits: digits < 0n ? -digits : digits,
      exponent,
    }),
  );
const number: fc.Arbitrary<Value> = fc.oneof(
  fc.integer({ min: -3, max: 3 }).map(int32),
  fc.integer().map(int32),
  fc.integer({ min: -3, max: 3 }),
  fc.double(),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map((value) => Long.fromBigInt(value)),
  fc.constantFrom(...['9007199254740993', '3'].map((value) => Long.fromString(value))),
  smallDecimal,
  fc
    .constantFrom('0.1', '3.0', 'NaN', '-Infinity', '9007199254740993')
    .map((value) => Decimal128.fromString(value)),
);
const scalar: fc.Arbitrary<Value> = fc.oneof(
  number,
  text,
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
  fc.date({ noInvalidDate: true }),
  fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => new ObjectId(bytes)),
  fc.uint8Array({ maxLength: 3 }).map((bytes) => new Binary(bytes, 0)),
  fc.tuple(fc.nat(), fc.nat()).map(([t, i]) => new Timestamp({ t, i })),
  fc.constantFrom('a', 'b').map((pattern) => new BSONRegExp(pattern, 'i')),
  fc.constantFrom(new MinKey(), new MaxKey()),
);
const key = fc.string({ unit: 'grapheme', maxLength: 3 }).filter((name) => !name.includes('\0'));
const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 3 }).map((entries): Doc => new Map(entries)),
  ),
}));
const document = fc
  .array(fc.tuple(key, value), { maxLength: 5 })
  .map((entries): Doc => new Map(entries));

describe('the values', () => {
  it('are in a total order', () => {
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        expect(Math.sign(compareValues(a, b))).toBe(-Math.sign(compareValues(b, a)) || 0);
        expect(compareValues(a, a)).toBe(0);
        if (compareValues(a, b) <= 0 && compareValues(b, c) <= 0) {
          expect(compareValues(a, c)).toBeLessThanOrEqual(0);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('have index keys in the same order, alone and followed by others', () => {
    fc.assert(
      fc.property(value, value, number, number, (a, b, x, y) => {
        const order = Math.sign(compareValues(a, b));
        const [left, right] = [encodeKeyPart(a), encodeKeyPart(b)];
        expect(left < right ? -1 : left > right ? 1 : 0).toBe(order);
        const wanted = order || -Math.sign(compareValues(x, y)) || 0;
        const [first, second] = [
          encodeKey([a, x], [false, true]),
          encodeKey([b, y], [false, true]),
        ];
        expect(first < second ? -1 : first > second ? 1 : 0).toBe(wanted);
      }),
      { numRuns: 1000 },
    );
  });

  it('come out of their bytes as they went in', () => {
    fc.assert(
      fc.property(document, (before) => {
        expect(identicalDocs(decodeDocument(encodeDocument(before)), before)).toBe(true);
      }),
    );
  });

  it('are never made of hostile bytes: those are refused, not crashed on', () => {
    const damage = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(document, fc.array(damage, { minLength: 1, maxLength: 4 }), (before, damages) => {
        const bytes = encodeDocument(before);
        for (const [at, byte] of damages) bytes[at % bytes.length] = byte;
        try {
          decodeDocument(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(DbError);
        }
      }),
      { numRuns: 1000, endOnFailure: true },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        expect(() => decodeDocument(bytes)).toThrow(DbError);
      }),
    );
  });
});

describe('decimal arithmetic', () => {
  const whole = fc.bigInt(-(10n ** 16n), 10n ** 16n);
  const of = (digits: bigint) => decimalParts(Decimal128.fromString(digits.toString()));

  it('is exact for whole numbers', () => {
    fc.assert(
      fc.property(whole, whole, (a, b) => {
        expect(decimalFromParts(addDecimals(of(a), of(b))).toString()).toBe((a + b).toString());
        const product = decimalFromParts(multiplyDecimals(of(a), of(b)));
        expect(compareValues(product, Decimal128.fromString((a * b).toString()))).toBe(0);
      }),
    );
  });

  it('takes a decimal apart and puts the same one together', () => {
    fc.assert(
      fc.property(smallDecimal, (decimal) => {
        expect(decimalFromParts(decimalParts(decimal)).bytes).toEqual(decimal.bytes);
      }),
    );
  });
});
