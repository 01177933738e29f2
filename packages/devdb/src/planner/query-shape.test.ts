import { describe, expect, it } from 'vitest';
import { fromPlainDoc } from '../values/from-plain.js';
import { murmurHash } from './murmur-hash.js';
import { planCacheKey, queryHash } from './query-shape.js';

const hashOf = (filter: Parameters<typeof fromPlainDoc>[0], sort = {}, projection = {}) =>
  queryHash({
    filter: fromPlainDoc(filter),
    sort: fromPlainDoc(sort),
    projection: fromPlainDoc(projection),
  });

describe('the hash of a query', () => {
  it('is the one that MongoDB gives', () => {
    expect(hashOf({})).toBe('8B3D4AB8');
    expect(hashOf({ a: 1 })).toBe('4B53BE76');
    expect(hashOf({ _id: 1 })).toBe('A300CFDE');
    expect(hashOf({ k: { $gt: 0 } }, { k: 1 })).toBe('FFBEF196');
    expect(hashOf({}, {}, { _id: 0, k: 1 })).toBe('8A69B482');
  });

  it('depends on the shape and not on values or order', () => {
    expect(hashOf({ a: 1, b: 'x' })).toBe(hashOf({ b: 2, a: 3 }));
    expect(hashOf({ $and: [{ a: 1 }, { b: 2 }] })).toBe(hashOf({ a: 1, b: 2 }));
    expect(hashOf({ a: 1 })).not.toBe(hashOf({ a: { $gt: 1 } }));
    expect(hashOf({ a: 1 }, { b: 1 })).not.toBe(hashOf({ a: 1 }, { b: -1 }));
  });

  it('tells the plan cache nothing more where no index helps', () => {
    const filter = fromPlainDoc({ a: 1 });
    expect(planCacheKey({ filter }, [])).toBe(queryHash({ filter }));
  });
});

describe('murmurHash', () => {
  it('takes texts longer than its blocks', () => {
    const texts = ['', 'a', 'a'.repeat(15), 'a'.repeat(16), 'a'.repeat(17), 'a'.repeat(33)];
    expect(new Set(texts.map(murmurHash)).size).toBe(texts.length);
    expect(murmurHash('')).toBe(0n);
  });
});
