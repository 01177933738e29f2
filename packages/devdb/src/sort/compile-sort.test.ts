import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { fromPlainDoc, type Plain } from '../values/from-plain.js';
import { type Doc, Int32, int32, Long, type Value } from '../values/value.js';
import { compileSort } from './compile-sort.js';

type PlainDoc = { readonly [key: string]: Plain };

function sorted(documents: readonly PlainDoc[], sort: PlainDoc, limit?: number): number[] {
  return compileSort(fromPlainDoc(sort))
    .sort(documents.map(fromPlainDoc), limit)
    .map((document) => (document.get('_id') as Int32).value);
}

const documents: PlainDoc[] = [
  { _id: 1, a: 2, b: 'x' },
  { _id: 2, a: [5, 0], b: 'y' },
  { _id: 3, b: 'z' },
  { _id: 4, a: 2, b: 'a' },
  { _id: 5, a: null },
  { _id: 6, a: [], b: [{ c: 3 }, { c: 1 }] },
  { _id: 7, a: 'text', b: { c: 2 } },
];

describe('a sort', () => {
  it.each([
    ['ascending, arrays by their least', { a: 1 }, [6, 3, 5, 2, 1, 4, 7]],
    ['descending, arrays by their greatest', { a: -1 }, [7, 2, 1, 4, 3, 5, 6]],
    ['by two fields', { a: 1, _id: -1 }, [6, 5, 3, 2, 4, 1, 7]],
    ['in two directions', { a: -1, _id: 1 }, [7, 2, 1, 4, 3, 5, 6]],
    ['by a path through documents and arrays', { 'b.c': -1, _id: 1 }, [6, 7, 1, 2, 3, 4, 5]],
    ['by a place in an array', { 'a.0': -1, _id: 1 }, [2, 1, 3, 4, 5, 6, 7]],
    ['by nothing', {}, [1, 2, 3, 4, 5, 6, 7]],
    ['as stored, backwards', { $natural: -1 }, [7, 6, 5, 4, 3, 2, 1]],
    ['with a long as direction', { _id: Long.fromNumber(-1) }, [7, 6, 5, 4, 3, 2, 1]],
  ] as [string, PlainDoc, number[]][])('%s', (_, sort, ids) => {
    expect(sorted(documents, sort)).toEqual(ids);
  });

  it('gives only as many as wanted', () => {
    expect(sorted(documents, { _id: -1 }, 2)).toEqual([7, 6]);
  });

  it('gives the first few of many as the whole sort would', () => {
    const keys = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 60 });
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 5 }), (numbers, limit) => {
        const many = numbers.map((a, _id) => ({ _id, a }));
        expect(sorted(many, { a: -1 }, limit)).toEqual(sorted(many, { a: -1 }).slice(0, limit));
      }),
    );
  });

  it('tells absent from null where asked to', () => {
    const pair = [{ _id: 1, a: null }, { _id: 2 }].map(fromPlainDoc);
    const order = compileSort(fromPlainDoc({ a: 1 }), { absent: 'missing' }).sort(pair);
    expect(order).toEqual([pair[1], pair[0]]);
  });

  it.each([
    [{ a: 0 }],
    [{ a: 2 }],
    [{ a: 'x' }],
    [{ a: null }],
    [{ '': 1 }],
    [{ a: { $meta: 'textScore' } }],
    [{ $natural: 2 }],
    [{ $natural: 1, a: 1 }],
  ] as [PlainDoc][])('refuses %o', (sort) => {
    expect(() => compileSort(fromPlainDoc(sort))).toThrow(DbError);
  });

  it('refuses two arrays side by side', () => {
    const document = fromPlainDoc({ a: [1, 2], b: [1, 2] });
    expect(() => compileSort(fromPlainDoc({ a: 1, b: 1 })).keyOf(document)).toThrow(
      'parallel arrays',
    );
  });

  it('is a total order of documents', () => {
    const value: fc.Arbitrary<Value> = fc.oneof(
      fc.integer({ min: 0, max: 3 }).map(int32),
      fc.constantFrom<Value>('a', null, undefined),
      fc.array(fc.integer({ min: 0, max: 3 }).map(int32), { maxLength: 3 }),
    );
    const document = fc
      .array(fc.tuple(fc.constantFrom('a', 'c'), value), { maxLength: 2 })
      .map(
        (entries): Doc =>
          new Map(entries.filter(([key, each]) => key === 'a' || !Array.isArray(each))),
      );
    const sort = compileSort(fromPlainDoc({ a: 1, c: -1 }));
    fc.assert(
      fc.property(document, document, document, (x, y, z) => {
        expect(Math.sign(sort.compare(x, y))).toBe(-Math.sign(sort.compare(y, x)) || 0);
        if (sort.compare(x, y) <= 0 && sort.compare(y, z) <= 0) {
          expect(sort.compare(x, z)).toBeLessThanOrEqual(0);
        }
      }),
    );
  });
});
