import { describe, expect, it } from 'vitest';
import { Double, fromPlain, fromPlainDoc, type Plain } from '../values/from-plain.js';
import { type Doc, Long } from '../values/value.js';
import { compilePipeline } from './compile-pipeline.js';
import { compilePlain, type PlainDocs, plainEnv, runPlain } from './run-plain.js';
import { OUTPUTS, STAGES } from './stage-table.js';

const c: PlainDocs = [
  { _id: 1, a: 1, tags: ['x', 'y'], o: { p: 1 } },
  { _id: 2, a: 2, tags: [], o: { p: 2 } },
  { _id: 3, a: 3, o: null },
  { _id: 4, a: 4, tags: 'z', o: { p: { q: 1 } } },
];
const d: PlainDocs = [
  { _id: 10, sku: 1, to: 2 },
  { _id: 11, sku: 1, to: 3 },
  { _id: 12, sku: [2, 3], to: 1 },
];
const long = (value: number) => Long.fromNumber(value);

/** A pipeline over `c` and what comes out; `error <code>` where MongoDB refuses it. */
const cases: [readonly Plain[], readonly Plain[] | string][] = [
  [
    [{ $match: { a: { $gt: 2 } } }, { $project: { a: 1 } }],
    [
      { _id: 3, a: 3 },
      { _id: 4, a: 4 },
    ],
  ],
  [[{ $match: { $expr: { $gt: ['$a', 3] } } }, { $count: 'n' }], [{ n: 1 }]],
  [[{ $match: 5 }], 'error 15959'],
  [[{ $match: { a: 99 } }, { $count: 'n' }], []],
  [[{ $count: 'a.b' }], 'error 40160'],
  [[{ $sort: { a: -1 } }, { $skip: 1 }, { $limit: 1 }, { $project: { a: 1, _id: 0 } }], [{ a: 3 }]],
  [[{ $sort: { a: 2 } }], 'error 15975'],
  [[{ $limit: 0 }], 'error 15958'],
  [[{ $skip: -1 }], 'error 15956'],
  [
    [{ $unwind: '$tags' }, { $project: { tags: 1 } }],
    [
      { _id: 1, tags: 'x' },
      { _id: 1, tags: 'y' },
      { _id: 4, tags: 'z' },
    ],
  ],
  [
    [
      { $unwind: { path: '$tags', includeArrayIndex: 'o.i', preserveNullAndEmptyArrays: true } },
      { $project: { o: 1, tags: 1 } },
      { $limit: 3 },
    ],
    [
      { _id: 1, tags: 'x', o: { p: 1, i: long(0) } },
      { _id: 1, tags: 'y', o: { p: 1, i: long(1) } },
      { _id: 2, o: { p: 2, i: null } },
    ],
  ],
  [[{ $unwind: 'tags' }], 'error 28818'],
  [
    [{ $group: { _id: { $mod: ['$a', 2] }, n: { $sum: 1 }, ids: { $push: '$_id' } } }],
    [
      { _id: 1, n: 2, ids: [1, 3] },
      { _id: 0, n: 2, ids: [2, 4] },
    ],
  ],
  [[{ $group: { _id: '$nosuch', top: { $max: '$a' } } }], [{ _id: null, top: 4 }]],
  [
    [{ $group: { _id: { t: '$t' }, f: { $first: '$a' }, l: { $last: '$a' } } }],
    [{ _id: {}, f: 1, l: 4 }],
  ],
  [[{ $group: { n: { $sum: 1 } } }], 'error 15955'],
  [[{ $group: { _id: 1, n: { $foo: 1 } } }], 'error 15952'],
  [[{ $group: { _id: 1, n: { $sum: [1, 2] } } }], 'error 40237'],
  [
    [{ $sortByCount: { $gt: ['$a', 1] } }],
    [
      { _id: true, count: 3 },
      { _id: false, count: 1 },
    ],
  ],
  [[{ $sortByCount: 'a' }], 'error 40148'],
  [
    [{ $bucket: { groupBy: '$a', boundaries: [0, 3, 4], default: 'rest' } }],
    [
      { _id: 0, count: 2 },
      { _id: 3, count: 1 },
      { _id: 'rest', count: 1 },
    ],
  ],
  [[{ $bucket: { groupBy: '$a', boundaries: [0, 3] } }], 'error 40066'],
  [[{ $bucket: { groupBy: '$a', boundaries: [3, 0] } }], 'error 40194'],
  [
    [{ $bucketAuto: { groupBy: '$a', buckets: 2 } }],
    [
      { _id: { min: 1, max: 3 }, count: 2 },
      { _id: { min: 3, max: 4 }, count: 2 },
    ],
  ],
  [[{ $bucketAuto: { groupBy: '$a', buckets: 0 } }], 'error 40243'],
  [
    [{ $facet: { n: [{ $count: 'n' }], none: [{ $match: { a: 9 } }] } }],
    [{ n: [{ n: 4 }], none: [] }],
  ],
  [[{ $facet: { x: [{ $facet: { y: [{ $count: 'n' }] } }] } }], 'error 40600'],
  [[{ $facet: { x: [{ $out: 'd' }] } }], 'error 40600'],
  [
    [
      { $lookup: { from: 'd', localField: 'a', foreignField: 'sku', as: 'r' } },
      { $project: { r: '$r._id' } },
    ],
    [
      { _id: 1, r: [10, 11] },
      { _id: 2, r: [12] },
      { _id: 3, r: [12] },
      { _id: 4, r: [] },
    ],
  ],
  [
    [
      {
        $lookup: {
          from: 'd',
          let: { a: '$a' },
          pipeline: [
            { $match: { $expr: { $eq: ['$to', '$$a'] } } },
            { $project: { _id: 1, outer: '$$a' } },
          ],
          as: 'r',
        },
      },
      { $match: { _id: 2 } },
      { $project: { r: 1 } },
    ],
    [{ _id: 2, r: [{ _id: 10, outer: 2 }] }],
  ],
  [[{ $lookup: { from: 'd', as: 'r' } }], 'error 9'],
  [[{ $lookup: { from: 'd', pipeline: [{ $out: 'x' }], as: 'r' } }], 'error 51047'],
  [
    [
      { $match: { _id: 1 } },
      {
        $graphLookup: {
          from: 'd',
          startWith: '$a',
          connectFromField: 'to',
          connectToField: 'sku',
          as: 'g',
          depthField: 'depth',
        },
      },
      { $project: { g: 1 } },
    ],
    [
      {
        _id: 1,
        g: [
          { _id: 10, sku: 1, to: 2, depth: long(0) },
          { _id: 11, sku: 1, to: 3, depth: long(0) },
          { _id: 12, sku: [2, 3], to: 1, depth: long(1) },
        ],
      },
    ],
  ],
  [[{ $graphLookup: { from: 'd' } }], 'error 40105'],
  [
    [{ $redact: { $cond: [{ $eq: ['$q', 1] }, '$$PRUNE', '$$DESCEND'] } }, { $match: { _id: 4 } }],
    [{ _id: 4, a: 4, tags: 'z', o: {} }],
  ],
  [[{ $redact: 5 }], 'error 17053'],
  [[{ $sample: { size: 9 } }, { $count: 'n' }], [{ n: 4 }]],
  [[{ $sample: { size: -1 } }], 'error 28747'],
  [[{ $addFields: { a: '$$REMOVE' } }, { $match: { a: 1 } }], []],
  [[{ $set: { z: { $divide: [1, 'x'] } } }, { $match: { a: 99 } }], 'error 16609'],
  [[{ $unset: ['tags', 'o.p'] }, { $limit: 1 }], [{ _id: 1, a: 1, o: {} }]],
  [[{ $replaceRoot: { newRoot: '$o' } }], 'error 40228'],
  [[{ $replaceWith: { x: '$a' } }, { $limit: 1 }], [{ x: 1 }]],
  [[{ $indexStats: {} }], 'error 238'],
  [[{ $match: {} }, { $collStats: {} }], 'error 40602'],
  [[{ $planCacheStats: 5 }], 'error 9'],
  [[{ $currentOp: {} }], 'error 73'],
  [[{ $listSessions: {} }], 'error 73'],
  [[{ $listLocalSessions: {} }], 'error 73'],
  [[{ $geoNear: {} }], 'error 16605'],
  [[{ $match: {} }, { $changeStream: {} }], 'error 40602'],
  [[{ $changeStream: {} }], 'error 40573'],
  [[{ $lookup: { from: 'd', pipeline: [{ $changeStream: {} }], as: 'r' } }], 'error 51047'],
  [[{ $out: 'd' }, { $match: {} }], 'error 40601'],
  [[{ $merge: 'd' }, { $match: {} }], 'error 40601'],
  [[{ $nosuch: 1 }], 'error 40324'],
  [[{ $unionWith: 'd' }], 'error 40324'],
  [[{}], 'error 40323'],
  [[5], 'error 14'],
];

