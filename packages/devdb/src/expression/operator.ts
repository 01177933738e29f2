import { DbError } from '../errors.js';
import { typeName } from '../values/type-names.js';
import { type Doc, isDoc, type Value } from '../values/value.js';
import type { Evaluated, Expression } from './expression.js';
import type { Scope } from './scope.js';

/** One row of the operator table: the operator's name and how its operand is compiled. */
export interface Operator {
  readonly name: string;
  readonly compile: (operand: Value, scope: Scope) => Expression;
}

/** The operands of an operator: the elements of an array, or the one thing that is not an array. */
export function operandsOf(operand: Value, scope: Scope): Expression[] {
  const list = Array.isArray(operand) ? operand : [operand];
  return list.map((item) => scope.compile(item));
}

/** An operator of exactly one operand. */
export function unary(name: string, apply: (value: Evaluated) => Evaluated): Operator {
  return {
    name,
    compile(operand, scope) {
      const [value] = exactly(name, 1, operandsOf(operand, scope)) as [Expression];
      const { evaluate } = value;
      return scope.computed([value], (root) => apply(evaluate(root)));
    },
  };
}

/** An operator of exactly two operands. */
export function binary(
  name: string,
  apply: (left: Evaluated, right: Evaluated) => Evaluated,
): Operator {
  return {
    name,
    compile(operand, scope) {
      const operands = exactly(name, 2, operandsOf(operand, scope)) as [Expression, Expression];
      const [{ evaluate: left }, { evaluate: right }] = operands;
      return scope.computed(operands, (root) => apply(left(root), right(root)));
    },
  };
}

/** An operator of `least` to `most` operands; absent ones are not in the list it gets. */
export function ranged(
  name: string,
  least: number,
  most: number,
  apply: (values: Evaluated[]) => Evaluated,
): Operator {
  return {
    name,
    compile(operand, scope) {
      const operands = operandsOf(operand, scope);
      if (operands.length < least || operands.length > most) {
        throw new DbError(
          28667,
          `Expression ${name} takes at least ${least} arguments, and at most ${most}, ` +
            `but ${operands.length} were passed in.`,
        );
      }
      return scope.computed(operands, evaluateAll(operands, apply));
    },
  };
}

/** An operator of any number of operands. */
export function variadic(name: string, apply: (values: Evaluated[]) => Evaluated): Operator {
  return {
    name,
    compile(operand, scope) {
      const operands = operandsOf(operand, scope);
      return scope.computed(operands, evaluateAll(operands, apply));
    },
  };
}

/** An operator that evaluates its operands itself, one by one, and may stop before the last. */
export function lazy(
  name: string,
  apply: (operands: readonly Expression[], root: Doc) => Evaluated,
): Operator {
  return {
    name,
    compile(operand, scope) {
      const operands = operandsOf(operand, scope);
      return scope.computed(operands, (root) => apply(operands, root));
    },
  };
}

function evaluateAll(
  operands: readonly Expression[],
  apply: (values: Evaluated[]) => Evaluated,
): (root: Doc) => Evaluated {
  return (root) => {
    const values: Evaluated[] = new Array(operands.length);
    for (let i = 0; i < operands.length; i++) values[i] = operands[i]!.evaluate(root);
    return apply(values);
  };
}

/** Refuses another number of operands than `count` (16020). */
export function exactly(name: string, count: number, operands: Expression[]): Expression[] {
  if (operands.length === count) return operands;
  throw new DbError(
    16020,
    `Expression ${name} takes exactly ${count} arguments. ${operands.length} were passed in.`,
  );
}

/** The error codes of an operator that takes named parameters. */
export interface ParameterCodes {
  readonly notObject: number;
  readonly unknown: number;
}

/** How an operator with named parameters says that its operand is no document, and so on. */
export function readParameters<Name extends string>(
  name: string,
  operand: Value,
  known: readonly Name[],
  codes: ParameterCodes,
): Partial<Record<Name, Value>> {
  if (!isDoc(operand)) {
    throw new DbError(
      codes.notObject,
      `${name} only supports an object as its argument, found: ${typeName(operand)}`,
    );
  }
  const found: Partial<Record<Name, Value>> = {};
  for (const [key, value] of operand) {
    if (!(known as readonly string[]).includes(key)) {
      throw new DbError(codes.unknown, `Unrecognized parameter to ${name}: ${key}`);
    }
    found[key as Name] = value;
  }
  return found;
}

/** A parameter that must be there; `in` is used because a parameter may be BSON undefined. */
export function required<Name extends string>(
  name: string,
  parameters: Partial<Record<Name, Value>>,
  key: Name,
  code: number,
): Value {
  if (key in parameters) return parameters[key] as Value;
  throw new DbError(code, `Missing '${key}' parameter to ${name}`);
}
