import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareValues } from '../values/order.js';
import { type Doc, int32, type Value } from '../values/value.js';
import { compileFilter } from './compile-filter.js';

const env = { now: new Date(0) };
const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.integer({ min: -2, max: 2 }).map(int32),
  fc.constantFrom<Value>('', 'a', null, true, 1.5, Number.NaN, undefined),
);
const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', '0'), tie('value')), { maxLength: 2 })
      .map((entries): Doc => new Map(entries)),
  ),
}));
const document = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'c'), value), { maxLength: 3 })
  .map((entries): Doc => new Map(entries));
const path = fc.constantFrom('a', 'b', 'a.b', 'a.0', 'a.b.a', 'a.0.b', 'b.a');
const operand = value.filter((each) => each !== undefined);
const condition = (operator: string, each: Value): Doc => new Map([[operator, each]]);

function matches(filter: Doc, target: Doc): boolean {
  return compileFilter(filter, env).matches(target);
}

describe('a filter', () => {
  it('and its negation never both hold, and one always does', () => {
    const operator = fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte', '$ne');
    fc.assert(
      fc.property(document, path, operator, operand, (target, field, name, each) => {
        const plain: Doc = new Map([[field, condition(name, each)]]);
        const negated: Doc = new Map([[field, condition('$not', condition(name, each))]]);
        expect(matches(plain, target)).toBe(!matches(negated, target));
        expect(matches(new Map([['$nor', [plain]]]), target)).toBe(matches(negated, target));
      }),
    );
  });

  it('$in finds what one of its members finds', () => {
    fc.assert(
      fc.property(document, path, fc.array(operand, { maxLength: 10 }), (target, field, list) => {
        const any = list.some((each) =>
          matches(new Map([[field, condition('$eq', each)]]), target),
        );
        expect(matches(new Map([[field, condition('$in', list)]]), target)).toBe(any);
      }),
    );
  });

  it('$gte finds what $gt or $eq finds', () => {
    fc.assert(
      fc.property(document, path, operand, (target, field, each) => {
        const holds = (name: string) => matches(new Map([[field, condition(name, each)]]), target);
        expect(holds('$gte')).toBe(holds('$gt') || holds('$eq'));
        expect(holds('$lte')).toBe(holds('$lt') || holds('$eq'));
      }),
    );
  });

  it('finds a document by each of its top-level values', () => {
    fc.assert(
      fc.property(document, (target) => {
        for (const [field, each] of target) {
          if (each === undefined) continue;
          expect(matches(new Map([[field, condition('$eq', each)]]), target)).toBe(true);
        }
      }),
    );
  });

  it('gives a position that leads to what was asked for', () => {
    fc.assert(
      fc.property(fc.array(scalar, { minLength: 1, maxLength: 4 }), scalar, (list, each) => {
        if (each === undefined) return;
        const target: Doc = new Map([['a', list]]);
        const position = compileFilter(
          new Map([['a', condition('$eq', each)]]),
          env,
        ).matchWithPosition(target);
        const index = position?.index;
        // Null also finds undefined, which is not equal to it in the order.
        if (index !== undefined && each !== null) expect(compareValues(list[index], each)).toBe(0);
        if (position && index === undefined) expect(list).not.toContain(each);
      }),
    );
  });
});
