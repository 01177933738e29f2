import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DbError } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import { encodeDocument } from '../values/encode.js';
import { identicalDocs } from '../values/identical.js';
import { type Doc, int32, type Value } from '../values/value.js';
import { compileUpdate } from './compile-update.js';

const now = new Date(0);
const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.integer({ min: -2, max: 2 }).map(int32),
  fc.constantFrom<Value>('a', null, true, 1.5),
);
const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', '0'), tie('value')), { maxLength: 2 })
      .map((entries): Doc => new Map(entries)),
  ),
}));
const document = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'c'), value), { maxLength: 3 })
  .map((entries): Doc => new Map([['_id', int32(1)], ...entries]));
const path = fc.constantFrom('a', 'b', 'a.b', 'a.0', 'a.$[]', 'b.a.0', 'new', 'new.x');
const operator = fc.constantFrom(
  '$set',
  '$unset',
  '$min',
  '$max',
  '$inc',
  '$mul',
  '$push',
  '$addToSet',
  '$pull',
  '$pullAll',
  '$pop',
  '$rename',
);
const change = (name: string, field: string, operand: Value): Doc =>
  new Map([[name, new Map([[field, operand]])]]);

/** The document after an update, or the code of the error. */
function apply(update: Doc, target: Doc): Doc | number {
  try {
    const compiled = compileUpdate(update, { now });
    const { doc, modified } = compiled.apply(target, { position: null, isInsert: false });
    expect(modified || doc === target).toBe(true);
    return doc;
  } catch (error) {
    if (error instanceof DbError) return error.code;
    throw error;
  }
}

describe('an update', () => {
  it('never changes the document that it is given, and ends in a document or a DbError', () => {
    fc.assert(
      fc.property(document, operator, path, value, (target, name, field, operand) => {
        const bytes = encodeDocument(target);
        const result = apply(change(name, field, operand), target);
        expect(encodeDocument(target)).toEqual(bytes);
        if (typeof result !== 'number') expect(result.get('_id')).toEqual(int32(1));
      }),
      { numRuns: 1000 },
    );
  });

  it('done twice is done once, for the operators that say so', () => {
    const idempotent = fc.constantFrom('$set', '$unset', '$min', '$max', '$addToSet', '$pull');
    fc.assert(
      fc.property(document, idempotent, path, value, (target, name, field, operand) => {
        const update = change(name, field, operand);
        const once = apply(update, target);
        if (typeof once === 'number') return;
        const twice = apply(update, once);
        expect(typeof twice !== 'number' && identicalDocs(once, twice)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('by $set makes its filter true, and by $unset makes the field absent', () => {
    const plain = fc.constantFrom('a', 'b', 'a.b', 'new', 'new.x');
    fc.assert(
      fc.property(document, plain, value, (target, field, operand) => {
        const holds = (filter: Doc, found: Doc) => compileFilter(filter, { now }).matches(found);
        const set = apply(change('$set', field, operand), target);
        if (typeof set !== 'number') {
          expect(holds(new Map([[field, new Map([['$eq', operand]])]]), set)).toBe(true);
        }
        if (field.includes('.')) return;
        const unset = apply(change('$unset', field, ''), target);
        expect((unset as Doc).has(field)).toBe(false);
      }),
    );
  });
});
