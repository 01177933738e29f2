/** Our own cases of what commands carry beside their work: retries by another command, write concerns, nulls. */
import { Long, Timestamp } from 'mongodb';
import { answers, fails, own, pipeline, refuses, step, update, updates } from './own-case.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A command of session A under its transaction number 1. */
const numbered = (command: Fields): Fields => ({
  ...command,
  lsid: { id: { $golden: 'session', name: 'A' } },
  txnNumber: new Long(1),
});

const modify = (more: Fields): Fields =>
  numbered({ findAndModify: 'c', query: { _id: 1 }, ...more });
const increment = { $inc: { a: 1 } };
const insertion: Fields = { insert: 'c', documents: [{ _id: 1, a: 1 }] };

const past = new Timestamp({ t: 1_000_000, i: 1 });
const reading = (readConcern: Fields): Fields => ({ find: 'c', readConcern });
const collStats = (options: Fields): Fields => ({
  aggregate: 'c',
  pipeline: [{ $collStats: options }],
  cursor: {},
});
const invalidStream = (aggregate: string | number) =>
  fails({ aggregate, pipeline: [{ $changeStream: {} }], cursor: {} }, 73, 'InvalidNamespace');

const streamAt = (level: string): Fields => ({
  aggregate: 'c',
  pipeline: [{ $changeStream: {} }],
  cursor: {},
  readConcern: { level },
});

