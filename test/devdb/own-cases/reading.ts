/** Our own cases of reading commands, by area. */
import { BSONRegExp, Decimal128, Double, Long, MinKey } from 'mongodb';
import { answers, fails, finds, own, step } from './own-case.ts';

const mixed = [
  { _id: 1 },
  { _id: 2, v: null },
  { _id: 3, v: 7 },
  { _id: 4, v: new Long(7) },
  { _id: 5, v: 7.5 },
  { _id: 6, v: 'seven' },
  { _id: 7, v: [7, 'x'] },
  { _id: 8, v: [] },
  { _id: 9, v: { w: 7 } },
  { _id: 10, v: [{ w: 7 }, { w: 8 }] },
];
const at = (ms: number) => new Date(ms);

export const READING = [
  own('filter', 'equality across number types and into arrays', {
    docs: mixed,
    steps: [finds({ v: 7 }, [3, 4, 7]), finds({ v: new Double(7) }, [3, 4, 7])],
  }),
  own('filter', 'null and missing', {
    docs: mixed,
    steps: [
      finds({ v: null }, [1, 2]),
      finds({ v: { $exists: false } }, [1]),
      finds({ v: { $ne: null } }, [3, 4, 5, 6, 7, 8, 9, 10]),
      finds({ v: { $gte: null } }, [1, 2]),
    ],
  }),
  own('filter', 'ranges stay within a type', {
    docs: mixed,
    steps: [
      finds({ v: { $gt: 7 } }, [5]),
      finds({ v: { $lte: 'z' } }, [6, 7]),
      finds({ v: { $gt: new MinKey() } }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ],
  }),
  own('filter', 'operators on arrays', {
    docs: mixed,
    steps: [
      finds({ v: { $size: 2 } }, [7, 10]),
      finds({ v: { $all: [7, 'x'] } }, [7]),
      finds({ v: { $elemMatch: { w: { $gt: 7 } } } }, [10]),
      finds({ v: { $in: ['seven', 7.5] } }, [5, 6]),
      finds({ v: { $type: 'array' } }, [7, 8, 10]),
    ],
  }),
  own('filter', 'combinations', {
    docs: mixed,
    steps: [
      finds({ $or: [{ v: 'seven' }, { v: 7.5 }] }, [5, 6]),
      finds({ $nor: [{ v: { $exists: true } }] }, [1]),
      finds({ $and: [{ v: { $gte: 7 } }, { v: { $lt: 7.2 } }] }, [3, 4, 7]),
      finds({ v: { $not: new BSONRegExp('^s', '') } }, [1, 2, 3, 4, 5, 7, 8, 9, 10]),
    ],
  }),
  own('filter', 'what is refused', {
    steps: [
      fails({ find: 'c', filter: { $whatever: 1 } }, 2, 'BadValue'),
      fails({ find: 'c', filter: { v: { $whatever: 1 } } }, 2, 'BadValue'),
      fails({ find: 'c', filter: { $or: [] } }, 2, 'BadValue'),
      fails({ find: 'c', filter: { v: { $in: 1 } } }, 2, 'BadValue'),
      fails({ find: 'c', filter: { v: { $type: true } } }, 14, 'TypeMismatch'),
    ],
  }),
  own('filter-path', 'documents in arrays, places and absent fields', {
    docs: [
      { _id: 1, a: { b: 1 } },
      { _id: 2, a: [{ b: 1 }, { b: 2 }] },
      { _id: 3, a: [] },
      { _id: 4, a: 5 },
      { _id: 5, a: [{ c: 1 }] },
    ],
    steps: [
      finds({ 'a.b': 1 }, [1, 2]),
      finds({ 'a.b': null }, [4, 5]),
      finds({ 'a.b': { $exists: false } }, [3, 4, 5]),
      finds({ 'a.1.b': 2 }, [2]),
      finds({ 'a.b': { $gt: 1, $lt: 2 } }, [2]),
    ],
  }),
  own('filter-date', 'dates and the time of the command', {
    docs: [
      { _id: 1, at: at(1000) },
      { _id: 2, at: at(2000) },
      { _id: 3, at: 1500 },
    ],
    steps: [
      finds({ at: { $gt: at(1000) } }, [2]),
      finds({ at: { $lte: at(2000) } }, [1, 2]),
      finds({ $expr: { $gt: ['$at', '$$NOW'] } }, []),
      finds({ at: at(1000), $expr: { $lt: ['$at', '$$NOW'] } }, [1]),
    ],
  }),
  own('filter-number', 'exact comparison across types', {
    docs: [
      { _id: 1, n: Long.fromString('9007199254740993') },
      { _id: 2, n: new Double(9007199254740992) },
      { _id: 3, n: Decimal128.fromString('0.1') },
      { _id: 4, n: 0.1 },
      { _id: 5, n: Number.NaN },
    ],
    steps: [
      finds({ n: { $gt: new Double(9007199254740992) } }, [1]),
      finds({ n: 0.1 }, [4]),
      finds({ n: Decimal128.fromString('0.10') }, [3]),
      finds({ n: Number.NaN }, [5]),
      finds({ n: { $lt: 0.1 } }, [3]),
    ],
  }),
  own('filter-expr', 'fields compared with each other', {
    docs: [
      { _id: 1, a: 1, b: 2 },
      { _id: 2, a: 2, b: 1 },
      { _id: 3, a: 1 },
    ],
    steps: [
      finds({ $expr: { $lt: ['$a', '$b'] } }, [1]),
      finds({ $expr: { $eq: [{ $ifNull: ['$b', 9] }, 9] } }, [3]),
      fails({ find: 'c', filter: { $expr: { $whatever: 1 } } }, 168, 'InvalidPipelineOperator'),
    ],
  }),
  own('sort', 'directions, types and arrays', {
    docs: [
      { _id: 1, a: 'x' },
      { _id: 2, a: [5, 0] },
      { _id: 3 },
      { _id: 4, a: 2 },
      { _id: 5, a: [] },
    ],
    steps: [
      finds({}, [5, 3, 2, 4, 1], { sort: { a: 1 } }),
      finds({}, [1, 2, 4, 3, 5], { sort: { a: -1 } }),
      finds({}, [5, 4, 3, 2, 1], { sort: { $natural: -1 } }),
      fails({ find: 'c', sort: { a: 2 } }, 2, 'BadValue'),
    ],
  }),
  own('sort', 'an index gives the same order', {
    docs: [
      { _id: 1, a: 2 },
      { _id: 2, a: 1 },
      { _id: 3, a: 3 },
    ],
    setup: [{ createIndexes: 'c', indexes: [{ key: { a: -1 }, name: 'a' }] }],
    steps: [
      finds({ a: { $gt: 0 } }, [2, 1, 3], { sort: { a: 1 } }),
      finds({}, [3, 1, 2], { sort: { a: -1 } }),
    ],
  }),
  own('find-options', 'limit, skip, hint and wrong values', {
    docs: [{ _id: 1 }, { _id: 2 }, { _id: 3 }],
    steps: [
      finds({}, [2], { skip: 1, limit: 1 }),
      finds({}, [1, 2, 3], { hint: '_id_' }),
      finds({}, [2], { hint: { _id: 1 }, min: { _id: 2 }, max: { _id: 3 } }),
      fails({ find: 'c', hint: 'nosuch' }, 2, 'BadValue'),
      fails({ find: 'c', limit: -1 }, 2, 'BadValue'),
      fails({ find: 'c', nosuch: 1 }, 9, 'FailedToParse'),
      fails({ find: 'c', collation: { locale: 'nosuch' } }, 2, 'BadValue'),
    ],
  }),
  own('projection', 'inclusion, exclusion, paths and operators', {
    docs: [{ _id: 1, a: 1, b: { c: 1, d: 2 }, l: [1, 2, 3] }],
    steps: [
      answers({ find: 'c', projection: { a: 1 } }, [{ _id: 1, a: 1 }]),
      answers({ find: 'c', projection: { 'b.c': 0, l: 0, _id: 0 } }, [{ a: 1, b: { d: 2 } }]),
      answers({ find: 'c', projection: { a: 1, l: { $slice: -1 } } }, [{ _id: 1, a: 1, l: [3] }]),
      answers({ find: 'c', filter: { l: 2 }, projection: { 'l.$': 1 } }, [{ _id: 1, l: [2] }]),
      answers({ find: 'c', projection: { l: { $elemMatch: { $gt: 1 } } } }, [{ _id: 1, l: [2] }]),
      fails({ find: 'c', projection: { a: 1, b: 0 } }, 2, 'BadValue'),
    ],
  }),
  own('count', 'with filter, skip and limit', {
    docs: [{ _id: 1, a: 1 }, { _id: 2, a: 1 }, { _id: 3 }],
    steps: [
      step({ count: 'c' }, { n: 3 }),
      step({ count: 'c', query: { a: 1 } }, { n: 2 }),
      step({ count: 'c', skip: 1, limit: 1 }, { n: 1 }),
      step({ count: 'nosuch' }, { n: 0 }),
      fails({ count: 'c', query: { $whatever: 1 } }, 2, 'BadValue'),
    ],
  }),
  own('distinct', 'values once, out of arrays, too', {
    docs: [{ _id: 1, a: 1 }, { _id: 2, a: [1, 'x'] }, { _id: 3, a: new Double(1) }, { _id: 4 }],
    steps: [
      step({ distinct: 'c', key: 'a' }, { values: [1, 'x'] }),
      step({ distinct: 'c', key: 'a', query: { _id: 4 } }, { values: [] }),
      fails({ distinct: 'c', key: 1 }, 14, 'TypeMismatch'),
    ],
  }),
  own('cursor', 'batches until the end', {
    docs: [{ _id: 1 }, { _id: 2 }, { _id: 3 }],
    steps: [
      step(
        { find: 'c', batchSize: 2 },
        {
          cursor: {
            firstBatch: [{ _id: 1 }, { _id: 2 }],
            id: { $golden: 'cursor', n: 1 },
            ns: 'golden.c',
          },
        },
      ),
      step(
        { getMore: { $golden: 'cursor', n: 1 }, collection: 'c' },
        { cursor: { nextBatch: [{ _id: 3 }], id: Long.ZERO, ns: 'golden.c' } },
      ),
      fails(
        { getMore: new Long(5), collection: 'c' },
        43,
        'CursorNotFound',
        'cursor id 5 not found',
      ),
    ],
  }),
  own('explain', 'of a command that there is not', {
    steps: [
      fails(
        { explain: { nosuch: 1 } },
        59,
        'CommandNotFound',
        'Explain failed due to unknown command: nosuch',
      ),
    ],
  }),
];
