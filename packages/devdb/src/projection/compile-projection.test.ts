import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { formatDocument } from '../values/format.js';
import { fromPlainDoc, type Plain } from '../values/from-plain.js';
import { compileProjection } from './compile-projection.js';

type PlainDoc = { readonly [key: string]: Plain };

const env = { now: new Date(0) };
const document = fromPlainDoc({
  _id: 1,
  a: 1,
  b: { c: 1, d: 2 },
  list: [1, 2, 3, 4],
  docs: [{ x: 1, y: 1 }, { x: 2, y: 2 }, 3, [{ x: 4, y: 4 }]],
});

const projected = (projection: PlainDoc, filter: PlainDoc = {}) =>
  formatDocument(compileProjection(fromPlainDoc(projection), fromPlainDoc(filter), env)(document));

describe('a projection', () => {
  it.each([
    ['nothing said', {}, formatDocument(document)],
    [
      'inclusion, in the order of the document',
      { b: 1, a: true },
      '{ _id: 1, a: 1, b: { c: 1, d: 2 } }',
    ],
    ['without the _id', { a: 1, _id: 0 }, '{ a: 1 }'],
    ['exclusion', { b: 0, docs: 0, list: false }, '{ _id: 1, a: 1 }'],
    ['only the _id', { _id: 1 }, '{ _id: 1 }'],
    ['all but the _id', { _id: 0, b: 0, docs: 0, list: 0 }, '{ a: 1 }'],
    ['a path', { 'b.d': 1 }, '{ _id: 1, b: { d: 2 } }'],
    [
      'a path into arrays',
      { 'docs.x': 1 },
      '{ _id: 1, docs: [ { x: 1 }, { x: 2 }, [ { x: 4 } ] ] }',
    ],
    [
      'a path excluded in arrays',
      { 'docs.x': 0, list: 0, b: 0 },
      '{ _id: 1, a: 1, docs: [ { y: 1 }, { y: 2 }, 3, [ { y: 4 } ] ] }',
    ],
    ['a path below a scalar', { 'a.x': 1 }, '{ _id: 1 }'],
    ['$slice of the first', { list: { $slice: 2 }, a: 1 }, '{ _id: 1, a: 1, list: [ 1, 2 ] }'],
    ['$slice of the last', { list: { $slice: -1 }, a: 1 }, '{ _id: 1, a: 1, list: [ 4 ] }'],
    ['$slice from a place', { list: { $slice: [1, 2] }, a: 1 }, '{ _id: 1, a: 1, list: [ 2, 3 ] }'],
    [
      '$slice alone keeps the rest',
      { list: { $slice: 0 }, docs: 0, b: 0 },
      '{ _id: 1, a: 1, list: [] }',
    ],
    ['$elemMatch', { docs: { $elemMatch: { x: 2 } } }, '{ _id: 1, docs: [ { x: 2, y: 2 } ] }'],
    ['$elemMatch without a match', { list: { $elemMatch: { $gt: 9 } } }, '{ _id: 1 }'],
  ] as [string, PlainDoc, string][])('%s', (_, projection, expected) => {
    expect(projected(projection)).toBe(expected);
  });

  it('shows the element that the filter found', () => {
    expect(projected({ 'list.$': 1 }, { list: { $gte: 2 } })).toBe('{ _id: 1, list: [ 2 ] }');
    expect(projected({ 'docs.$': 1 }, { 'docs.x': 2 })).toBe(
      '{ _id: 1, docs: [ { x: 2, y: 2 } ] }',
    );
  });

  it.each([
    ['a mix', { a: 1, b: 0 }],
    ['an expression', { a: { $add: [1, 2] } }],
    ['a document', { a: { b: 1 } }],
    ['an empty operator', { a: {} }],
    ['$slice of text', { list: { $slice: 'x' } }],
    ['$slice of nothing', { list: { $slice: [1, 0] } }],
    ['$slice of one number', { list: { $slice: [1] } }],
    ['$elemMatch of a value', { list: { $elemMatch: 1 } }],
    ['$elemMatch on a path', { 'b.c': { $elemMatch: { x: 1 } } }],
    ['a positional field that the filter does not name', { 'list.$': 1 }],
    ['an excluded positional field', { 'list.$': 0 }],
  ] as [string, PlainDoc][])('refuses %s', (_, projection) => {
    expect(() => projected(projection)).toThrow(DbError);
  });

  it('refuses a positional field where the filter found no element', () => {
    expect(() => projected({ 'list.$': 1 }, { list: { $size: 4 } })).toThrow(DbError);
  });
});