export const OPTIONS = [
  own('retryable-write', 'findAndModify with the number of an insert', {
    steps: [
      step(numbered(insertion), { n: 1 }),
      fails(modify({ update: increment }), 40608),
      fails(modify({ remove: true }), 40608),
      step(modify({ update: increment, upsert: true }), {
        lastErrorObject: { n: 1, updatedExisting: false, upserted: 1 },
        value: null,
      }),
      fails(
        modify({ update: increment, upsert: true, new: true }),
        217,
        'IncompleteTransactionHistory',
      ),
    ],
    final: [{ _id: 1, a: 1 }],
  }),
  own('retryable-write', 'findAndModify with the number of an upsert of its own', {
    steps: [
      step(modify({ update: increment, upsert: true }), {
        lastErrorObject: { n: 1, updatedExisting: false, upserted: 1 },
        value: null,
      }),
      fails(modify({ update: increment }), 40608),
      step(modify({ update: increment, upsert: true, new: true }), {
        lastErrorObject: { n: 1, updatedExisting: false, upserted: 1 },
        value: { _id: 1, a: 1 },
      }),
    ],
    final: [{ _id: 1, a: 1 }],
  }),
  own('retryable-write', 'findAndModify with the number of a removal', {
    docs: [{ _id: 1, a: 1 }],
    steps: [
      step(modify({ remove: true }), { lastErrorObject: { n: 1 }, value: { _id: 1, a: 1 } }),
      fails(modify({ update: increment }), 40606),
      fails(modify({ update: increment, upsert: true }), 40606),
      step(modify({ remove: true }), { lastErrorObject: { n: 1 }, value: { _id: 1, a: 1 } }),
    ],
    final: [],
  }),
  own('retryable-write', 'findAndModify with the number of a delete', {
    docs: [{ _id: 1, a: 1 }],
    steps: [
      step(numbered({ delete: 'c', deletes: [{ q: { _id: 1 }, limit: 1 }] }), { n: 1 }),
      fails(modify({ update: increment, upsert: true }), 40606),
      fails(modify({ remove: true }), 40607),
    ],
    final: [],
  }),
  own('error', 'write concerns that are none', {
    steps: [
      ...[
        { w: {} },
        { w: [1] },
        { w: true },
        { j: 'x' },
        { j: null },
        { fsync: 'x' },
        { fsync: true, j: true },
        { fsync: 1, j: 1 },
      ].map((writeConcern) => fails({ ...insertion, writeConcern }, 9, 'FailedToParse')),
      step({ insert: 'c', documents: [{ _id: 2 }], writeConcern: { w: null, j: 1 } }, { n: 1 }),
      step(
        { insert: 'c', documents: [{ _id: 3 }], writeConcern: { fsync: true, j: false } },
        { n: 1 },
      ),
    ],
    final: [{ _id: 2 }, { _id: 3 }],
  }),
  own('error', 'null where it stands for an absent field', {
    docs: [{ _id: 1, a: 1 }],
    steps: [
      step({ insert: 'c', documents: [{ _id: 2, a: 1 }], ordered: null, lsid: null }, { n: 1 }),
      updates({ _id: 1 }, increment, 1, 1, { upsert: null, multi: null, collation: null }),
      step({ delete: 'c', deletes: [{ q: { _id: 1 }, limit: 1, collation: null }] }, { n: 1 }),
      step({ count: 'c', collation: null }, { n: 1 }),
      step({ distinct: 'c', key: 'a', collation: null }, { values: [1] }),
    ],
    final: [{ _id: 2, a: 1 }],
  }),
  own('error', 'null where it does not', {
    docs: [{ _id: 1, a: 1 }],
    steps: [
      fails({ find: 'c', sort: null }, 9, 'FailedToParse'),
      fails({ findAndModify: 'c', query: null, update: increment }, 31160),
      fails(update({}, increment, { arrayFilters: null }), 10065),
      fails({ ...insertion, writeConcern: null }, 14, 'TypeMismatch'),
      refuses({ ...insertion, writeConcern: {} }, 11000, {
        keyPattern: { _id: 1 },
        errmsg: 'E11000 duplicate key error collection: golden.c index: _id_ dup key: { _id: 1 }',
      }),
    ],
    final: [{ _id: 1, a: 1 }],
  }),
  own('error', 'read concerns with times', {
    docs: [{ _id: 1 }],
    steps: [
      ...[5, 'x', null, new Date(0)].map((afterClusterTime) =>
        fails(reading({ afterClusterTime }), 14, 'TypeMismatch'),
      ),
      ...[new Timestamp({ t: 0, i: 0 }), new Timestamp({ t: 4_000_000_000, i: 1 })].map(
        (afterClusterTime) => fails(reading({ afterClusterTime }), 72, 'InvalidOptions'),
      ),
      ...['available', 'linearizable'].map((level) =>
        fails(reading({ level, afterClusterTime: past }), 72, 'InvalidOptions'),
      ),
      answers(reading({ afterClusterTime: past }), [{ _id: 1 }]),
      answers(reading({ level: 'majority', afterClusterTime: past }), [{ _id: 1 }]),
      fails(reading({ atClusterTime: 5 }), 14, 'TypeMismatch'),
      fails(reading({ atClusterTime: past }), 72, 'InvalidOptions'),
      fails(reading({ level: 'majority', atClusterTime: past }), 72, 'InvalidOptions'),
      fails(reading({ level: 'snapshot', atClusterTime: past }), 238, 'NotImplemented'),
    ],
  }),
  own('change-stream', 'not of what is internal', {
    steps: [
      ...['admin', 'local', 'config'].flatMap((db) =>
        [1, 'c'].map((aggregate) => ({ db, ...invalidStream(aggregate) })),
      ),
      invalidStream('system.things'),
    ],
  }),
  own('change-stream', 'with no read concern but majority', {
    steps: ['local', 'available', 'linearizable'].map((level) =>
      fails(streamAt(level), 72, 'InvalidOptions'),
    ),
  }),
  own('aggregate-stage', '$collStats gives what it is asked for', {
    docs: [{ _id: 1 }],
    steps: [
      pipeline([{ $collStats: {} }, { $project: { ns: 1, count: 1 } }], [{ ns: 'golden.c' }]),
      pipeline(
        [{ $collStats: { count: {} } }, { $project: { ns: 1, count: 1 } }],
        [{ ns: 'golden.c', count: 1 }],
      ),
      fails(collStats({ nosuch: {} }), 40168),
      fails(collStats({ count: 1 }), 40480),
      fails(collStats({ storageStats: {} }), 238, 'NotImplemented'),
      fails(collStats({ latencyStats: {} }), 238, 'NotImplemented'),
      fails(collStats({ queryExecStats: {} }), 238, 'NotImplemented'),
    ],
  }),
];
