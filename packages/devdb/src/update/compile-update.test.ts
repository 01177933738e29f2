import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { formatDocument } from '../values/format.js';
import { Double, fromPlain, fromPlainDoc, type Plain } from '../values/from-plain.js';
import { identicalDocs } from '../values/identical.js';
import { Decimal128, type Doc, Long, Timestamp, type Value } from '../values/value.js';
import { compileUpdate } from './compile-update.js';

type PlainDoc = { readonly [key: string]: Plain };

const now = new Date('2024-05-06T07:08:09Z');
const long = (value: string) => Long.fromString(value);
const decimal = (value: string) => Decimal128.fromString(value);

interface Options {
  readonly arrayFilters?: readonly Plain[];
  readonly index?: number;
  readonly isInsert?: boolean;
}

function update(before: Doc, change: PlainDoc | readonly Plain[], options: Options = {}) {
  const compiled = compileUpdate(fromPlain(change) as Doc | Value[], {
    now,
    ...(options.arrayFilters ? { arrayFilters: options.arrayFilters.map(fromPlain) } : {}),
  });
  return compiled.apply(before, {
    position: { index: options.index },
    isInsert: options.isInsert ?? false,
  });
}

function codeOf(before: PlainDoc, change: PlainDoc | readonly Plain[], options?: Options) {
  const document = fromPlainDoc(before);
  const copy = fromPlainDoc(before);
  try {
    update(document, change, options);
  } catch (error) {
    expect(identicalDocs(document, copy)).toBe(true);
    return error instanceof DbError ? error.code : String(error);
  }
  return 'accepted';
}

function expectSame(actual: Doc, expected: Doc): void {
  if (!identicalDocs(actual, expected)) {
    expect(formatDocument(actual)).toBe(formatDocument(expected));
    expect.fail(`same text, other types: ${formatDocument(actual)}`);
  }
}

const base: PlainDoc = {
  _id: 1,
  i: 4,
  l: long('4'),
  d: 2.5,
  m: decimal('1.10'),
  s: 'text',
  n: null,
  list: [3, 1, 2],
  empty: [],
  sub: { a: 1, b: { c: 2 } },
  docs: [
    { k: 1, v: 1 },
    { k: 2, v: 2 },
  ],
};

/** The whole document with some fields changed, added (at the end) or, by null, left out. */
function changed(fields: PlainDoc, without: readonly string[] = []): Doc {
  const result = fromPlainDoc(base);
  for (const field of without) result.delete(field);
  for (const [key, value] of fromPlainDoc(fields)) result.set(key, value);
  return result;
}

