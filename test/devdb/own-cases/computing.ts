/** Our own cases of pipelines, expressions, sessions and the rest, by area. */
import { Decimal128, Double, Long } from 'mongodb';
import {
  computes,
  fails,
  finds,
  own,
  pipeline,
  refuses,
  step,
  update,
  updates,
} from './own-case.ts';

const numbers = [
  { _id: 1, g: 'a', n: 1 },
  { _id: 2, g: 'a', n: 3 },
  { _id: 3, g: 'b', n: 5 },
];
const session = { id: { $golden: 'session', name: 'A' } };
const inTransaction = { lsid: session, txnNumber: new Long(1), autocommit: false };

export const COMPUTING = [
  own('aggregate-group', 'sums and their types', {
    docs: numbers,
    steps: [
      pipeline(
        [{ $group: { _id: '$g', n: { $sum: '$n' }, all: { $push: '$n' } } }, { $sort: { _id: 1 } }],
        [
          { _id: 'a', n: 4, all: [1, 3] },
          { _id: 'b', n: 5, all: [5] },
        ],
      ),
      pipeline(
        [{ $group: { _id: null, avg: { $avg: '$n' }, max: { $max: '$n' } } }],
        [{ _id: null, avg: new Double(3), max: 5 }],
      ),
    ],
  }),
  own('aggregate-stage', 'match, project, unwind, count', {
    docs: numbers,
    steps: [
      pipeline([{ $match: { n: { $gt: 1 } } }, { $count: 'n' }], [{ n: 2 }]),
      pipeline(
        [
          { $match: { _id: 1 } },
          { $set: { l: ['x', 'y'] } },
          { $unwind: '$l' },
          { $project: { l: 1 } },
        ],
        [
          { _id: 1, l: 'x' },
          { _id: 1, l: 'y' },
        ],
      ),
      fails({ aggregate: 'c', pipeline: [{ $whatever: 1 }], cursor: {} }, 40324),
    ],
  }),
  own('aggregate-lookup', 'joins by a field', {
    docs: [
      { _id: 1, k: 'x' },
      { _id: 2, k: 'z' },
    ],
    setup: [{ insert: 'd', documents: [{ _id: 10, k: 'x' }] }],
    steps: [
      pipeline(
        [
          { $lookup: { from: 'd', localField: 'k', foreignField: 'k', as: 'found' } },
          { $project: { found: 1 } },
        ],
        [
          { _id: 1, found: [{ _id: 10, k: 'x' }] },
          { _id: 2, found: [] },
        ],
      ),
    ],
  }),
  own('aggregate-out', 'into another collection', {
    docs: [{ _id: 1, a: 1 }],
    setup: [
      {
        insert: 'd',
        documents: [
          { _id: 1, b: 1 },
          { _id: 2, b: 2 },
        ],
      },
    ],
    steps: [pipeline([{ $merge: { into: 'd' } }], [])],
    finalOther: {
      d: [
        { _id: 1, b: 1, a: 1 },
        { _id: 2, b: 2 },
      ],
    },
  }),
  own('expression', 'numbers, texts, lists, dates', {
    docs: [{ _id: 1, n: 5, s: 'Abc', l: [1, 2, 3], t: new Date(0) }],
    steps: [
      computes({ $add: ['$n', new Long(1)] }, new Long(6)),
      computes({ $multiply: ['$n', Decimal128.fromString('1.5')] }, Decimal128.fromString('7.5')),
      computes({ $divide: ['$n', 2] }, 2.5),
      computes({ $concat: ['$s', '!'] }, 'Abc!'),
      computes({ $map: { input: '$l', in: { $add: ['$$this', 1] } } }, [2, 3, 4]),
      computes({ $filter: { input: '$l', cond: { $gt: ['$$this', 1] } } }, [2, 3]),
      computes({ $cond: [{ $gt: ['$n', 4] }, 'big', 'small'] }, 'big'),
      computes({ $add: ['$t', 1000] }, new Date(1000)),
      computes({ $setDifference: ['$l', [1, 3]] }, [2]),
      computes({ $ifNull: ['$nosuch', 'none'] }, 'none'),
      fails(
        { aggregate: 'c', pipeline: [{ $project: { v: { $add: ['$s', 1] } } }], cursor: {} },
        16554,
      ),
    ],
  }),
  own('transaction', 'commits as a whole', {
    docs: [{ _id: 1, a: 1 }],
    steps: [
      step(
        { insert: 'c', documents: [{ _id: 2 }], ...inTransaction, startTransaction: true },
        { n: 1 },
      ),
      finds({}, [1]),
      step({ ...update({ _id: 1 }, { $inc: { a: 1 } }), ...inTransaction }, { n: 1, nModified: 1 }),
      { db: 'admin', ...step({ commitTransaction: 1, ...inTransaction }, {}) },
    ],
    final: [{ _id: 1, a: 2 }, { _id: 2 }],
  }),
  own('transaction', 'aborts as a whole', {
    docs: [{ _id: 1 }],
    steps: [
      step(
        { delete: 'c', deletes: [{ q: {}, limit: 0 }], ...inTransaction, startTransaction: true },
        { n: 1 },
      ),
      { db: 'admin', ...step({ abortTransaction: 1, ...inTransaction }, {}) },
      {
        db: 'admin',
        command: { commitTransaction: 1, ...inTransaction },
        reply: {
          ok: 0,
          code: 251,
          codeName: 'NoSuchTransaction',
          errorLabels: ['TransientTransactionError'],
          errmsg: '',
        },
      },
    ],
    final: [{ _id: 1 }],
  }),
  own('retryable-write', 'is done once', {
    docs: [{ _id: 1, n: 0 }],
    steps: [1, 2].map(() =>
      step(
        { ...update({ _id: 1 }, { $inc: { n: 1 } }), lsid: session, txnNumber: new Long(7) },
        { n: 1, nModified: 1 },
      ),
    ),
    final: [{ _id: 1, n: 1 }],
  }),
  own('session', 'ends', {
    steps: [step({ endSessions: [session] }, {})],
  }),
  own('error', 'unknown commands and fields', {
    steps: [
      fails({ nosuch: 1 }, 59, 'CommandNotFound', "no such command: 'nosuch'"),
      fails({ insert: 'c', documents: [{}], nosuch: 1 }, 40415),
      fails({ find: '' }, 73, 'InvalidNamespace'),
    ],
  }),
  own('admin', 'answers a ping', { steps: [{ db: 'admin', ...step({ ping: 1 }, {}) }] }),
  own('change-stream', 'tells of an insert', {
    docs: [{ _id: 1 }],
    steps: [
      step(
        { aggregate: 'c', pipeline: [{ $changeStream: {} }], cursor: {} },
        {
          cursor: {
            firstBatch: [],
            postBatchResumeToken: { $golden: 'resumeToken' },
            id: { $golden: 'cursor', n: 1 },
            ns: 'golden.c',
          },
        },
      ),
      step({ insert: 'c', documents: [{ _id: 2 }] }, { n: 1 }),
      step(
        { getMore: { $golden: 'cursor', n: 1 }, collection: 'c', maxTimeMS: 500 },
        {
          cursor: {
            nextBatch: [
              {
                _id: { $golden: 'resumeToken' },
                operationType: 'insert',
                clusterTime: { $golden: 'timestamp' },
                fullDocument: { _id: 2 },
                ns: { db: 'golden', coll: 'c' },
                documentKey: { _id: 2 },
              },
            ],
            postBatchResumeToken: { $golden: 'resumeToken' },
            id: { $golden: 'cursor', n: 1 },
            ns: 'golden.c',
          },
        },
      ),
    ],
  }),
  own('scenario', 'a claim takes the first ready task once', {
    docs: [
      { _id: 1, s: 'ready', p: 1 },
      { _id: 2, s: 'ready', p: 5 },
    ],
    setup: [{ createIndexes: 'c', indexes: [{ key: { s: 1, p: -1 }, name: 'ready' }] }],
    steps: [
      step(
        {
          findAndModify: 'c',
          query: { s: 'ready' },
          sort: { p: -1 },
          update: { $set: { s: 'taken' }, $inc: { token: 1 } },
          new: true,
        },
        {
          lastErrorObject: { n: 1, updatedExisting: true },
          value: { _id: 2, s: 'taken', p: 5, token: 1 },
        },
      ),
      updates({ _id: 2, token: 9 }, { $set: { s: 'done' } }, 0, 0),
      updates({ _id: 2, token: 1 }, [{ $set: { s: 'done', at: '$$NOW' } }], 1, 1),
      refuses(update({ _id: 2 }, { $push: { s: 1 } }), 2),
    ],
    final: [
      { _id: 1, s: 'ready', p: 1 },
      { _id: 2, s: 'done', p: 5, token: 1, at: { $golden: 'date' } },
    ],
  }),
];
