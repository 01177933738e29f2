/** Our own cases of what may be stored, and under which names, by area. */
import { Double } from 'mongodb';
import { fails, own, refuses, step, update, updates } from './own-case.ts';

const upserts = (q: Readonly<Record<string, unknown>>, u: unknown, more = {}) =>
  update(q, u, { upsert: true, ...more });

const modifies = (query: Readonly<Record<string, unknown>>, u: unknown) => ({
  findAndModify: 'c',
  query,
  update: u,
  upsert: true,
});

/** With `golden.`, one byte longer than a namespace may be. */
const tooLong = 'n'.repeat(249);

const invalidName = (command: Readonly<Record<string, unknown>>) =>
  fails(command, 73, 'InvalidNamespace');

export const STORING = [
  own('insert', 'no dollar names at any depth of an _id', {
    steps: [
      refuses({ insert: 'c', documents: [{ _id: { a: { $b: 1 } } }] }, 52),
      refuses({ insert: 'c', documents: [{ _id: { a: [[{ b: { $c: 1 } }]] } }] }, 52),
      refuses({ insert: 'c', documents: [{ _id: { $ref: 1, $id: 1 } }] }, 52),
      refuses({ insert: 'c', documents: [{ _id: { a: 1, $ref: 'd', $id: 1 } }] }, 52),
      refuses({ insert: 'c', documents: [{ _id: { $ref: 'd', $id: 1, a: { $b: 1 } } }] }, 52),
      step(
        {
          insert: 'c',
          documents: [
            { _id: { a: { $b: 1 } } },
            { _id: { $ref: 'd', $id: 1, $db: 'e' } },
            { _id: { a: [1, { b: 'x' }] }, a: { $b: 1 } },
          ],
          ordered: false,
        },
        { n: 2, writeErrors: [{ index: 0, code: 52, errmsg: '' }] },
      ),
      step({ delete: 'c', deletes: [{ q: { '_id.$id': 1 }, limit: 1 }] }, { n: 1 }),
    ],
    final: [{ _id: { a: [1, { b: 'x' }] }, a: { $b: 1 } }],
  }),
  own('update-set', 'a zero of the other sign', {
    docs: [{ _id: 1, x: new Double(0), l: [new Double(-0)] }],
    steps: [updates({}, { $set: { x: new Double(-0), 'l.0': new Double(0) } }, 1, 1)],
    final: [{ _id: 1, x: new Double(-0), l: [new Double(0)] }],
  }),
  own('upsert', 'nothing of the filter that may not be stored', {
    steps: [
      refuses(upserts({ a: { b: { $c: 1 } } }, { $set: { z: 1 } }), 52),
      refuses(upserts({ a: [{ b: { $c: 1 } }] }, { $set: { z: 1 } }), 52),
      refuses(upserts({ a: { $eq: { $c: 1 } } }, { $set: { z: 1 } }), 52),
      refuses(upserts({ _id: { a: { $b: 1 } } }, { $set: { z: 1 } }), 52),
      refuses(upserts({ _id: { a: { $b: 1 } } }, { z: 1 }), 52),
      refuses(upserts({ a: { b: { $c: 1 } } }, [{ $set: { z: 1 } }]), 52),
      refuses(upserts({ a: { b: { $c: 1 } } }, { $unset: { z: 1 } }), 52),
      fails(modifies({ a: { b: { $c: 1 } } }, { $set: { z: 1 } }), 52, 'DollarPrefixedFieldName'),
      fails(modifies({ _id: { a: { $b: 1 } } }, { z: 1 }), 52, 'DollarPrefixedFieldName'),
      step(upserts({ _id: 1, a: { $eq: { $ref: 'd', $id: 1 } } }, { $set: { z: 1 } }), {
        n: 1,
        nModified: 0,
        upserted: [{ index: 0, _id: 1 }],
      }),
      step({ delete: 'c', deletes: [{ q: { 'a.$id': 1, z: 1 }, limit: 1 }] }, { n: 1 }),
    ],
    final: [],
  }),
  own('collection', 'no names that are too long', {
    docs: [{ _id: 1 }],
    steps: [
      invalidName({ insert: tooLong, documents: [{ _id: 1 }] }),
      invalidName({ update: tooLong, updates: [{ q: {}, u: { $set: { a: 1 } }, upsert: true }] }),
      invalidName({ findAndModify: tooLong, query: {}, update: { a: 1 }, upsert: true }),
      invalidName({ create: tooLong }),
      invalidName({ create: tooLong, viewOn: 'c' }),
      invalidName({ createIndexes: tooLong, indexes: [{ key: { a: 1 }, name: 'a' }] }),
      invalidName({ aggregate: 'c', pipeline: [{ $out: tooLong }], cursor: {} }),
      invalidName({ aggregate: 'c', pipeline: [{ $merge: tooLong }], cursor: {} }),
      {
        db: 'admin',
        ...invalidName({ renameCollection: 'golden.c', to: `golden.${tooLong}` }),
      },
      // The limit is one of bytes.
      invalidName({ create: `${'é'.repeat(124)}nn` }),
      step({ create: tooLong.slice(1) }, {}),
      step({ create: 'é'.repeat(124) }, {}),
    ],
    final: [{ _id: 1 }],
  }),
  own('collection', 'no second database by a name in another case', {
    docs: [{ _id: 1 }],
    steps: [
      { db: 'Golden', ...refuses({ insert: 'c', documents: [{ _id: 1 }] }, 13297) },
      {
        db: 'gOLDEN',
        ...refuses(upserts({ _id: 1 }, { $set: { a: 1 } }), 13297),
      },
      { db: 'Golden', ...fails({ create: 'c' }, 13297, 'DatabaseDifferCase') },
      { db: 'Golden', ...fails({ create: 'v', viewOn: 'c' }, 13297, 'DatabaseDifferCase') },
      {
        db: 'admin',
        ...fails({ renameCollection: 'golden.c', to: 'Golden.c' }, 13297, 'DatabaseDifferCase'),
      },
      fails(
        {
          aggregate: 'c',
          pipeline: [{ $merge: { into: { db: 'Golden', coll: 'c' } } }],
          cursor: {},
        },
        13297,
        'DatabaseDifferCase',
      ),
      { db: 'Golden', ...step({ count: 'c' }, { n: 0 }) },
      step({ dropDatabase: 1 }, { dropped: 'golden' }),
      { db: 'Golden', ...step({ create: 'c' }, {}) },
      { db: 'Golden', ...step({ dropDatabase: 1 }, { dropped: 'Golden' }) },
    ],
    final: [],
  }),
];