describe('an update that changes', () => {
  const cases: [string, PlainDoc, PlainDoc, string[]?][] = [
    ['$set of a field', { $set: { i: 5 } }, { i: 5 }],
    ['$set to another type', { $set: { i: new Double(4) } }, { i: new Double(4) }],
    ['$set of new fields, by name', { $set: { z: 1, y: 2 } }, { y: 2, z: 1 }],
    ['$set below', { $set: { 'sub.b.c': 3 } }, { sub: { a: 1, b: { c: 3 } } }],
    ['$set of a path that is not there', { $set: { 'x.0.y': 1 } }, { x: { 0: { y: 1 } } }],
    ['$set of an element', { $set: { 'list.1': 9 } }, { list: [3, 9, 2] }],
    ['$set beyond the end', { $set: { 'list.4': 9 } }, { list: [3, 1, 2, null, 9] }],
    [
      '$set in an element',
      { $set: { 'docs.1.v': 9 } },
      {
        docs: [
          { k: 1, v: 1 },
          { k: 2, v: 9 },
        ],
      },
    ],
    ['$set in a new element', { $set: { 'empty.1.v': 9 } }, { empty: [null, { v: 9 }] }],
    ['$unset', { $unset: { i: '', 'sub.a': '' } }, { sub: { b: { c: 2 } } }, ['i']],
    ['$unset of an element', { $unset: { 'list.0': '' } }, { list: [null, 1, 2] }],
    ['$inc', { $inc: { i: 3 } }, { i: 7 }],
    ['$inc of an int by a long', { $inc: { i: long('3') } }, { i: long('7') }],
    ['$inc of an int by a double', { $inc: { i: 0.5 } }, { i: 4.5 }],
    ['$inc of a long by a double', { $inc: { l: 0.5 } }, { l: 4.5 }],
    ['$inc of a decimal', { $inc: { m: 1 } }, { m: decimal('2.10') }],
    ['$inc of a decimal by a double', { $inc: { m: 0.5 } }, { m: decimal('1.600000000000000') }],
    ['$inc out of 32 bits', { $inc: { i: 2147483647 } }, { i: long('2147483651') }],
    ['$inc of a field that is not there', { $inc: { 'x.y': 2 } }, { x: { y: 2 } }],
    ['$mul', { $mul: { d: 2 } }, { d: new Double(5) }],
    ['$mul of a field that is not there', { $mul: { x: long('5') } }, { x: long('0') }],
    ['$min', { $min: { i: 3, s: 1, x: 5 } }, { i: 3, s: 1, x: 5 }],
    ['$max', { $max: { i: 'x', d: 2, n: 0 } }, { i: 'x', n: 0 }],
    ['$rename', { $rename: { i: 'j' } }, { j: 4 }, ['i']],
    ['$rename upwards', { $rename: { 'sub.b.c': 'c' } }, { sub: { a: 1, b: {} }, c: 2 }],
    ['$rename downwards', { $rename: { i: 'sub.i' } }, { sub: { a: 1, b: { c: 2 }, i: 4 } }, ['i']],
    ['$currentDate', { $currentDate: { t: true } }, { t: now }],
    ['$bit', { $bit: { i: { or: 3, and: 5 } } }, { i: 5 }],
    ['$bit with a long', { $bit: { i: { xor: long('1') } } }, { i: long('5') }],
    ['$push', { $push: { list: 9 } }, { list: [3, 1, 2, 9] }],
    ['$push of a list', { $push: { list: [9] } }, { list: [3, 1, 2, [9]] }],
    ['$push to a field that is not there', { $push: { x: 1 } }, { x: [1] }],
    [
      '$push with all clauses',
      { $push: { list: { $each: [5, 0], $position: 0, $sort: -1, $slice: 4 } } },
      { list: [5, 3, 2, 1] },
    ],
    ['$push and the last ones', { $push: { list: { $each: [9], $slice: -2 } } }, { list: [2, 9] }],
    [
      '$push before the last',
      { $push: { list: { $each: [9], $position: -1 } } },
      { list: [3, 1, 9, 2] },
    ],
    [
      '$push sorted by a field',
      { $push: { docs: { $each: [{ k: 0 }], $sort: { k: 1 } } } },
      { docs: [{ k: 0 }, { k: 1, v: 1 }, { k: 2, v: 2 }] },
    ],
    ['$addToSet', { $addToSet: { list: { $each: [1, 7, 7] } } }, { list: [3, 1, 2, 7] }],
    [
      '$addToSet by order of fields',
      { $addToSet: { docs: { v: 1, k: 1 } } },
      {
        docs: [
          { k: 1, v: 1 },
          { k: 2, v: 2 },
          { v: 1, k: 1 },
        ],
      },
    ],
    ['$pop', { $pop: { list: 1, docs: -1 } }, { list: [3, 1], docs: [{ k: 2, v: 2 }] }],
    ['$pull of a value', { $pull: { list: new Double(1) } }, { list: [3, 2] }],
    ['$pull by a condition', { $pull: { list: { $gte: 2 } } }, { list: [1] }],
    ['$pull by fields', { $pull: { docs: { v: { $gt: 1 } } } }, { docs: [{ k: 1, v: 1 }] }],
    ['$pullAll', { $pullAll: { list: [1, 3] } }, { list: [2] }],
    [
      'several operators',
      { $inc: { i: 1 }, $set: { 'sub.a': 9 }, $unset: { s: 1 } },
      { i: 5, sub: { a: 9, b: { c: 2 } } },
      ['s'],
    ],
    ['all elements', { $inc: { 'list.$[]': 1 } }, { list: [4, 2, 3] }],
  ];
  it.each(cases)('%s', (_, change, fields, without) => {
    const before = fromPlainDoc(base);
    const { doc, modified } = update(before, change);
    expectSame(doc, changed(fields, without));
    expect(modified).toBe(true);
    // The document that was given stays as it was.
    expectSame(before, fromPlainDoc(base));
  });

  it('shares what it does not change', () => {
    const before = fromPlainDoc(base);
    const { doc } = update(before, { $set: { 'sub.a': 5 } });
    expect(doc.get('docs')).toBe(before.get('docs'));
    expect((doc.get('sub') as Doc).get('b')).toBe((before.get('sub') as Doc).get('b'));
  });
});

describe('an update that changes nothing', () => {
  const cases: [string, PlainDoc][] = [
    ['$set to the same', { $set: { i: 4, sub: { a: 1, b: { c: 2 } } } }],
    ['$unset of what is not there', { $unset: { x: 1, 's.x': 1, 'list.9': 1, 'list.x': 1 } }],
    ['$inc by nothing', { $inc: { i: 0 } }],
    ['$min with more', { $min: { i: 5 } }],
    ['$max with the equal double', { $max: { i: new Double(4) } }],
    ['$rename of what is not there', { $rename: { x: 'y' } }],
    ['$push of none', { $push: { list: { $each: [] } } }],
    ['$addToSet of the equal long', { $addToSet: { list: long('3') } }],
    ['$pop of an empty list', { $pop: { empty: 1, x: 1 } }],
    ['$pull of what is not there', { $pull: { list: 9, x: 1 } }],
    ['$setOnInsert', { $setOnInsert: { i: 9 } }],
  ];
  it.each(cases)('%s', (_, change) => {
    const before = fromPlainDoc(base);
    const applied = update(before, change);
    expect(applied.modified).toBe(false);
    expect(applied.doc).toBe(before);
  });
});

