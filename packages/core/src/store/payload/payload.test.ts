import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { ObjectId } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { PayloadError } from '../../errors.js';
import { fromPayload, toPayload } from './payload.js';

const limit = 1_048_576;
const trip = (value: unknown) => fromPayload(toPayload(value, 'result', limit));
const pathOf = (value: unknown): string => {
  try {
    toPayload(value, 'result', limit);
  } catch (error) {
    if (error instanceof PayloadError) return error.path;
    throw error;
  }
  return 'accepted';
};

describe('what survives the trip', () => {
  it.each([
    5n,
    9007199254740993n,
    -(2n ** 63n),
    2n ** 70n,
    -(2n ** 70n),
    0,
    -0,
    NaN,
    -Infinity,
    2 ** 31,
    2 ** 53 + 2,
    0.1,
    '',
    'été \u{1F600}',
    'half \ud83d of a pair',
    'zero\0inside',
    null,
    true,
    undefined,
    new Date(0),
    new Date(-62135596800000),
    new ObjectId('0123456789abcdef01234567'),
    new Uint8Array([0, 255]),
    Buffer.from('bytes'),
    [],
    {},
    [undefined, null, [[]]],
  ])('%o', (value) => {
    expect(trip(value)).toStrictEqual(value);
    expect(trip({ items: [value] })).toStrictEqual({ items: [value] });
  });

  it('takes any key, and none is read as a path, an operator or a prototype', () => {
    const value: unknown = JSON.parse(
      '{"a.b":1,"$set":{"x":1},"jobs-0.1.jar":true,"__proto__":{"p":1},"":2,"_bsontype":"ObjectId","z\\u0000":3,"2":4}',
    );
    const back = trip(value) as object;
    expect(Object.entries(back)).toStrictEqual(Object.entries(value as object));
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(({} as { p?: unknown }).p).toBeUndefined();
  });

  it('carries a nest of 200 levels', () => {
    let nest: unknown = 'core';
    for (let level = 0; level < 200; level++) nest = level % 2 ? [nest] : { nest };
    expect(trip(nest)).toStrictEqual(nest);
  });

  it('keeps any JSON value as it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(trip(value)).toStrictEqual(value);
      }),
    );
  });

  it('keeps plain objects of another realm and without a prototype', () => {
    expect(trip(runInNewContext('({ a: [1, new Date(5)] })'))).toStrictEqual({
      a: [1, new Date(5)],
    });
    expect(trip(Object.assign(Object.create(null), { a: 1 }))).toStrictEqual({ a: 1 });
  });

  it('is a BSON document that other programs can read', async () => {
    const { deserialize } = await import('bson');
    const bytes = toPayload({ n: 1, at: new Date(7), list: ['x'] }, 'result', limit)!.value();
    expect(deserialize(bytes)).toStrictEqual({ v: { n: 1, at: new Date(7), list: ['x'] } });
  });
});

describe('what is refused, with the path of the offender', () => {
  class Money {
    amount = 1;
  }
  const cycle: { self?: unknown } = {};
  cycle.self = [cycle];
  it.each([
    ['a function', { items: [0, 1, { id: () => 1 }] }, 'result.items[2].id'],
    ['a symbol', { s: Symbol('x') }, 'result.s'],
    ['a symbol key', { a: { [Symbol('x')]: 1 } }, 'result.a'],
    ['an invalid date', { bad: new Date(NaN) }, 'result.bad'],
    ['a class instance', { 'a.b': new Money() }, 'result["a.b"]'],
    ['a Map', { m: new Map([[1, 2]]) }, 'result.m'],
    ['a Set', [new Set([1])], 'result[0]'],
    ['an Error', new Error('x'), 'result'],
    ['a RegExp', { r: /x/ }, 'result.r'],
    ['a Float64Array', { f: new Float64Array(1) }, 'result.f'],
    ['an ArrayBuffer', { f: new ArrayBuffer(1) }, 'result.f'],
    ['a boxed number', { n: Object(1) }, 'result.n'],
    ['a promise', { p: Promise.resolve(1) }, 'result.p'],
    ['a cycle', cycle, 'result.self[0]'],
    ['an array with a name', 'abc'.match(/b/), 'result.index'],
  ])('%s', (_what, value, path) => {
    expect(pathOf(value)).toBe(path);
  });

  it('nesting without end', () => {
    let nest: unknown = 1;
    for (let level = 0; level < 50_000; level++) nest = [nest];
    expect(() => toPayload(nest, 'result', limit)).toThrow(/nesting deeper than 1000/);
  });

  it('more bytes than the limit, naming the size, for good', () => {
    const value = 'x'.repeat(17 * 1_048_576);
    expect(() => toPayload(value, 'result', limit)).toThrow(
      /^result too large: 17825805 bytes, the limit is 1048576/,
    );
    try {
      toPayload(value, 'result', limit);
    } catch (error) {
      expect((error as PayloadError).retryable).toBe(false);
    }
    expect(toPayload('x'.repeat(limit - 13), 'result', limit)?.length()).toBe(limit);
    expect(() => toPayload('x'.repeat(limit - 12), 'result', limit)).toThrow(/too large/);
  });

  it('a shared value that grows without end does not eat the memory', () => {
    let value: unknown = 'x'.repeat(1000);
    for (let level = 0; level < 40; level++) value = [value, value];
    expect(() => toPayload(value, 'result', limit)).toThrow(/more than 67108864 bytes/);
  });
});
