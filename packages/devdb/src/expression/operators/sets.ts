import { DbError } from '../../errors.js';
import { encodeKeyPart } from '../../values/index-key.js';
import { typeName } from '../../values/type-names.js';
import { isTruthy, type Value } from '../../values/value.js';
import { type Evaluated, type Expression, isNullish } from '../expression.js';
import { binary, lazy, type Operator, unary, variadic } from '../operator.js';
import type { Scope } from '../scope.js';

/** Operators that take arrays as sets: 1, 1L and 1.0 are one element; the first one met is kept. */
export const SETS: readonly Operator[] = [
  lazy('$setUnion', (operands, root) => {
    const union = new ValueSet();
    for (const operand of operands) {
      const list = operand.evaluate(root);
      if (isNullish(list)) return null;
      union.addAll(arrayOf(list, 17043, '$setUnion'));
    }
    return union.values();
  }),
  lazy('$setIntersection', (operands, root) => {
    let common: ValueSet | undefined;
    for (const operand of operands) {
      const list = operand.evaluate(root);
      if (isNullish(list)) return null;
      const next = ValueSet.of(arrayOf(list, 17047, '$setIntersection'));
      common = common ? common.only(next) : next;
    }
    return common?.values() ?? [];
  }),
  binary('$setDifference', setDifference),
  { name: '$setEquals', compile: compileSetEquals },
  binary('$setIsSubset', setIsSubset),
  unary('$anyElementTrue', (list) => elements(list, 17041, '$anyElementTrue').some(isTruthy)),
  unary('$allElementsTrue', (list) => elements(list, 17040, '$allElementsTrue').every(isTruthy)),
];

/** A set of values by MongoDB's equality, in the order in which they came. */
export class ValueSet {
  private readonly byKey = new Map<string, Value>();

  static of(values: Iterable<Value>): ValueSet {
    const set = new ValueSet();
    set.addAll(values);
    return set;
  }

  /** Adds a value; true if it was not there. */
  add(value: Value): boolean {
    const key = encodeKeyPart(value);
    if (this.byKey.has(key)) return false;
    this.byKey.set(key, value);
    return true;
  }

  addAll(values: Iterable<Value>): void {
    for (const value of values) this.add(value);
  }

  has(value: Value): boolean {
    return this.byKey.has(encodeKeyPart(value));
  }

  get size(): number {
    return this.byKey.size;
  }

  /** What is in both. */
  only(other: ValueSet): ValueSet {
    const common = new ValueSet();
    for (const [key, value] of this.byKey) if (other.byKey.has(key)) common.byKey.set(key, value);
    return common;
  }

  /** Whether everything here is there as well. */
  within(other: ValueSet): boolean {
    for (const key of this.byKey.keys()) if (!other.byKey.has(key)) return false;
    return true;
  }

  values(): Value[] {
    return [...this.byKey.values()];
  }
}

function arrayOf(value: Evaluated, code: number, name: string): readonly Value[] {
  if (Array.isArray(value)) return value;
  throw new DbError(
    code,
    `All operands of ${name} must be arrays. One argument is of type: ${typeName(value)}`,
  );
}

function setDifference(left: Evaluated, right: Evaluated): Evaluated {
  if (isNullish(left) || isNullish(right)) return null;
  const [from, minus] = bothArrays('$setDifference', left, right, 17048, 17049);
  // Text in short lists is the hot case: a job's ready parents minus the finished ones.
  const seen = ValueSet.of(minus);
  return from.filter((value) => seen.add(value));
}

function setIsSubset(left: Evaluated, right: Evaluated): Evaluated {
  const [part, whole] = bothArrays('$setIsSubset', left, right, 17046, 17042);
  return ValueSet.of(part).within(ValueSet.of(whole));
}

function bothArrays(
  name: string,
  left: Evaluated,
  right: Evaluated,
  leftCode: number,
  rightCode: number,
): [readonly Value[], readonly Value[]] {
  if (!Array.isArray(left)) throw operandError(name, 'First', left, leftCode);
  if (!Array.isArray(right)) throw operandError(name, 'Second', right, rightCode);
  return [left, right];
}

function operandError(name: string, which: string, value: Evaluated, code: number): DbError {
  return new DbError(
    code,
    `both operands of ${name} must be arrays. ${which} argument is of type: ${typeName(value)}`,
  );
}

const setEquals = variadic('$setEquals', (lists) => {
  const [first, ...others] = lists.map((list) =>
    ValueSet.of(arrayOf(list, 17044, '$setEquals')),
  ) as [ValueSet, ...ValueSet[]];
  return others.every((other) => other.size === first.size && first.within(other));
});

function compileSetEquals(operand: Value, scope: Scope): Expression {
  const count = Array.isArray(operand) ? operand.length : 1;
  if (count < 2) throw new DbError(17045, `$setEquals needs at least two arguments had: ${count}`);
  return setEquals.compile(operand, scope);
}

function elements(value: Evaluated, code: number, name: string): readonly Value[] {
  if (Array.isArray(value)) return value;
  throw new DbError(code, `${name}'s argument must be an array, but is ${typeName(value)}`);
}