describe('an update that is refused', () => {
  const cases: [string, PlainDoc | readonly Plain[], number][] = [
    ['an unknown operator', { $put: { a: 1 } }, 9],
    ['a field among operators', { $set: { a: 1 }, b: 1 }, 9],
    ['an operator without fields', { $set: {} }, 9],
    ['an operator of a value', { $set: 1 }, 9],
    ['an empty path', { $set: { '': 1 } }, 56],
    ['an empty part', { $set: { 'a..b': 1 } }, 56],
    ['a path twice', { $set: { i: 1 }, $inc: { i: 1 } }, 40],
    ['a path inside another', { $set: { sub: 1, 'sub.a': 1 } }, 40],
    ['a field in a scalar', { $set: { 's.x': 1 } }, 28],
    ['a name in an array', { $set: { 'list.x': 1 } }, 28],
    ['another _id', { $set: { _id: 2 } }, 66],
    ['the _id as another type', { $set: { _id: new Double(1) } }, 66],
    ['no _id', { $unset: { _id: 1 } }, 66],
    ['a dollar name', { $set: { $x: 1 } }, 52],
    ['a dollar name inside', { $set: { x: { y: [{ $z: 1 }] } } }, 52],
    ['a reference in disorder', { $set: { x: { $id: 1 } } }, 55],
    ['$inc of text', { $inc: { s: 1 } }, 14],
    ['$inc by text', { $inc: { i: 'x' } }, 14],
    ['$inc of null', { $inc: { n: 1 } }, 14],
    ['$mul of a list', { $mul: { list: 2 } }, 14],
    ['$inc out of 64 bits', { $inc: { l: long('9223372036854775807') } }, 2],
    ['$rename to itself', { $rename: { i: 'i' } }, 2],
    ['$rename into itself', { $rename: { sub: 'sub.x' } }, 2],
    ['$rename of an element', { $rename: { 'list.0': 'x' } }, 2],
    ['$rename to an element', { $rename: { i: 'list.0' } }, 2],
    ['$rename to no text', { $rename: { i: 1 } }, 2],
    ['$currentDate of a number', { $currentDate: { t: 1 } }, 2],
    ['$currentDate of an unknown type', { $currentDate: { t: { $type: 'x' } } }, 2],
    ['$bit of a double', { $bit: { d: { and: 1 } } }, 2],
    ['$bit by a double', { $bit: { i: { and: 1.5 } } }, 2],
    ['$bit with an unknown operation', { $bit: { i: { not: 1 } } }, 2],
    ['$push to a number', { $push: { i: 1 } }, 2],
    ['$push with an unknown clause', { $push: { list: { $each: [1], $limit: 1 } } }, 2],
    ['$push with $each of a value', { $push: { list: { $each: 1 } } }, 2],
    ['$push sorted by 2', { $push: { list: { $each: [1], $sort: 2 } } }, 2],
    ['$addToSet to a number', { $addToSet: { i: 1 } }, 2],
    ['$addToSet with $each of a value', { $addToSet: { list: { $each: 1 } } }, 14],
    ['$pop of a number', { $pop: { i: 1 } }, 14],
    ['$pop by 2', { $pop: { list: 2 } }, 9],
    ['$pull from a number', { $pull: { i: 1 } }, 2],
    ['$pull by an unknown operator', { $pull: { list: { $x: 1 } } }, 2],
    ['$pullAll of a value', { $pullAll: { list: 1 } }, 2],
    ['the positional $ without a match', { $set: { 'list.$': 1 } }, 2],
    ['the positional $ first', { $set: { $: 1 } }, 2],
    ['two positional $', { $set: { 'list.$.x.$': 1 } }, 2],
    ['all elements of no list', { $set: { 'i.$[]': 1 } }, 2],
    ['all elements of nothing', { $set: { 'x.$[]': 1 } }, 2],
    ['elements without a filter', { $set: { 'list.$[e]': 1 } }, 2],
    ['a stage that is not for updates', [{ $match: { a: 1 } }], 72],
    ['a pipeline that changes the _id', [{ $set: { _id: 2 } }], 66],
  ];
  it.each(cases)('%s', (_, change, code) => {
    expect(codeOf(base, change)).toBe(code);
  });

  it('is all or nothing: a fault in one operator leaves the others undone', () => {
    expect(codeOf(base, { $set: { a: 1 }, $push: { list: 1 }, $inc: { s: 1 } })).toBe(14);
  });
});

