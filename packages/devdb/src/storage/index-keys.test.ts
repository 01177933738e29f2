import { describe, expect, it } from 'vitest';
import { doc, int32, type Value } from '../values/value.js';
import { documentKeys } from './index-keys.js';

function keysOf(document: Record<string, Value>, paths: string[], sparse = false) {
  const split = paths.map((path) => path.split('.'));
  return documentKeys(new Map(Object.entries(document)), split, sparse);
}

const ints = (...numbers: number[]): Value[] => numbers.map(int32);

describe('documentKeys', () => {
  it('takes the value of a field, and null for a missing one', () => {
    expect(keysOf({ a: int32(1) }, ['a'])).toEqual({ keys: [ints(1)], multikey: 0 });
    expect(keysOf({}, ['a']).keys).toEqual([[null]]);
    expect(keysOf({ a: doc(['b', int32(2)]) }, ['a.b']).keys).toEqual([ints(2)]);
    expect(keysOf({ a: int32(1) }, ['a.b']).keys).toEqual([[null]]);
  });

  it('has one key for each element of an array, and says that it met one', () => {
    expect(keysOf({ a: ints(1, 2) }, ['a'])).toEqual({ keys: [ints(1), ints(2)], multikey: 1 });
    expect(keysOf({ a: [ints(1, 2), int32(3)] }, ['a']).keys).toEqual([[ints(1, 2)], ints(3)]);
    expect(keysOf({ b: int32(0), a: ints(1, 2) }, ['b', 'a'])).toEqual({
      keys: [ints(0, 1), ints(0, 2)],
      multikey: 0b10,
    });
  });

  it('indexes an empty array as undefined, and a field below it as null', () => {
    expect(keysOf({ a: [] }, ['a']).keys).toEqual([[undefined]]);
    expect(keysOf({ a: [] }, ['a.b']).keys).toEqual([[null]]);
  });

  it('goes into the documents of an array, and takes fields of one element together', () => {
    const document = { a: [doc(['b', int32(1)], ['c', int32(2)]), doc(['b', int32(3)]), int32(4)] };
    expect(keysOf(document, ['a.b', 'a.c']).keys).toEqual([
      ints(1, 2),
      [int32(3), null],
      [null, null],
    ]);
  });

  it('takes a number in a path for a position in an array', () => {
    expect(keysOf({ a: ints(7, 8) }, ['a.1']).keys).toEqual([ints(8)]);
    expect(keysOf({ a: [doc(['b', int32(1)]), doc(['b', int32(2)])] }, ['a.1.b']).keys).toEqual([
      ints(2),
    ]);
  });

  it('refuses two arrays side by side', () => {
    expect(() => keysOf({ a: ints(1), b: ints(2) }, ['a', 'b'])).toThrow(
      expect.objectContaining({ code: 171 }),
    );
  });

  it('leaves a document without any of the fields out of a sparse index', () => {
    expect(keysOf({ z: int32(1) }, ['a'], true).keys).toEqual([]);
    expect(keysOf({ z: int32(1) }, ['a', 'b'], true).keys).toEqual([]);
    expect(keysOf({ b: int32(1) }, ['a', 'b'], true).keys).toEqual([[null, int32(1)]]);
    expect(keysOf({ a: null }, ['a'], true).keys).toEqual([[null]]);
  });
});
