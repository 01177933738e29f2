import { DbError } from '../../errors.js';
import { typeName } from '../../values/type-names.js';
import { isDoc, type Value } from '../../values/value.js';
import { type Expression, isNullish, orNull } from '../expression.js';
import type { Operator } from '../operator.js';
import type { Scope } from '../scope.js';

/** `$zip`: the first elements of some arrays, then the second ones, and so on. */
export const ZIP: readonly Operator[] = [{ name: '$zip', compile: compileZip }];

interface ZipOptions {
  inputs: Value[];
  defaults: Value[];
  longest: boolean;
}

function compileZip(operand: Value, scope: Scope): Expression {
  const { inputs, defaults, longest } = readOptions(operand);
  const lists = inputs.map((input) => scope.compile(input));
  const fillers = defaults.map((filler) => scope.compile(filler));
  return scope.computed([...lists, ...fillers], (root) => {
    const arrays: Value[][] = [];
    for (const list of lists) {
      const value = list.evaluate(root);
      if (isNullish(value)) return null;
      if (!Array.isArray(value)) {
        throw new DbError(34468, `$zip found a non-array expression in input: ${typeName(value)}`);
      }
      arrays.push(value);
    }
    const fill = fillers.map((filler) => orNull(filler.evaluate(root)));
    const lengths = arrays.map((array) => array.length);
    const length = longest ? Math.max(...lengths) : Math.min(...lengths);
    return Array.from({ length }, (_, row) =>
      arrays.map((array, column) =>
        row < array.length ? (array[row] as Value) : fillerAt(fill, column),
      ),
    );
  });
}

function fillerAt(fill: readonly Value[], column: number): Value {
  return column < fill.length ? (fill[column] as Value) : null;
}

function readOptions(operand: Value): ZipOptions {
  if (!isDoc(operand)) {
    throw new DbError(
      34460,
      `$zip only supports an object as an argument, found ${typeName(operand)}`,
    );
  }
  const options: ZipOptions = { inputs: [], defaults: [], longest: false };
  for (const [key, value] of operand) {
    if (key === 'inputs') {
      if (!Array.isArray(value)) {
        throw new DbError(
          34461,
          `inputs must be an array of expressions, found ${typeName(value)}`,
        );
      }
      options.inputs = value;
    } else if (key === 'defaults') {
      if (!Array.isArray(value)) {
        throw new DbError(
          34462,
          `defaults must be an array of expressions, found ${typeName(value)}`,
        );
      }
      options.defaults = value;
    } else if (key === 'useLongestLength') {
      if (typeof value !== 'boolean') {
        throw new DbError(34463, `useLongestLength must be a bool, found ${typeName(value)}`);
      }
      options.longest = value;
    } else throw new DbError(34464, `$zip found an unknown argument: ${key}`);
  }
  if (options.inputs.length === 0) {
    throw new DbError(34465, '$zip requires at least one input array');
  }
  if (options.defaults.length > 0 && !options.longest) {
    throw new DbError(34466, 'cannot specify defaults unless useLongestLength is true');
  }
  if (options.defaults.length > 0 && options.defaults.length !== options.inputs.length) {
    throw new DbError(34467, 'defaults and inputs must have the same length');
  }
  return options;
}
