import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { formatDocument } from '../values/format.js';
import { fromPlainDoc, type Plain } from '../values/from-plain.js';
import { BSONRegExp } from '../values/value.js';
import { compileUpdate } from './compile-update.js';
import { seedUpsert } from './seed-upsert.js';

type PlainDoc = { readonly [key: string]: Plain };

const now = new Date(0);
const operators = compileUpdate(fromPlainDoc({ $set: { z: 1 } }), { now });
const replacement = compileUpdate(fromPlainDoc({ z: 1 }), { now });

const seeded = (filter: PlainDoc, update = operators) =>
  formatDocument(seedUpsert(fromPlainDoc(filter), update));

describe('seedUpsert', () => {
  it.each([
    ['equalities, by name', { b: 1, a: 'x' }, '{ a: "x", b: 1 }'],
    ['$eq', { a: { $eq: 1, $lt: 5 } }, '{ a: 1 }'],
    ['$in with one member', { a: { $in: [1] } }, '{ a: 1 }'],
    ['not $in with two', { a: { $in: [1, 2] } }, '{}'],
    ['$all with one member', { a: { $all: [1] } }, '{ a: 1 }'],
    ['$and', { $and: [{ a: 1 }, { $and: [{ b: 2 }] }] }, '{ a: 1, b: 2 }'],
    ['$or with one member', { $or: [{ a: 1 }] }, '{ a: 1 }'],
    ['not $or with two, not $nor', { $or: [{ a: 1 }, { a: 2 }], $nor: [{ b: 1 }] }, '{}'],
    ['no comparison and no pattern', { a: { $gt: 1 }, b: new BSONRegExp('x', '') }, '{}'],
    ['paths', { 'a.b': 1, 'a.c.d': 2 }, '{ a: { b: 1, c: { d: 2 } } }'],
    ['numbers as names', { 'a.0': 1 }, '{ a: { 0: 1 } }'],
    ['an _id made of paths', { '_id.x': 1, '_id.y': 2 }, '{ _id: { x: 1, y: 2 } }'],
    ['documents and null', { a: { b: 1 }, c: null }, '{ a: { b: 1 }, c: null }'],
  ] as [string, PlainDoc, string][])('takes %s', (_, filter, expected) => {
    expect(seeded(filter)).toBe(expected);
  });

  it('takes only the _id for a replacement', () => {
    expect(seeded({ _id: 5, a: 1 }, replacement)).toBe('{ _id: 5 }');
  });

  it.each([
    ['a path twice', { $and: [{ a: 1 }, { a: 1 }] }, 54],
    ['a path inside another', { a: 1, 'a.b': 1 }, 54],
    ['two members of $all', { a: { $all: [1, 2] } }, 54],
    ['a dollar name', { 'a.$b': 1 }, 52],
  ] as [string, PlainDoc, number][])('refuses %s', (_, filter, code) => {
    let thrown: unknown;
    try {
      seeded(filter);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(DbError);
    expect((thrown as DbError).code).toBe(code);
  });

  it('gives $setOnInsert a document to work on', () => {
    const update = compileUpdate(fromPlainDoc({ $setOnInsert: { b: 2 }, $inc: { n: 1 } }), { now });
    const seed = seedUpsert(fromPlainDoc({ a: 1 }), update);
    const { doc } = update.apply(seed, { position: null, isInsert: true });
    expect(formatDocument(doc)).toBe('{ a: 1, b: 2, n: 1 }');
  });
});
