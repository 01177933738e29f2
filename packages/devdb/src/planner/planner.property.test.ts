import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import { compileSort } from '../sort/compile-sort.js';
import { Collection, type CollectionIdentity } from '../storage/collection.js';
import { type IndexSpec, OrderedIndex } from '../storage/ordered-index.js';
import { formatDocument } from '../values/format.js';
import { fromPlainDoc } from '../values/from-plain.js';
import { type Doc, int32, Long, MaxKey, MinKey, type Value } from '../values/value.js';
import { DocumentScan } from './execute.js';
import { planQuery } from './plan.js';

/** Enough to meet the rare shapes over some days; a fault is shown with its seed. */
const RUNS = 800;

const env = { now: new Date(0) };
const number = fc.oneof(
  fc.integer({ min: 0, max: 2 }).map(int32),
  fc.constantFrom<Value>(1, 1.5, Long.fromNumber(2), Number.NaN),
);
const scalar: fc.Arbitrary<Value> = fc.oneof(
  { weight: 3, arbitrary: number },
  fc.constant(null),
  fc.constantFrom<Value>('a', '', true, new Date(0), undefined, new MinKey(), new MaxKey()),
);
const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    { weight: 3, arbitrary: scalar },
    fc.array(tie('value'), { maxLength: 2 }),
    fc
      .array(fc.tuple(fc.constantFrom('b', 'c', '0'), tie('value')), { maxLength: 2 })
      .map((entries): Doc => new Map(entries)),
  ),
}));
const document = fc
  .array(fc.tuple(fc.constantFrom('a', 'd', 'e'), value), { maxLength: 3 })
  .map((entries): Doc => new Map(entries));
const path = fc.constantFrom('a', 'd', 'e', 'a.b', 'a.c', 'a.b.c', 'd.b', 'a.0', 'a.0.b');
/** What a filter is made of: values and paths that occur, so that it often finds something. */
interface Material {
  readonly values: readonly Value[];
  readonly paths: readonly string[];
}
type Made<T> = fc.Arbitrary<(material: Material) => T>;

/** An index that is asked for. */
interface WantedIndex {
  readonly key: Doc;
  readonly sparse?: boolean;
  readonly partialFilter?: Doc | undefined;
}

const operand: Made<Value> = fc.oneof(
  fc.nat().map(
    (at) =>
      ({ values }: Material) =>
        values[at % values.length] ?? null,
  ),
  scalar.map((one) => () => one ?? null),
);
const operands = fc
  .array(operand, { maxLength: 3 })
  .map((made) => (material: Material) => made.map((one) => one(material)));
const operator: Made<[string, Value]> = fc.oneof(
  fc
    .tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte', '$ne'), operand)
    .map(([name, made]) => (material: Material): [string, Value] => [name, made(material)]),
  fc
    .tuple(fc.constantFrom('$in', '$nin', '$all'), operands)
    .map(([name, made]) => (material: Material): [string, Value] => [name, made(material)]),
  fc.boolean().map((exists) => (): [string, Value] => ['$exists', exists]),
  fc.constant((): [string, Value] => ['$elemMatch', fromPlainDoc({ $gte: 1, $lt: 3 })]),
);
const condition: Made<Value> = fc.oneof(
  operand,
  fc.array(operator, { minLength: 1, maxLength: 2 }).map(
    (made) =>
      (material: Material): Doc =>
        new Map(made.map((one) => one(material))),
  ),
);
const field: Made<[string, Value]> = fc
  .tuple(fc.nat(), condition)
  .map(([at, made]) => (material): [string, Value] => [
    material.paths[at % material.paths.length]!,
    made(material),
  ]);
const fields: Made<Doc> = fc
  .array(field, { minLength: 1, maxLength: 2 })
  .map((made) => (material) => new Map(made.map((one) => one(material))));
const filter: Made<Doc> = fc.oneof(
  { weight: 3, arbitrary: fields },
  fc
    .tuple(fields, fc.array(fields, { minLength: 1, maxLength: 2 }), fc.constantFrom('$or', '$and'))
    .map(
      ([outer, clauses, name]) =>
        (material: Material): Doc =>
          new Map<string, Value>([...outer(material), [name, clauses.map((one) => one(material))]]),
    ),
);

