import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { Double, fromPlainDoc, type Plain } from '../values/from-plain.js';
import {
  Binary,
  BSONRegExp,
  Decimal128,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
} from '../values/value.js';
import { compileFilter } from './compile-filter.js';

type PlainDoc = { readonly [key: string]: Plain };

const env = { now: new Date('2024-05-06T07:08:09Z') };

/** The `_id`s of the documents that a filter finds, in order. */
function found(documents: readonly PlainDoc[], filter: PlainDoc): number[] {
  const matcher = compileFilter(fromPlainDoc(filter), env);
  return documents
    .map(fromPlainDoc)
    .filter((document) => matcher.matches(document))
    .map((document) => (document.get('_id') as Int32).value);
}

function codeOf(filter: PlainDoc): number | string {
  try {
    compileFilter(fromPlainDoc(filter), env);
  } catch (error) {
    return error instanceof DbError ? error.code : String(error);
  }
  return 'accepted';
}

const id = new ObjectId('0123456789abcdef01234567');
const mixed: PlainDoc[] = [
  { _id: 1 },
  { _id: 2, v: null },
  { _id: 3, v: 7 },
  { _id: 4, v: Long.fromNumber(7) },
  { _id: 5, v: 7.5 },
  { _id: 6, v: Decimal128.fromString('7.0') },
  { _id: 7, v: 'seven' },
  { _id: 8, v: true },
  { _id: 9, v: [] },
  { _id: 10, v: [7, 'x'] },
  { _id: 11, v: [[7]] },
  { _id: 12, v: { w: 7 } },
  { _id: 13, v: new Date(7) },
  { _id: 14, v: id },
  { _id: 15, v: Number.NaN },
  { _id: 16, v: new BSONRegExp('^s', 'i') },
  { _id: 17, v: undefined },
  { _id: 18, v: new MinKey() },
  { _id: 19, v: [{ w: 7 }, { w: 8 }] },
];
const others = (...ids: number[]) =>
  mixed.map((document) => document._id as unknown as number).filter((each) => !ids.includes(each));

