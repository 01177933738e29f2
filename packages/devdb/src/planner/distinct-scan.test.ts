import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileFilter } from '../query/compile-filter.js';
import { Collection } from '../storage/collection.js';
import { OrderedIndex } from '../storage/ordered-index.js';
import { fromPlainDoc, type Plain } from '../values/from-plain.js';
import { type Doc, doc, int32 } from '../values/value.js';
import { distinctDocuments, planDistinct } from './distinct-scan.js';

function indexOn(...paths: string[]): OrderedIndex {
  const key = doc(
    ...paths.map((path): [string, Doc | ReturnType<typeof int32>] => [path, int32(1)]),
  );
  return new OrderedIndex(
    { name: paths.join('_'), key, unique: false, sparse: false, stored: new Map() },
    undefined,
  );
}

function collectionOf(documents: readonly Doc[], ...indexes: OrderedIndex[]): Collection {
  const identity = {
    id: 1,
    database: 'd',
    name: 'c',
    uuid: new Uint8Array(16),
    options: new Map(),
    nextRecordId: 1,
  };
  const collection = Collection.empty(identity, indexOn('_id'));
  collection.indexes.push(...indexes);
  documents.forEach((document, position) => {
    collection.records.set(position + 1, document);
    for (const index of collection.indexes) {
      const { texts, multikey } = index.keysOf(document);
      index.multikey |= multikey;
      for (const text of texts) index.add(text, position + 1);
    }
  });
  return collection;
}

function scan(collection: Collection, filter: Doc, path: string): Doc[] | null {
  const { matches } = compileFilter(filter, { now: new Date(0) });
  const plan = planDistinct(collection, filter, path);
  return plan === null ? null : [...distinctDocuments(collection, plan, matches)];
}

describe('distinct values by leaps', () => {
  const tasks = Array.from({ length: 300 }, (_, n) =>
    fromPlainDoc({ _id: n, state: n % 3 ? 'ready' : 'done', pool: `p${n % 5}`, key: n }),
  );
  const collection = collectionOf(tasks, indexOn('state', 'pool', 'key'));

  it('looks at one document for each value', () => {
    const found = scan(collection, fromPlainDoc({ state: 'ready' }), 'pool');
    expect(found?.map((one) => one.get('pool'))).toEqual(['p0', 'p1', 'p2', 'p3', 'p4']);
  });

  it('takes several values of the field before it', () => {
    const filter = fromPlainDoc({ state: { $in: ['ready', 'done'] } });
    expect(scan(collection, filter, 'pool')).toHaveLength(10);
  });

  it('is no plan where the filter says more than the index knows', () => {
    expect(scan(collection, fromPlainDoc({ state: 'ready', key: 5 }), 'pool')).toBeNull();
    expect(scan(collection, fromPlainDoc({ state: { $gt: 'a' } }), 'pool')).toBeNull();
    expect(scan(collection, fromPlainDoc({ $or: [{ state: 'ready' }] }), 'pool')).toBeNull();
    expect(scan(collection, new Map(), 'nosuch')).toBeNull();
  });

  it('misses no element of an array of which the filter names another one', () => {
    const ranged = collectionOf(
      [fromPlainDoc({ _id: 1, v: 1 }), fromPlainDoc({ _id: 2, v: [1, 'b'] })],
      indexOn('v'),
    );
    expect(scan(ranged, fromPlainDoc({ v: { $gte: 1 } }), 'v')).toBeNull();
    expect(scan(ranged, new Map(), 'v')).toHaveLength(2);
    const shared = collectionOf(
      [
        fromPlainDoc({ _id: 1, a: [{ x: 2, y: 1 }] }),
        fromPlainDoc({
          _id: 2,
          a: [
            { x: 2, y: 1 },
            { x: 3, y: 9 },
          ],
        }),
      ],
      indexOn('a.x', 'a.y'),
    );
    expect(scan(shared, fromPlainDoc({ 'a.x': 2 }), 'a.y')).toBeNull();
  });

  it('finds what a walk over all documents finds', () => {
    const value = fc.constantFrom<Plain>(1, 2, 'a', null, undefined, [], [1, 'b'], [null]);
    const fields = fc.record({ s: value, v: value }, { requiredKeys: [] });
    const filters = fc.constantFrom<{ [key: string]: Plain }>(
      {},
      { s: 1 },
      { s: { $in: [1, 'a', null] } },
      { s: 2, v: { $gte: 1 } },
    );
    fc.assert(
      fc.property(fc.array(fields, { maxLength: 12 }), filters, (plain, plainFilter) => {
        const documents = plain
          .filter((one) => !(Array.isArray(one.s) && Array.isArray(one.v)))
          .map((one, _id) => fromPlainDoc({ _id, ...one }));
        const filter = fromPlainDoc(plainFilter);
        const found = scan(collectionOf(documents, indexOn('s', 'v'), indexOn('v')), filter, 'v');
        if (found === null) return;
        const { matches } = compileFilter(filter, { now: new Date(0) });
        expect(valuesOf(found)).toEqual(valuesOf(documents.filter(matches)));
      }),
      { numRuns: 1_000 },
    );
  });
});

function valuesOf(documents: readonly Doc[]): string[] {
  const values = new Set<string>();
  for (const document of documents) {
    if (!document.has('v')) continue;
    const value = document.get('v');
    for (const one of Array.isArray(value) ? value : [value]) values.add(String(one));
  }
  return [...values].sort();
}