/** All values inside of the documents, and mostly the paths of the indexes. */
function materialOf(documents: readonly Doc[], indexes: readonly WantedIndex[]): Material {
  const values: Value[] = [];
  const visit = (one: Value): void => {
    if (one !== undefined) values.push(one);
    if (one instanceof Map || Array.isArray(one)) for (const inner of one.values()) visit(inner);
  };
  for (const one of documents) for (const inner of one.values()) visit(inner);
  return { values, paths: [...indexes.flatMap(({ key }) => [...key.keys()]), 'a', 'd.b'] };
}

const direction = fc.constantFrom(1, -1).map(int32);
const sort = fc
  .uniqueArray(fc.tuple(path, direction), { maxLength: 2, selector: ([field]) => field })
  .map((entries): Doc => new Map(entries));

const keyPattern = fc
  .uniqueArray(fc.tuple(path, direction), {
    minLength: 1,
    maxLength: 3,
    selector: ([field]) => field,
  })
  .map((entries): Doc => new Map(entries));
const partialFilter = fc.constantFrom(
  fromPlainDoc({ a: 1 }),
  fromPlainDoc({ d: { $gt: 0 } }),
  fromPlainDoc({ 'a.b': { $exists: true } }),
);
const index = fc.record({
  key: keyPattern,
  sparse: fc.boolean(),
  partialFilter: fc.option(partialFilter, { nil: undefined, freq: 3 }),
});

function collectionOf(documents: readonly Doc[], wanted: readonly WantedIndex[]) {
  const identity: CollectionIdentity = {
    id: 1,
    database: 'test',
    name: 'c',
    uuid: new Uint8Array(16),
    options: new Map(),
    nextRecordId: 1,
  };
  const collection = Collection.empty(identity, indexOf({ key: fromPlainDoc({ _id: 1 }) }, '_id_'));
  for (const [at, one] of wanted.entries()) {
    collection.indexes.push(indexOf(one, `index_${at}`));
  }
  for (const [at, document] of documents.entries()) {
    const stored: Doc = new Map([['_id', int32(at)], ...document]);
    collection.apply(at, stored, collection.indexChanges(null, stored));
  }
  return collection;
}

function indexOf(wanted: WantedIndex, name: string): OrderedIndex {
  const spec: IndexSpec = {
    name,
    key: wanted.key,
    unique: false,
    sparse: wanted.sparse ?? false,
    stored: new Map(),
    ...(wanted.partialFilter ? { partialFilter: wanted.partialFilter } : {}),
  };
  const admits = wanted.partialFilter ? compileFilter(wanted.partialFilter, env) : undefined;
  return new OrderedIndex(spec, admits?.matches);
}

const inStoredOrder = fromPlainDoc({ $natural: 1 });