describe('a filter on one field', () => {
  const cases: [string, Plain, number[]][] = [
    ['equality goes across number types and into arrays', 7, [3, 4, 6, 10]],
    ['a long finds the same', Long.fromNumber(7), [3, 4, 6, 10]],
    ['a whole double finds the same', new Double(7), [3, 4, 6, 10]],
    ['null finds what is absent and undefined', null, [1, 2, 17]],
    ['a list finds the equal list, also inside of a list', [7], [11]],
    ['an empty list', [], [9]],
    ['a document', { w: 7 }, [12, 19]],
    ['a pattern finds text and the equal pattern', new BSONRegExp('^S', 'i'), [7]],
    ['$eq with a pattern finds the pattern only', { $eq: new BSONRegExp('^s', 'i') }, [16]],
    ['NaN equals NaN', Number.NaN, [15]],
    ['$ne is the opposite of equality', { $ne: 7 }, others(3, 4, 6, 10)],
    ['$ne null', { $ne: null }, others(1, 2, 17)],
    ['$gt stays in the bracket of the type', { $gt: 7 }, [5]],
    ['$gte', { $gte: 7 }, [3, 4, 5, 6, 10]],
    ['$lt', { $lt: 8 }, [3, 4, 5, 6, 10]],
    ['$lte with text', { $lte: 'x' }, [7, 10]],
    ['$gte null finds what equals null', { $gte: null }, [1, 2, 17]],
    ['$gt null finds nothing', { $gt: null }, []],
    ['$lt NaN finds nothing', { $lt: Number.NaN }, []],
    ['$lte NaN finds NaN', { $lte: Number.NaN }, [15]],
    ['$gt MinKey finds all but itself', { $gt: new MinKey() }, others(18)],
    ['$lte MaxKey finds all', { $lte: new MaxKey() }, others()],
    ['$gt a list compares lists', { $gt: [7] }, [10, 11, 19]],
    ['$in', { $in: ['seven', 7.5] }, [5, 7]],
    ['$in with null and a pattern', { $in: [null, new BSONRegExp('^s', '')] }, [1, 2, 7, 17]],
    ['a long $in', { $in: [0, 1, 2, 3, 4, 5, 6, 7] }, [3, 4, 6, 10]],
    ['a long $in with null', { $in: [null, 1, 2, 3, 4, 5, 6, 8] }, [1, 2, 17]],
    ['an empty $in', { $in: [] }, []],
    ['$nin', { $nin: [7, null] }, others(1, 2, 3, 4, 6, 10, 17)],
    ['$exists', { $exists: true }, others(1)],
    ['$exists: 0', { $exists: 0 }, [1]],
    ['$type by name', { $type: 'number' }, [3, 4, 5, 6, 10, 15]],
    ['$type by code looks into arrays', { $type: 2 }, [7, 10]],
    ['$type array', { $type: 'array' }, [9, 10, 11, 19]],
    ['$type of several', { $type: ['null', 'bool'] }, [2, 8]],
    ['$size', { $size: 2 }, [10, 19]],
    ['$all', { $all: [7, 'x'] }, [10]],
    ['$all of one list', { $all: [[7]] }, [11]],
    ['an empty $all', { $all: [] }, []],
    ['$all with $elemMatch', { $all: [{ $elemMatch: { w: 7 } }, { $elemMatch: { w: 8 } }] }, [19]],
    ['$elemMatch on values', { $elemMatch: { $gte: 7, $lt: 8 } }, [10]],
    ['$elemMatch on documents', { $elemMatch: { w: { $gt: 7 } } }, [19]],
    ['$elemMatch in $elemMatch', { $elemMatch: { $elemMatch: { $eq: 7 } } }, [11]],
    ['$elemMatch with $or', { $elemMatch: { $or: [{ w: 1 }, { w: 8 }] } }, [19]],
    ['$not', { $not: { $gte: 7 } }, others(3, 4, 5, 6, 10)],
    ['$not with a pattern', { $not: new BSONRegExp('^s', '') }, others(7)],
    ['$mod', { $mod: [4, 3] }, [3, 4, 5, 6, 10]],
    ['$bitsAllSet', { $bitsAllSet: 6 }, [3, 4, 6, 10]],
    ['$bitsAnyClear', { $bitsAnyClear: [3] }, [3, 4, 6, 10]],
    ['a field beside operators makes it a plain document', { w: 7, $gt: 1 }, []],
    ['a reference is a plain document', { $ref: 'c', $id: 1 }, []],
  ];
  it.each(cases)('%s', (_, operand, ids) => {
    expect(found(mixed, { v: operand })).toEqual(ids);
  });

  it('tests the bits of binaries and of negative numbers', () => {
    const documents = [
      { _id: 1, v: new Binary(Buffer.from([0b101]), 0) },
      { _id: 2, v: -1 },
      { _id: 3, v: 4.5 },
    ];
    expect(found(documents, { v: { $bitsAllSet: [0, 2] } })).toEqual([1, 2]);
    expect(found(documents, { v: { $bitsAllSet: [100] } })).toEqual([2]);
  });
});

describe('a filter on a dotted path', () => {
  const nested: PlainDoc[] = [
    { _id: 1, a: { b: 1 } },
    { _id: 2, a: [{ b: 1 }, { b: 2 }] },
    { _id: 3, a: [{ b: [1, 2] }] },
    { _id: 4, a: [1, { c: 1 }] },
    { _id: 5, a: [] },
    { _id: 6, a: 1 },
    { _id: 7 },
    { _id: 8, a: [[{ b: 1 }]] },
    { _id: 9, a: { 0: { b: 1 } } },
    { _id: 10, a: { b: null } },
  ];
  const cases: [string, PlainDoc, number[]][] = [
    ['looks into the documents of an array', { 'a.b': 1 }, [1, 2, 3]],
    ['null needs a document that lacks it', { 'a.b': null }, [4, 6, 7, 9, 10]],
    ['$exists: false is the opposite of true', { 'a.b': { $exists: false } }, [4, 5, 6, 7, 8, 9]],
    ['each condition finds an element of its own', { 'a.b': { $gt: 1, $lt: 2 } }, [2, 3]],
    ['a number names a place or a field', { 'a.0.b': 1 }, [2, 3, 8, 9]],
    ['a place at the end', { 'a.0': 1 }, [4]],
    ['a place in an inner array', { 'a.b.1': 2 }, [3]],
    ['an equal list at the end', { 'a.b': [1, 2] }, [3]],
    ['a place in a list of lists', { 'a.0.0.b': 1 }, [8]],
  ];
  it.each(cases)('%s', (_, filter, ids) => {
    expect(found(nested, filter)).toEqual(ids);
  });
});