describe('elements of arrays', () => {
  const apply = (change: PlainDoc, options: Options) =>
    update(fromPlainDoc(base), change, options).doc;

  it('are found by the positional $', () => {
    expectSame(apply({ $set: { 'list.$': 9 } }, { index: 1 }), changed({ list: [3, 9, 2] }));
    expectSame(
      apply({ $inc: { 'docs.$.v': 5 } }, { index: 1 }),
      changed({
        docs: [
          { k: 1, v: 1 },
          { k: 2, v: 7 },
        ],
      }),
    );
  });

  it('are found by array filters', () => {
    expectSame(
      apply({ $set: { 'list.$[big]': 0 } }, { arrayFilters: [{ big: { $gte: 2 } }] }),
      changed({ list: [0, 1, 0] }),
    );
    expectSame(
      apply({ $unset: { 'docs.$[d].v': 1 } }, { arrayFilters: [{ 'd.k': 2 }] }),
      changed({ docs: [{ k: 1, v: 1 }, { k: 2 }] }),
    );
  });

  const refused: [string, PlainDoc, readonly Plain[], number][] = [
    ['an unused filter', { $set: { i: 1 } }, [{ e: 1 }], 9],
    ['two filters of one name', { $set: { 'list.$[e]': 1 } }, [{ e: 1 }, { e: 2 }], 9],
    ['two names in one filter', { $set: { 'list.$[e]': 1 } }, [{ e: 1, f: 1 }], 9],
    ['a filter without a name', { $set: { 'list.$[e]': 1 } }, [{}], 9],
    ['a name in capitals', { $set: { 'list.$[E]': 1 } }, [{ E: 1 }], 2],
    ['a filter that is no document', { $set: { 'list.$[e]': 1 } }, [5], 14],
    ['a fault in a filter', { $set: { 'list.$[e]': 1 } }, [{ e: { $x: 1 } }], 2],
    ['$expr in a filter', { $set: { 'list.$[e]': 1 } }, [{ $expr: true }], 224],
    [
      'two operators on one element',
      { $set: { 'list.$[e]': 1, 'list.$[f]': 2 } },
      [{ e: 3 }, { f: { $gt: 0 } }],
      40,
    ],
  ];
  it.each(refused)('refuse %s', (_, change, arrayFilters, code) => {
    expect(codeOf(base, change, { arrayFilters })).toBe(code);
  });
});

describe('a replacement', () => {
  const before: PlainDoc = { _id: 1, a: 1, b: 2 };
  const replaced = (replacement: PlainDoc) => update(fromPlainDoc(before), replacement);

  it('keeps the _id and puts it first', () => {
    expectSame(replaced({ c: 3 }).doc, fromPlainDoc({ _id: 1, c: 3 }));
    expectSame(replaced({ c: 3, _id: 1 }).doc, fromPlainDoc({ _id: 1, c: 3 }));
    expectSame(replaced({}).doc, fromPlainDoc({ _id: 1 }));
  });

  it('takes dotted names as they are', () => {
    expectSame(replaced({ 'a.b': 1 }).doc, fromPlainDoc({ _id: 1, 'a.b': 1 }));
  });

  it('puts the time into empty timestamps at the top', () => {
    const empty = new Timestamp({ t: 0, i: 0 });
    const { doc } = replaced({ t: empty, sub: { t: empty } });
    expect((doc.get('t') as Timestamp).t).toBe(now.getTime() / 1000);
    expect((doc.get('sub') as Doc).get('t')).toEqual(empty);
  });

  it('that is the same changes nothing', () => {
    expect(replaced(before).modified).toBe(false);
  });

  it.each([
    ['another _id', { _id: 2 }, 66],
    ['a list as _id', { _id: [1] }, 53],
    ['a dollar name', { a: 1, $b: 1 }, 52],
    ['a dollar name inside', { a: { $b: 1 } }, 52],
  ] as [string, PlainDoc, number][])('is refused with %s', (_, replacement, code) => {
    expect(codeOf(before, replacement)).toBe(code);
  });
});

describe('a pipeline', () => {
  it('computes from the document and the time', () => {
    const { doc, modified } = update(fromPlainDoc({ _id: 1, n: 5 }), [
      { $set: { n: { $add: ['$n', 1] }, at: '$$NOW' } },
      { $unset: 'x' },
    ]);
    expectSame(doc, fromPlainDoc({ _id: 1, n: 6, at: now }));
    expect(modified).toBe(true);
  });

  it('without a stage changes nothing', () => {
    expect(update(fromPlainDoc({ _id: 1 }), []).modified).toBe(false);
  });

  it('takes no array filters', () => {
    expect(codeOf({ _id: 1 }, [{ $set: { a: 1 } }], { arrayFilters: [{ e: 1 }] })).toBe(9);
  });
});