describe('an index never changes an answer', () => {
  it('of a filter', () => {
    fc.assert(
      fc.property(
        fc.array(document, { maxLength: 8 }),
        fc.array(index, { minLength: 1, maxLength: 2 }),
        filter,
        (documents, indexes, made) => {
          const collection = built(documents, indexes);
          const query = made(materialOf(documents, indexes));
          const matcher = compileFilter(query, env);
          const found = (hint?: Doc) =>
            new DocumentScan(collection, planQuery(collection, query, { hint }), matcher.matches)
              .toArray()
              .map((one) => one.recordId)
              .sort((left, right) => left - right);
          const asked = formatDocument(query);
          expect([asked, found()]).toEqual([asked, found(inStoredOrder)]);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('of a filter on a place in an array, which may also be the name of a field', () => {
    const documents = [{ a: [{ b: 1 }] }, { a: [[1, 2]] }, { a: { 0: null } }].map(fromPlainDoc);
    const collection = collectionOf(documents, [{ key: fromPlainDoc({ 'a.0': 1 }) }]);
    for (const [query, ids] of [
      [{ 'a.0': null }, [0, 2]],
      [{ 'a.0': 1 }, []],
      [{ 'a.0': [1, 2] }, [1]],
    ] as const) {
      const asked = fromPlainDoc(query);
      const { matches } = compileFilter(asked, env);
      const found = new DocumentScan(collection, planQuery(collection, asked), matches).toArray();
      expect(found.map((one) => one.recordId)).toEqual(ids);
    }
    const ambiguous = fromPlainDoc({ a: [{ 0: 1 }] });
    expect(() => collection.indexChanges(null, ambiguous)).toThrow('Ambiguous field name');
  });

  it('of a filter that two elements of one array meet together', () => {
    const documents = [
      {
        a: [
          { b: 3, c: 6 },
          { b: 1, c: 1 },
        ],
      },
      { a: [{ b: 1, c: 6 }] },
    ].map(fromPlainDoc);
    for (const [key, query] of [
      [
        { 'a.b': 1, 'a.c': 1 },
        { 'a.b': { $gt: 2 }, 'a.c': { $lt: 4 } },
      ],
      [
        { a: 1, 'a.c': 1 },
        { a: { b: 3, c: 6 }, 'a.c': { $lt: 4 } },
      ],
      [
        { 'a.b': 1, 'a.c': -1 },
        { 'a.b': 3, 'a.c': 1 },
      ],
    ] as const) {
      const collection = collectionOf(documents, [{ key: fromPlainDoc(key) }]);
      const asked = fromPlainDoc(query);
      const plan = planQuery(collection, asked);
      expect(plan.stage).toBe('IXSCAN');
      const found = new DocumentScan(collection, plan, compileFilter(asked, env).matches).toArray();
      expect(found.map((one) => one.recordId)).toEqual([0]);
    }
  });

  it('of a sort by an array that the filter has one value of', () => {
    const documents = [{ a: [5] }, { a: [1, 5] }].map(fromPlainDoc);
    const collection = collectionOf(documents, [{ key: fromPlainDoc({ a: 1 }) }]);
    const plan = planQuery(collection, fromPlainDoc({ a: 5 }), { sort: fromPlainDoc({ a: 1 }) });
    expect(plan).toMatchObject({ stage: 'IXSCAN', providesSort: false });
  });

  it('of a sorted filter', () => {
    fc.assert(
      fc.property(
        fc.array(document, { maxLength: 8 }),
        fc.array(index, { minLength: 1, maxLength: 2 }),
        filter,
        sort,
        (documents, indexes, made, wanted) => {
          const collection = built(documents, indexes);
          const query = made(materialOf(documents, indexes));
          const plan = planQuery(collection, query, { sort: wanted });
          if (!plan.providesSort) return;
          const matcher = compileFilter(query, env);
          const sorter = compileSort(wanted);
          const found = new DocumentScan(collection, plan, matcher.matches).toArray();
          for (const [at, one] of found.entries()) {
            const before = found[at - 1];
            if (before)
              expect(sorter.compare(before.document, one.document)).toBeLessThanOrEqual(0);
          }
          const all = planQuery(collection, query, { hint: inStoredOrder });
          const everything = new DocumentScan(collection, all, matcher.matches).toArray();
          expect(found.length).toBe(everything.length);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

/** The collection without the documents that have no keys in one of the indexes (parallel arrays). */
function built(documents: readonly Doc[], indexes: readonly WantedIndex[]): Collection {
  const possible = documents.filter((document) => {
    try {
      collectionOf([document], indexes);
      return true;
    } catch (error) {
      if (error instanceof DbError && [171, 16746].includes(error.code)) return false;
      throw error;
    }
  });
  return collectionOf(possible, indexes);
}

describe('the keys of an index', () => {
  it('after changes are those of the documents as they are', () => {
    const change = fc.tuple(fc.nat(4), fc.option(document, { nil: null }));
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 12 }),
        fc.array(index, { minLength: 1, maxLength: 2 }),
        (changes, indexes) => {
          const collection = collectionOf([], indexes);
          const current = new Map<number, Doc>();
          for (const [recordId, fresh] of changes) {
            const before = current.get(recordId) ?? null;
            const after: Doc | null = fresh && new Map([['_id', int32(recordId)], ...fresh]);
            if (before === null && after === null) continue;
            try {
              collection.apply(recordId, after, collection.indexChanges(before, after));
            } catch (error) {
              if (error instanceof DbError && [171, 16746].includes(error.code)) continue;
              throw error;
            }
            if (after === null) current.delete(recordId);
            else current.set(recordId, after);
          }
          const fresh = collectionOf([], indexes);
          for (const [recordId, document] of current) {
            fresh.apply(recordId, document, fresh.indexChanges(null, document));
          }
          for (const [at, one] of collection.indexes.entries()) {
            expect(entriesOf(one)).toEqual(entriesOf(fresh.indexes[at]!));
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});

function entriesOf(index: OrderedIndex): [string, number][] {
  const entries: [string, number][] = [];
  const iterator = index.ascendingFrom('');
  for (let step = iterator.next(); !step.done; step = iterator.next()) entries.push(step.value);
  return entries;
}