describe('combined filters', () => {
  const pairs: PlainDoc[] = [
    { _id: 1, a: 1, b: 1 },
    { _id: 2, a: 1, b: 2 },
    { _id: 3, a: 2, b: 1 },
    { _id: 4, b: 3 },
  ];
  const cases: [string, PlainDoc, number[]][] = [
    ['nothing finds everything', {}, [1, 2, 3, 4]],
    ['two fields', { a: 1, b: 2 }, [2]],
    ['$and', { $and: [{ a: 1 }, { b: { $lt: 2 } }] }, [1]],
    ['$or', { $or: [{ a: 2 }, { b: 2 }] }, [2, 3]],
    ['$nor', { $nor: [{ a: 2 }, { b: 2 }] }, [1, 4]],
    ['$or beside a field', { a: 1, $or: [{ b: 2 }, { b: 3 }] }, [2]],
    ['$comment says nothing', { $comment: 'why', a: 2 }, [3]],
    ['$expr', { $expr: { $eq: ['$a', '$b'] } }, [1]],
    ['$expr with the time', { $expr: { $lt: ['$$NOW', new Date(0)] } }, []],
    [
      '$jsonSchema',
      { $jsonSchema: { required: ['a'], properties: { a: { maximum: 1 } } } },
      [1, 2],
    ],
  ];
  it.each(cases)('%s', (_, filter, ids) => {
    expect(found(pairs, filter)).toEqual(ids);
  });
});

describe('a filter that is refused', () => {
  const cases: [string, PlainDoc, number][] = [
    ['an unknown operator', { a: { $near2: 1 } }, 2],
    ['an unknown operator at the top', { $whatever: 1 }, 2],
    ['$not at the top', { $not: { a: 1 } }, 2],
    ['an empty $or', { $or: [] }, 2],
    ['$and without a list', { $and: { a: 1 } }, 2],
    ['$or of values', { $or: [1] }, 2],
    ['$in without a list', { a: { $in: 1 } }, 2],
    ['operators in $in', { a: { $in: [{ $gt: 1 }] } }, 2],
    ['operators in $all', { a: { $all: [{ $gt: 1 }] } }, 2],
    ['$ne with a pattern', { a: { $ne: new BSONRegExp('x', '') } }, 2],
    ['$gt with a pattern', { a: { $gt: new BSONRegExp('x', '') } }, 2],
    ['$gt with undefined', { a: { $gt: undefined } }, 2],
    ['an empty $not', { a: { $not: {} } }, 2],
    ['$not of a value', { a: { $not: 1 } }, 2],
    ['a field in operators', { a: { $gt: 1, b: 2 } }, 2],
    ['$size of a fraction', { a: { $size: 1.5 } }, 2],
    ['$size below nothing', { a: { $size: -1 } }, 2],
    ['$mod by nothing', { a: { $mod: [0, 1] } }, 2],
    ['$mod with one number', { a: { $mod: [2] } }, 2],
    ['$type of an unknown name', { a: { $type: 'integer' } }, 2],
    ['$type of a boolean', { a: { $type: true } }, 14],
    ['$type of nothing', { a: { $type: [] } }, 9],
    ['$elemMatch of a value', { a: { $elemMatch: 1 } }, 2],
    ['$options alone', { a: { $options: 'i' } }, 2],
    ['options twice', { a: { $regex: new BSONRegExp('a', 'i'), $options: 'i' } }, 51075],
    ['a broken pattern', { a: { $regex: '(' } }, 51091],
    ['$where', { $where: 'true' }, 2],
    ['$text', { $text: { $search: 'x' } }, 27],
    ['an unknown schema keyword', { $jsonSchema: { nosuch: 1 } }, 9],
    ['a geo query', { a: { $near: [0, 0] } }, 2],
  ];
  it.each(cases)('%s', (_, filter, code) => {
    expect(codeOf(filter)).toBe(code);
  });

  it('$expr where it may not stand', () => {
    const filter = fromPlainDoc({ $or: [{ $expr: true }, { a: 1 }] });
    expect(() => compileFilter(filter, { ...env, exprRefusedIn: 'an upsert' })).toThrow(
      '$expr is not allowed in an upsert',
    );
  });
});

