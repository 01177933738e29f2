import { serialize } from 'bson';
import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { decodeDocument, MAX_NESTING } from './decode.js';
import { encodeDocument } from './encode.js';
import { fromPlainDoc } from './from-plain.js';
import { identicalDocs } from './identical.js';
import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  DbPointer,
  Decimal128,
  type Doc,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  type Value,
} from './value.js';

const everyType: [string, Value][] = [
  ['double', 1.5],
  ['negative zero', -0],
  ['not a number', Number.NaN],
  ['empty text', ''],
  ['long text', 'x'.repeat(500)],
  ['text with a zero', 'a\0b'],
  ['text beyond the basic plane', 'é😀\uffff'],
  ['document', fromPlainDoc({ a: 1, b: { c: 2 } })],
  ['array', [new Map(), [], null]],
  ['binary', new Binary(Buffer.from([1, 2, 3]), 0)],
  ['old binary', new Binary(Buffer.from([1, 2, 3]), 2)],
  ['undefined', undefined],
  ['object id', new ObjectId('0123456789abcdef01234567')],
  ['true', true],
  ['false', false],
  ['date', new Date(1_600_000_000_123)],
  ['date before 1970', new Date(-1)],
  ['null', null],
  ['regular expression', new BSONRegExp('a.b', 'im')],
  ['pointer', new DbPointer('db.c', new ObjectId('0123456789abcdef01234567'))],
  ['code', new Code('f()')],
  ['symbol', new BSONSymbol('s')],
  ['scoped code', new Code('f()', new Map([['x', 1.5]]) as never)],
  ['timestamp', new Timestamp({ t: 4_000_000_000, i: 7 })],
  ['long', Long.fromString('-9223372036854775808')],
  ['decimal', Decimal128.fromString('1.50')],
  ['least', new MinKey()],
  ['greatest', new MaxKey()],
];

describe('encodeDocument and decodeDocument', () => {
  it.each(everyType)('keep a %s', (_, value) => {
    const document: Doc = new Map([['v', value]]);
    expect(identicalDocs(decodeDocument(encodeDocument(document)), document)).toBe(true);
  });

  it('keep the order of keys that look like numbers, and odd keys', () => {
    const document: Doc = new Map<string, Value>([
      ['b', 1.5],
      ['10', 1.5],
      ['1', 1.5],
      ['', 1.5],
      ['__proto__', 1.5],
      ['key with ünicode', 1.5],
      ['k'.repeat(100), 1.5],
    ]);
    expect([...decodeDocument(encodeDocument(document)).keys()]).toEqual([...document.keys()]);
  });

  it('write what the bson package writes', () => {
    const bytes = encodeDocument(fromPlainDoc({ a: 1, b: 'x', c: [1, { d: null }], e: 1.5 }));
    expect(bytes).toEqual(Buffer.from(serialize({ a: 1, b: 'x', c: [1, { d: null }], e: 1.5 })));
  });

  it('read at an offset', () => {
    const bytes = Buffer.concat([Buffer.from([9, 9]), encodeDocument(fromPlainDoc({ a: 1 }))]);
    expect(decodeDocument(bytes, 2)).toEqual(fromPlainDoc({ a: 1 }));
  });

  it('take the last value of a repeated key', () => {
    const once = encodeDocument(fromPlainDoc({ a: 1 }));
    const element = once.subarray(4, -1);
    const twice = Buffer.concat([Buffer.alloc(4), element, element, Buffer.from([0])]);
    twice.writeInt32LE(twice.length, 0);
    twice.writeInt32LE(2, 14);
    expect(decodeDocument(twice)).toEqual(fromPlainDoc({ a: 2 }));
  });
});

describe('decodeDocument refuses', () => {
  const refused = (bytes: Uint8Array) => {
    try {
      decodeDocument(bytes);
    } catch (error) {
      return error instanceof DbError ? error.codeName : error;
    }
    return 'accepted';
  };
  const valid = encodeDocument(fromPlainDoc({ a: 'text', b: { c: 1 } }));

  it('every truncation', () => {
    for (let length = 0; length < valid.length; length++) {
      expect(refused(valid.subarray(0, length))).toBe('InvalidBSON');
    }
  });

  it.each([-1, 0, 4, 2 ** 31 - 1])('a length of %i', (length) => {
    const bytes = Buffer.from(valid);
    bytes.writeInt32LE(length, 0);
    expect(refused(bytes)).toBe('InvalidBSON');
  });

  it('a string length that leads out of its document', () => {
    const bytes = Buffer.from(valid);
    bytes.writeInt32LE(1000, 7);
    expect(refused(bytes)).toBe('InvalidBSON');
  });

  it('an unknown type', () => {
    const bytes = Buffer.from(valid);
    bytes[4] = 0x60;
    expect(refused(bytes)).toBe('InvalidBSON');
  });

  it('text that is not UTF-8', () => {
    const bytes = Buffer.from(valid);
    bytes[11] = 0xff;
    expect(refused(bytes)).toBe('InvalidBSON');
  });

  it('a date that JavaScript cannot hold', () => {
    const bytes = encodeDocument(new Map([['d', new Date(0)]]));
    bytes.writeBigInt64LE(2n ** 62n, 7);
    expect(refused(bytes)).toBe('InvalidBSON');
  });

  it(`more than ${MAX_NESTING} levels, and takes that many`, () => {
    const nested = (levels: number) => {
      let document: Doc = new Map();
      for (let level = 1; level < levels; level++) document = new Map([['d', document]]);
      return encodeDocument(document);
    };
    expect(refused(nested(MAX_NESTING))).toBe('accepted');
    expect(refused(nested(MAX_NESTING + 1))).toBe('InvalidBSON');
  });
});
