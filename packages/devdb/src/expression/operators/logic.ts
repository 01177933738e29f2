import { DbError } from '../../errors.js';
import { isDoc, isTruthy, type Value } from '../../values/value.js';
import { type Expression, isNullish, literal } from '../expression.js';
import {
  exactly,
  lazy,
  type Operator,
  operandsOf,
  readParameters,
  required,
  unary,
} from '../operator.js';
import type { Scope } from '../scope.js';

/** Truth and choice: `$and`, `$or`, `$not`, `$cond`, `$ifNull`, `$switch`, `$literal`. */
export const LOGIC: readonly Operator[] = [
  lazy('$and', (operands, root) => operands.every((operand) => isTruthy(operand.evaluate(root)))),
  lazy('$or', (operands, root) => operands.some((operand) => isTruthy(operand.evaluate(root)))),
  unary('$not', (value) => !isTruthy(value)),
  { name: '$cond', compile: compileCond },
  { name: '$ifNull', compile: compileIfNull },
  { name: '$switch', compile: compileSwitch },
  { name: '$literal', compile: (operand) => literal(operand) },
  { name: '$const', compile: (operand) => literal(operand) },
  { name: '$meta', compile: refuseMeta },
];

/** What `$meta` asks for (text scores and the like) exists only with text and geo indexes. */
function refuseMeta(operand: Value): never {
  if (typeof operand !== 'string') {
    throw new DbError(17307, '$meta only supports string arguments');
  }
  throw new DbError(17308, `Unsupported argument to $meta: ${operand}`);
}

function compileCond(operand: Value, scope: Scope): Expression {
  const operands = isDoc(operand)
    ? condParameters(operand, scope)
    : exactly('$cond', 3, operandsOf(operand, scope));
  const [test, then, otherwise] = operands as [Expression, Expression, Expression];
  return scope.computed(operands, (root) =>
    isTruthy(test.evaluate(root)) ? then.evaluate(root) : otherwise.evaluate(root),
  );
}

function condParameters(operand: Value, scope: Scope): Expression[] {
  const codes = { notObject: 17081, unknown: 17083 };
  const found = readParameters('$cond', operand, ['if', 'then', 'else'], codes);
  return [
    scope.compile(required('$cond', found, 'if', 17080)),
    scope.compile(required('$cond', found, 'then', 17081)),
    scope.compile(required('$cond', found, 'else', 17082)),
  ];
}

function compileIfNull(operand: Value, scope: Scope): Expression {
  const operands = exactly('$ifNull', 2, operandsOf(operand, scope));
  const [first, second] = operands as [Expression, Expression];
  return scope.computed(operands, (root) => {
    const value = first.evaluate(root);
    return isNullish(value) ? second.evaluate(root) : value;
  });
}

function compileSwitch(operand: Value, scope: Scope): Expression {
  if (!isDoc(operand)) {
    throw new DbError(40060, '$switch requires an object as an argument, e.g. {branches: [...]}');
  }
  const branches: [Expression, Expression][] = [];
  let otherwise: Expression | undefined;
  for (const [key, value] of operand) {
    if (key === 'branches') {
      if (!Array.isArray(value)) {
        throw new DbError(40061, "$switch expected an array for 'branches'");
      }
      for (const branch of value) branches.push(compileBranch(branch, scope));
    } else if (key === 'default') otherwise = scope.compile(value);
    else throw new DbError(40067, `$switch found an unknown argument: ${key}`);
  }
  if (branches.length === 0) throw new DbError(40068, '$switch requires at least one branch.');
  return {
    constant: false,
    evaluate(root) {
      for (const [test, then] of branches) {
        if (isTruthy(test.evaluate(root))) return then.evaluate(root);
      }
      if (otherwise) return otherwise.evaluate(root);
      throw new DbError(
        40066,
        '$switch could not find a matching branch for an input, and no default was specified.',
      );
    },
  };
}

function compileBranch(branch: Value, scope: Scope): [Expression, Expression] {
  if (!isDoc(branch)) throw new DbError(40062, '$switch requires each branch to be an object');
  for (const key of branch.keys()) {
    if (key !== 'case' && key !== 'then') {
      throw new DbError(40063, `$switch found an unknown argument to a branch: ${key}`);
    }
  }
  if (!branch.has('case')) {
    throw new DbError(40064, "$switch requires each branch have a 'case' expression");
  }
  if (!branch.has('then')) {
    throw new DbError(40065, "$switch requires each branch have a 'then' expression.");
  }
  return [scope.compile(branch.get('case')), scope.compile(branch.get('then'))];
}
