/** Our own cases of writing commands, by area. */
import { Double, Long } from 'mongodb';
import { answers, fails, own, refuses, step, update, updates } from './own-case.ts';

const one = [{ _id: 1, i: 4, s: 'x', l: [3, 1, 2], o: { p: 1 } }];
const changed = (fields: Readonly<Record<string, unknown>>) => [{ ...one[0], ...fields }];
const duplicate = (fields: string, index: string, key: Readonly<Record<string, unknown>>) => ({
  keyPattern: key,
  errmsg: `E11000 duplicate key error collection: golden.c index: ${index} dup key: { ${fields} }`,
});

export const WRITING = [
  own('insert', 'several documents, ordered and not', {
    docs: [{ _id: 1 }],
    steps: [
      step({ insert: 'c', documents: [{ _id: 2 }, { _id: 3 }] }, { n: 2 }),
      refuses({ insert: 'c', documents: [{ _id: 1 }, { _id: 4 }] }, 11000, {
        ...duplicate('_id: 1', '_id_', { _id: 1 }),
      }),
      step(
        { insert: 'c', documents: [{ _id: 1 }, { _id: 5 }], ordered: false },
        {
          n: 1,
          writeErrors: [{ index: 0, code: 11000, ...duplicate('_id: 1', '_id_', { _id: 1 }) }],
        },
      ),
      refuses({ insert: 'c', documents: [{ _id: [1] }] }, 2),
      refuses({ insert: 'c', documents: [{ $a: 1 }] }, 2),
    ],
    final: [{ _id: 1 }, { _id: 2 }, { _id: 3 }, { _id: 5 }],
  }),
  own('delete', 'one and many', {
    docs: [{ _id: 1, a: 1 }, { _id: 2, a: 1 }, { _id: 3 }],
    steps: [
      step({ delete: 'c', deletes: [{ q: { a: 1 }, limit: 1 }] }, { n: 1 }),
      step({ delete: 'c', deletes: [{ q: {}, limit: 0 }] }, { n: 2 }),
      step({ delete: 'c', deletes: [{ q: { a: 9 }, limit: 0 }] }, { n: 0 }),
    ],
    final: [],
  }),
  own('update-set', 'fields, paths, elements', {
    docs: one,
    steps: [
      updates({}, { $set: { i: 4 } }, 1, 0),
      updates({}, { $set: { 'o.q': 1, z: 1, 'l.4': 9 } }, 1, 1),
      refuses(update({}, { $set: { 's.x': 1 } }), 28),
      refuses(update({}, { $set: { _id: 2 } }), 66),
      refuses(update({}, { $set: { x: { $y: 1 } } }), 52),
    ],
    final: changed({ l: [3, 1, 2, null, 9], o: { p: 1, q: 1 }, z: 1 }),
  }),
  own('update-unset', 'fields and elements', {
    docs: one,
    steps: [
      updates({}, { $unset: { 'o.p': 1, 'l.0': 1, nosuch: 1 } }, 1, 1),
      updates({}, { $unset: { nosuch: 1 } }, 1, 0),
    ],
    final: changed({ l: [null, 1, 2], o: {} }),
  }),
  own('update-math', 'sums, products and extremes keep the wider type', {
    docs: one,
    steps: [
      updates({}, { $inc: { i: 2147483647, n: new Long(1) } }, 1, 1),
      updates({}, { $mul: { n: 1.5 }, $max: { 'o.p': 2 }, $min: { 'o.p2': 5 } }, 1, 1),
      refuses(update({}, { $inc: { s: 1 } }), 14),
      refuses(update({}, { $inc: { i: 'x' } }), 14),
    ],
    final: changed({ i: Long.fromNumber(2147483651), o: { p: 2, p2: 5 }, n: 1.5 }),
  }),
  own('update-rename', 'to another place', {
    docs: [{ _id: 1, a: 1, o: { p: 2 } }],
    steps: [
      updates({}, { $rename: { a: 'o.a', nosuch: 'b' } }, 1, 1),
      refuses(update({}, { $rename: { o: 'o.x' } }), 2),
    ],
    final: [{ _id: 1, o: { p: 2, a: 1 } }],
  }),
  own('update-currentdate', 'as date and as timestamp', {
    docs: [{ _id: 1 }],
    steps: [
      updates({}, { $currentDate: { d: true, t: { $type: 'timestamp' } } }, 1, 1),
      refuses(update({}, { $currentDate: { d: 1 } }), 2),
    ],
    final: [{ _id: 1, d: { $golden: 'date' }, t: { $golden: 'timestamp' } }],
  }),
  own('update-bit', 'and, or, xor', {
    docs: [{ _id: 1, i: 12 }],
    steps: [
      updates({}, { $bit: { i: { and: 10, or: 1 }, n: { xor: 3 } } }, 1, 1),
      refuses(update({}, { $bit: { i: { and: 1.5 } } }), 2),
    ],
    final: [{ _id: 1, i: 9, n: 3 }],
  }),
  own('update-push', 'with position, order and cut', {
    docs: [{ _id: 1, l: [3, 1] }],
    steps: [
      updates({}, { $push: { l: 2 } }, 1, 1),
      updates({}, { $push: { l: { $each: [9, 0], $sort: -1, $slice: 4 } } }, 1, 1),
      updates({}, { $push: { m: { $each: [1], $position: 0 } } }, 1, 1),
      refuses(update({}, { $push: { _id: 1 } }), 2),
    ],
    final: [{ _id: 1, l: [9, 3, 2, 1], m: [1] }],
  }),
  own('update-addtoset', 'only what is not there', {
    docs: [{ _id: 1, l: [1, 1] }],
    steps: [
      updates({}, { $addToSet: { l: new Double(1) } }, 1, 0),
      updates({}, { $addToSet: { l: { $each: [2, 2, 1] } } }, 1, 1),
    ],
    final: [{ _id: 1, l: [1, 1, 2] }],
  }),
  own('update-pull', 'by value and by condition', {
    docs: [{ _id: 1, l: [1, 2, 3, 2], d: [{ k: 1 }, { k: 2 }] }],
    steps: [
      updates({}, { $pull: { l: 2, d: { k: { $gt: 1 } } } }, 1, 1),
      updates({}, { $pullAll: { l: [3, 9] } }, 1, 1),
      updates({}, { $pull: { l: 9 } }, 1, 0),
    ],
    final: [{ _id: 1, l: [1], d: [{ k: 1 }] }],
  }),
  own('update-pop', 'from both ends', {
    docs: [{ _id: 1, l: [1, 2, 3] }],
    steps: [
      updates({}, { $pop: { l: 1 } }, 1, 1),
      updates({}, { $pop: { l: -1 } }, 1, 1),
      refuses(update({}, { $pop: { l: 2 } }), 9),
    ],
    final: [{ _id: 1, l: [2] }],
  }),
  own('update-positional', 'the found one, all, and those of a filter', {
    docs: [{ _id: 1, l: [1, 2, 3], d: [{ k: 1 }, { k: 2 }] }],
    steps: [
      updates({ l: 2 }, { $set: { 'l.$': 9 } }, 1, 1),
      updates({}, { $inc: { 'l.$[]': 1 } }, 1, 1),
      updates({}, { $set: { 'd.$[x].v': 1 } }, 1, 1, { arrayFilters: [{ 'x.k': { $gt: 1 } }] }),
      refuses(update({}, { $set: { 'l.$': 9 } }), 2),
      refuses(update({}, { $set: { 'l.$[y]': 9 } }), 2),
    ],
    final: [{ _id: 1, l: [2, 10, 4], d: [{ k: 1 }, { k: 2, v: 1 }] }],
  }),
  own('update-form', 'conflicts, unknown operators, replacements', {
    docs: [{ _id: 1, a: 1 }],
    steps: [
      refuses(update({}, { $set: { a: 1 }, $inc: { a: 1 } }), 40),
      refuses(update({}, { $whatever: { a: 1 } }), 9),
      refuses(update({}, { $set: {} }), 9),
      updates({}, { b: 1 }, 1, 1),
      refuses(update({}, { _id: 2 }), 66),
    ],
    final: [{ _id: 1, b: 1 }],
  }),
  own('update-multi', 'counts and statements', {
    docs: [
      { _id: 1, a: 1 },
      { _id: 2, a: 1 },
      { _id: 3, a: 5 },
    ],
    steps: [
      updates({ a: 1 }, { $set: { b: 1 } }, 1, 1),
      updates({}, { $set: { a: 5 } }, 3, 2, { multi: true }),
      refuses(update({}, { a: 1 }, { multi: true }), 9),
    ],
    final: [
      { _id: 1, a: 5, b: 1 },
      { _id: 2, a: 5 },
      { _id: 3, a: 5 },
    ],
  }),
  own('upsert', 'takes the equalities of the filter', {
    steps: [
      step(update({ _id: 5, 'a.b': 1, c: { $gt: 1 } }, { $set: { d: 1 } }, { upsert: true }), {
        n: 1,
        nModified: 0,
        upserted: [{ index: 0, _id: 5 }],
      }),
      updates({ _id: 5 }, { $setOnInsert: { e: 1 } }, 1, 0, { upsert: true }),
      refuses(update({ $expr: true }, { $set: { a: 1 } }, { upsert: true }), 224),
      refuses(update({ a: 1, 'a.b': 1 }, { $set: { c: 1 } }, { upsert: true }), 54),
    ],
    final: [{ _id: 5, a: { b: 1 }, d: 1 }],
  }),
  own('update-pipeline', 'computes from the document', {
    docs: [{ _id: 1, n: 5, l: ['a', 'b'] }],
    steps: [
      updates({}, [{ $set: { n: { $add: ['$n', 1] }, at: '$$NOW' } }, { $unset: 'l' }], 1, 1),
      refuses(update({}, [{ $match: {} }]), 72),
      refuses(update({}, [{ $set: { _id: 2 } }]), 66),
    ],
    final: [{ _id: 1, n: 6, at: { $golden: 'date' } }],
  }),
  own('find-and-modify', 'before, after, sorted, removed', {
    docs: [
      { _id: 1, n: 2 },
      { _id: 2, n: 1 },
    ],
    steps: [
      step(
        { findAndModify: 'c', query: {}, sort: { n: 1 }, update: { $inc: { n: 5 } }, new: true },
        { lastErrorObject: { n: 1, updatedExisting: true }, value: { _id: 2, n: 6 } },
      ),
      step(
        { findAndModify: 'c', query: { _id: 1 }, remove: true },
        { lastErrorObject: { n: 1 }, value: { _id: 1, n: 2 } },
      ),
      step(
        { findAndModify: 'c', query: { _id: 9 }, update: { $set: { n: 1 } } },
        { lastErrorObject: { n: 0, updatedExisting: false }, value: null },
      ),
      fails({ findAndModify: 'c', query: {} }, 9, 'FailedToParse'),
    ],
    final: [{ _id: 2, n: 6 }],
  }),
  own('unique', 'values, absent fields, arrays', {
    docs: [{ _id: 1, a: 1 }, { _id: 2 }, { _id: 3, a: ['x', 'y'] }],
    setup: [{ createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a', unique: true }] }],
    steps: [
      refuses({ insert: 'c', documents: [{ _id: 4, a: new Double(1) }] }, 11000, {
        ...duplicate('a: 1.0', 'a', { a: 1 }),
      }),
      refuses({ insert: 'c', documents: [{ _id: 4, a: null }] }, 11000, {
        ...duplicate('a: null', 'a', { a: 1 }),
      }),
      refuses({ insert: 'c', documents: [{ _id: 4, a: ['y'] }] }, 11000, {
        ...duplicate('a: "y"', 'a', { a: 1 }),
      }),
      refuses(update({ _id: 2 }, { $set: { a: 1 } }), 11000, {
        ...duplicate('a: 1', 'a', { a: 1 }),
      }),
    ],
    final: [{ _id: 1, a: 1 }, { _id: 2 }, { _id: 3, a: ['x', 'y'] }],
  }),
  own('unique', 'partial and sparse', {
    setup: [
      {
        createIndexes: 'c',
        indexes: [
          { key: { a: 1 }, name: 'a', unique: true, partialFilterExpression: { open: true } },
          { key: { b: 1 }, name: 'b', unique: true, sparse: true },
        ],
      },
    ],
    steps: [
      step(
        {
          insert: 'c',
          documents: [
            { _id: 1, a: 1 },
            { _id: 2, a: 1 },
          ],
        },
        { n: 2 },
      ),
      step({ insert: 'c', documents: [{ _id: 3, a: 1, open: true }] }, { n: 1 }),
      refuses(update({ _id: 1 }, { $set: { open: true } }), 11000, {
        ...duplicate('a: 1', 'a', { a: 1 }),
      }),
    ],
    final: [
      { _id: 1, a: 1 },
      { _id: 2, a: 1 },
      { _id: 3, a: 1, open: true },
    ],
  }),
  own('index', 'made, made again, dropped', {
    docs: [{ _id: 1 }],
    steps: [
      step(
        { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a' }] },
        { createdCollectionAutomatically: false, numIndexesBefore: 1, numIndexesAfter: 2 },
      ),
      step(
        { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a' }] },
        { numIndexesBefore: 2, numIndexesAfter: 2, note: 'all indexes already exist' },
      ),
      fails(
        { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a', unique: true }] },
        85,
        'IndexOptionsConflict',
      ),
      fails(
        { createIndexes: 'c', indexes: [{ key: { a: 0 }, name: 'x' }] },
        67,
        'CannotCreateIndex',
      ),
      step({ dropIndexes: 'c', index: 'a' }, { nIndexesWas: 2 }),
      fails({ dropIndexes: 'c', index: 'a' }, 27, 'IndexNotFound'),
    ],
  }),
  own('collection', 'made, named otherwise, dropped', {
    steps: [
      step({ create: 'c' }, {}),
      fails({ create: 'c' }, 48, 'NamespaceExists'),
      {
        db: 'admin',
        ...step({ renameCollection: 'golden.c', to: 'golden.d' }, {}),
      },
      answers({ find: 'c' }, []),
      step({ drop: 'd' }, { nIndexesWas: 1, ns: 'golden.d' }),
      fails({ drop: 'd' }, 26, 'NamespaceNotFound'),
    ],
  }),
];
