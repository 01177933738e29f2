import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { fromPlain, fromPlainDoc, type Plain } from '../values/from-plain.js';
import { Long, type Value } from '../values/value.js';
import { compileUpdatePipeline } from './compile-update-pipeline.js';

const now = new Date('2024-02-29T12:00:00.000Z');
const document = {
  _id: 1,
  a: 1,
  n: 5,
  list: [1, 2],
  docs: [{ k: 1 }, { k: 2 }],
  o: { p: 1, q: 2 },
  at: new Date('2024-02-29T11:59:00.000Z'),
};

function update(stages: readonly Plain[], variables?: Map<string, Value>): Value {
  try {
    const pipeline = compileUpdatePipeline(fromPlain(stages) as Value[], { now, variables });
    return pipeline.apply(fromPlainDoc(document));
  } catch (error) {
    if (error instanceof DbError) return `error ${error.code}`;
    throw error;
  }
}

describe('pipeline updates', () => {
  it.each<[readonly Plain[], Plain]>([
    [[{ $set: { a: '$n', n: '$a' } }], { ...document, a: 5, n: 1 }],
    [[{ $set: { a: 2 } }, { $set: { n: { $add: ['$a', 1] } } }], { ...document, a: 2, n: 3 }],
    [[{ $set: { z: '$$NOW' } }], { ...document, z: now }],
    [[{ $set: { z: { $subtract: ['$$NOW', '$at'] } } }], { ...document, z: Long.fromInt(60_000) }],
    [
      [{ $set: { 'docs.z': '$a' } }],
      {
        ...document,
        docs: [
          { k: 1, z: 1 },
          { k: 2, z: 1 },
        ],
      },
    ],
    [[{ $set: { 'list.0': 9 } }], { ...document, list: [{ 0: 9 }, { 0: 9 }] }],
    [[{ $set: { 'a.x': 1, o: { r: 3 } } }], { ...document, a: { x: 1 }, o: { p: 1, q: 2, r: 3 } }],
    [[{ $set: { z: '$nosuch' } }], document],
    [[{ $project: { o: { p: 0 } } }, { $project: { o: 1 } }], { _id: 1, o: { q: 2 } }],
    [[{ $project: { n: 1, twice: { $multiply: ['$n', 2] } } }], { _id: 1, n: 5, twice: 10 }],
    [[{ $replaceWith: { $mergeObjects: ['$o', { x: 1 }] } }], { p: 1, q: 2, x: 1 }],
    [[{ $replaceRoot: { newRoot: '$o' } }, { $unset: 'p' }], { q: 2 }],
    [[], document],
    [[{ $set: {} }], 'error 40177'],
    [[{ $set: { a: {} } }], 'error 40180'],
    [[{ $set: { a: 1, 'a.b': 1 } }], 'error 40176'],
    [[{ $set: { a: { 'b.c': 1 } } }], 'error 40183'],
    [[{ $set: { a: { $add: [1], b: 1 } } }], 'error 40181'],
    [[{ $set: { $a: 1 } }], 'error 16410'],
    [[{ $set: 5 }], 'error 40272'],
    [[{ $project: { a: 1, n: 0 } }], 'error 40178'],
    [[{ $project: { a: 0, n: '$a' } }], 'error 40179'],
    [[{ $unset: [] }], 'error 31119'],
    [[{ $unset: 5 }], 'error 31002'],
    [[{ $replaceRoot: {} }], 'error 40414'],
    [[{ $replaceWith: '$a' }], 'error 40228'],
    [[{ $limit: 1 }], 'error 72'],
    [[{ $inc: { a: 1 } }], 'error 40324'],
    [[{ $set: { a: 1 }, $unset: 'n' }], 'error 40323'],
    [[5], 'error 14'],
  ])('%j gives %j', (stages, expected) => {
    expect(update(stages)).toStrictEqual(fromPlain(expected));
  });

  it('sees the variables that it is given', () => {
    const variables = new Map<string, Value>([['new', fromPlain({ v: 9 })]]);
    expect(update([{ $project: { v: '$$new.v' } }], variables)).toStrictEqual(
      fromPlain({ _id: 1, v: 9 }),
    );
    expect(update([{ $project: { v: '$$new.v' } }])).toBe('error 17276');
  });

  it('looks at constants only when a document is there', () => {
    const stages = fromPlain([{ $set: { z: { $divide: [1, 0] } } }]) as Value[];
    const pipeline = compileUpdatePipeline(stages, { now });
    expect(() => pipeline.apply(new Map())).toThrow(DbError);
  });
});
