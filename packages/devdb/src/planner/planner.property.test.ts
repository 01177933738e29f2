import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import { compileSort } from '../sort/compile-sort.js';
import { Collection, type CollectionIdentity } from '../storage/collection.js';
import { type IndexSpec, OrderedIndex } from '../storage/ordered-index.js';
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
const path = fc.constantFrom('a', 'd', 'e', 'a.b', 'a.b.c', 'd.b', 'a.0', 'a.0.b');
const operand = value.filter((each) => each !== undefined);
const condition: fc.Arbitrary<Value> = fc.oneof(
  operand,
  fc
    .array(
      fc.oneof(
        fc.tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte', '$ne'), operand),
        fc.tuple(fc.constantFrom('$in', '$nin', '$all'), fc.array(operand, { maxLength: 3 })),
        fc.tuple(fc.constant('$exists'), fc.boolean()),
        fc.tuple(fc.constant('$elemMatch'), fc.constant(fromPlainDoc({ $gte: 1, $lt: 3 }))),
      ),
      { minLength: 1, maxLength: 2 },
    )
    .map((entries): Doc => new Map<string, Value>(entries)),
);
const fields = fc
  .array(fc.tuple(path, condition), { maxLength: 2 })
  .map((entries): Doc => new Map(entries));
const filter: fc.Arbitrary<Doc> = fc.oneof(
  { weight: 3, arbitrary: fields },
  fc
    .tuple(fields, fc.array(fields, { minLength: 1, maxLength: 2 }), fc.constantFrom('$or', '$and'))
    .map(
      ([outer, clauses, operator]): Doc => new Map<string, Value>([...outer, [operator, clauses]]),
    ),
);
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

function collectionOf(documents: readonly Doc[], wanted: readonly Partial<IndexSpec>[]) {
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

function indexOf(wanted: Partial<IndexSpec>, name: string): OrderedIndex {
  const spec: IndexSpec = {
    name,
    key: wanted.key!,
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
        (documents, indexes, query) => {
          const collection = built(documents, indexes);
          const matcher = compileFilter(query, env);
          const found = (hint?: Doc) =>
            new DocumentScan(collection, planQuery(collection, query, { hint }), matcher.matches)
              .toArray()
              .map((one) => one.recordId)
              .sort((left, right) => left - right);
          expect(found()).toEqual(found(inStoredOrder));
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('of a sorted filter', () => {
    fc.assert(
      fc.property(
        fc.array(document, { maxLength: 8 }),
        fc.array(index, { minLength: 1, maxLength: 2 }),
        filter,
        sort,
        (documents, indexes, query, wanted) => {
          const collection = built(documents, indexes);
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
function built(documents: readonly Doc[], indexes: readonly Partial<IndexSpec>[]): Collection {
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
