import { DbError } from '../../errors.js';
import { typeName } from '../../values/type-names.js';
import { isDoc, isTruthy, MISSING, type Value } from '../../values/value.js';
import { type Evaluated, type Expression, isNullish, orNull } from '../expression.js';
import { checkVariableName } from '../field-path.js';
import { type Operator, readParameters, required } from '../operator.js';
import type { Scope } from '../scope.js';

/** Operators that bind variables: `$let`, `$map`, `$filter`, `$reduce`. */
export const ITERATION: readonly Operator[] = [
  { name: '$let', compile: compileLet },
  { name: '$map', compile: compileMap },
  { name: '$filter', compile: compileFilter },
  { name: '$reduce', compile: compileReduce },
];

function compileLet(operand: Value, scope: Scope): Expression {
  const codes = { notObject: 16874, unknown: 16875 };
  const found = readParameters('$let', operand, ['vars', 'in'], codes);
  const vars = required('$let', found, 'vars', 16876);
  const body = required('$let', found, 'in', 16877);
  if (!isDoc(vars)) throw new DbError(10065, 'invalid parameter: expected an object (vars)');
  // Each variable is computed outside of the new scope: `vars` cannot refer to one another.
  let inner = scope;
  const bindings = [...vars].map(([name, value]) => {
    checkVariableName(name);
    const declared = inner.declare(name);
    inner = declared.scope;
    return { expression: scope.compile(value), slot: declared.slot };
  });
  const { evaluate } = inner.compile(body);
  return {
    constant: false,
    evaluate(root) {
      const values = bindings.map(({ expression }) => expression.evaluate(root));
      for (let i = 0; i < bindings.length; i++) bindings[i]!.slot.set(values[i]!);
      return evaluate(root);
    },
  };
}

/** The name that `as` gives to the element, `this` by default. */
function elementName(as: Value): string {
  // MongoDB reads whatever is no text as the empty name, and refuses that.
  const name = typeof as === 'string' ? as : '';
  checkVariableName(name);
  return name;
}

function compileMap(operand: Value, scope: Scope): Expression {
  const codes = { notObject: 16878, unknown: 16879 };
  const found = readParameters('$map', operand, ['input', 'as', 'in'], codes);
  const input = scope.compile(required('$map', found, 'input', 16880));
  const { scope: inner, slot } = scope.declare('as' in found ? elementName(found.as) : 'this');
  const { evaluate } = inner.compile(required('$map', found, 'in', 16882));
  return {
    constant: false,
    evaluate(root) {
      const list = input.evaluate(root);
      if (isNullish(list)) return null;
      if (!Array.isArray(list)) throw notArray(16883, '$map', list);
      const mapped: Value[] = new Array(list.length);
      for (let i = 0; i < list.length; i++) {
        slot.set(list[i] as Value);
        mapped[i] = orNull(evaluate(root));
      }
      return mapped;
    },
  };
}

function compileFilter(operand: Value, scope: Scope): Expression {
  const codes = { notObject: 28646, unknown: 28647 };
  const found = readParameters('$filter', operand, ['input', 'as', 'cond'], codes);
  const input = scope.compile(required('$filter', found, 'input', 28648));
  const condition = required('$filter', found, 'cond', 28650);
  const { scope: inner, slot } = scope.declare('as' in found ? elementName(found.as) : 'this');
  const { evaluate } = inner.compile(condition);
  return {
    constant: false,
    evaluate(root) {
      const list = input.evaluate(root);
      if (isNullish(list)) return null;
      if (!Array.isArray(list)) throw notArray(28651, '$filter', list);
      return list.filter((element) => {
        slot.set(element);
        return isTruthy(evaluate(root));
      });
    },
  };
}

function compileReduce(operand: Value, scope: Scope): Expression {
  const codes = { notObject: 40075, unknown: 40076 };
  const found = readParameters('$reduce', operand, ['input', 'initialValue', 'in'], codes);
  const input = scope.compile(required('$reduce', found, 'input', 40077));
  const initial = scope.compile(required('$reduce', found, 'initialValue', 40078));
  const element = scope.declare('this');
  const total = element.scope.declare('value');
  const { evaluate } = total.scope.compile(required('$reduce', found, 'in', 40079));
  return {
    constant: false,
    evaluate(root) {
      const list = input.evaluate(root);
      if (isNullish(list)) return null;
      if (!Array.isArray(list)) {
        throw new DbError(
          40080,
          `$reduce requires that 'input' be an array, found: ${typeName(list)}`,
        );
      }
      let result: Evaluated = initial.evaluate(root);
      for (const item of list) {
        // A nested `$reduce` in the body has slots of its own, so these survive it.
        element.slot.set(item);
        total.slot.set(result);
        result = evaluate(root);
      }
      return result;
    },
  };
}

function notArray(code: number, name: string, value: Exclude<Evaluated, typeof MISSING>): DbError {
  return new DbError(code, `input to ${name} must be an array not ${typeName(value)}`);
}