describe('patterns', () => {
  const texts: PlainDoc[] = [
    { _id: 1, s: 'Apple pie' },
    { _id: 2, s: 'pine\napple' },
    { _id: 3, s: 'a.b' },
    { _id: 4, s: 'tail\n' },
    { _id: 5, s: 'über' },
    { _id: 6, s: 5 },
    { _id: 7, s: ['x', 'apple'] },
    { _id: 8, s: 'a\u00a0b' },
  ];
  const cases: [string, string, string, number[]][] = [
    ['case', 'apple', '', [2, 7]],
    ['no case', 'apple', 'i', [1, 2, 7]],
    ['a line start', '^apple', 'm', [2, 7]],
    ['the dot and line feeds', 'e.a', '', []],
    ['the dot and line feeds with s', 'e.a', 's', [2]],
    ['the end before a last line feed', 'tail$', '', [4]],
    ['the very end', 'tail\\z', '', []],
    ['spaces with x', 'a p p l e # fruit', 'x', [2, 7]],
    ['options inside', '(?i)APPLE', '', [1, 2, 7]],
    ['a POSIX class', '^[[:upper:]]', '', [1]],
    ['quoting', '\\Qa.b\\E', '', [3]],
    ['a space is an ASCII one', 'a\\sb', '', []],
    ['characters beyond ASCII', '^.ber$', '', [5]],
    ['an escape that means nothing', 'a\\.b|\\-', '', [3]],
    ['a code point', '\\x{fc}', '', [5]],
  ];
  it.each(cases)('%s', (_, pattern, options, ids) => {
    expect(found(texts, { s: { $regex: pattern, $options: options } })).toEqual(ids);
  });

  it.each(['(?>a)', 'a++', '(?i:a)b', 'a(?i)b', '\\Ka', '[[:nosuch:]]', '(?R)'])(
    'refuse %s instead of matching it otherwise',
    (pattern) => {
      expect(codeOf({ s: { $regex: pattern } })).toBe(51091);
    },
  );
});

describe('matchWithPosition', () => {
  const document = fromPlainDoc({
    a: [5, 6, 7],
    b: [{ x: 1 }, { x: 2, y: [9, 8] }],
    c: { d: [3, 4] },
  });
  const cases: [string, PlainDoc, number | undefined][] = [
    ['the element', { a: 6 }, 1],
    ['the document in the array', { 'b.x': 2 }, 1],
    ['the outer array', { 'b.y': 8 }, 1],
    ['$elemMatch', { b: { $elemMatch: { x: 2 } } }, 1],
    ['an array below a document', { 'c.d': 4 }, 1],
    ['the last condition in the order of kind and path', { 'b.x': 1, a: 7 }, 0],
    ['a comparison after an equality', { a: { $eq: 7, $gt: 5 } }, 1],
    ['nothing for a negation', { a: { $ne: 0 } }, undefined],
    ['nothing for alternatives', { $or: [{ a: 5 }, { a: 6 }] }, undefined],
    ['a single alternative', { $or: [{ a: 6 }] }, 1],
    ['nothing for the whole array', { a: [5, 6, 7] }, undefined],
  ];
  it.each(cases)('is the place of %s', (_, filter, index) => {
    const matcher = compileFilter(fromPlainDoc(filter), env);
    expect(matcher.matchWithPosition(document)).toEqual({ index });
  });

  it('is null where nothing matches', () => {
    expect(compileFilter(fromPlainDoc({ a: 1 }), env).matchWithPosition(document)).toBeNull();
  });
});