describe('pipelines', () => {
  it.each(cases)('%j gives %j', (stages, expected) => {
    expect(runPlain(stages, { c, d })).toStrictEqual(fromPlain(expected as Plain));
  });

  it('has a case for each stage', () => {
    const text = JSON.stringify(cases.map(([stages]) => stages));
    const untested = [...STAGES.keys(), ...OUTPUTS.keys()].filter(
      (name) => !text.includes(`"${name}"`),
    );
    expect(untested).toEqual([]);
  });

  it('stops reading once it has enough', () => {
    let read = 0;
    function* endless(): Generator<Doc> {
      for (;;) yield fromPlainDoc({ _id: read++ });
    }
    const { run } = compilePlain([{ $match: { _id: { $gte: 2 } } }, { $limit: 2 }]);
    expect([...run(endless())]).toHaveLength(2);
    expect(read).toBe(4);
  });

  it('ends when its time is over, inside of a $lookup too', () => {
    const documents = Array.from({ length: 500 }, (_, _id) => fromPlainDoc({ _id }));
    const over = new Error('over');
    let looks = 0;
    const env = {
      ...plainEnv({}),
      readCollection: () => documents,
      checkTime() {
        if (++looks > 20) throw over;
      },
    };
    const stage = fromPlain({ $lookup: { from: 'd', pipeline: [], as: 'r' } });
    const { run } = compilePipeline([stage], env);
    expect(() => [...run(documents)]).toThrow(over);
  });

  it('leaves its documents as they are', () => {
    const source = fromPlainDoc({ _id: 1, o: { p: 1 }, list: [{ x: 1 }] });
    const before = structuredClone([...source]);
    const { run } = compilePlain([
      { $set: { 'o.q': 1, 'list.y': 2 } },
      { $unset: 'o.p' },
      { $unwind: '$list' },
    ]);
    expect([...run([source])]).toHaveLength(1);
    expect(structuredClone([...source])).toEqual(before);
  });

  it('tells the planner what it starts with', () => {
    const filter = fromPlain({ a: 1 });
    expect(compilePlain([{ $match: { a: 1 } }, { $count: 'n' }]).leadingFilter).toEqual(filter);
    expect(compilePlain([{ $count: 'n' }]).leadingFilter).toBeUndefined();
    expect(compilePlain([{ $indexStats: {} }]).ignoresSource).toBe(true);
  });

  it('names groups by the first of equal values, whatever their types', () => {
    const numbers: PlainDocs = [{ k: long(1) }, { k: 1 }, { k: new Double(1) }];
    expect(runPlain([{ $group: { _id: '$k', n: { $sum: 1 } } }], { c: numbers })).toStrictEqual(
      fromPlain([{ _id: long(1), n: 3 }]),
    );
  });
});
