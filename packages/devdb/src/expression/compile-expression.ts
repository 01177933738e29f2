import { DbError } from '../errors.js';
import { type Doc, isDoc, MISSING, type Value } from '../values/value.js';
import { type Expression, literal, orNull } from './expression.js';
import { checkFieldName, compileFieldPath } from './field-path.js';
import { OPERATORS } from './operator-table.js';
import { type ExpressionEnv, Scope } from './scope.js';

/** The scope in which all expressions of one command are compiled. */
export function commandScope(env: ExpressionEnv): Scope {
  return Scope.of(env, compileIn);
}

/**
 * Compiles an expression for use on its own, as in `$expr`: constants are computed at once, so that
 * a constant fault is thrown here. Throws a DbError with MongoDB's code for whatever it does not
 * know; nothing is guessed.
 */
export function compileExpression(value: Value, env: ExpressionEnv): Expression {
  const scope = env.scope ?? commandScope(env);
  const expression = scope.compile(value);
  scope.foldConstants();
  return expression;
}

function compileIn(value: Value, scope: Scope): Expression {
  if (typeof value === 'string') {
    return value.startsWith('$') ? compileFieldPath(value, scope) : literal(value);
  }
  if (Array.isArray(value)) return compileArray(value, scope);
  if (isDoc(value)) return compileDocument(value, scope);
  return literal(value);
}

function compileArray(value: readonly Value[], scope: Scope): Expression {
  const elements = value.map((element) => scope.compile(element));
  return scope.computed(elements, (root) =>
    elements.map((element) => orNull(element.evaluate(root))),
  );
}

function compileDocument(value: Doc, scope: Scope): Expression {
  const first = value.keys().next();
  if (first.done || !first.value.startsWith('$')) return compileObject(value, scope);
  if (value.size !== 1) {
    throw new DbError(
      15983,
      `An object representing an expression must have exactly one field, found ${value.size}: ` +
        [...value.keys()].join(', '),
    );
  }
  const operator = OPERATORS.get(first.value);
  if (!operator) throw new DbError(168, `Unrecognized expression '${first.value}'`);
  return operator.compile(value.get(first.value), scope);
}

/** `{a: <expression>, b: <expression>}`; a field whose expression gives nothing is left out. */
function compileObject(value: Doc, scope: Scope): Expression {
  const fields = [...value].map(([key, operand]) => {
    checkFieldName(key);
    return [key, scope.compile(operand)] as const;
  });
  const expressions = fields.map(([, expression]) => expression);
  return scope.computed(expressions, (root) => {
    const result: Doc = new Map();
    for (const [key, expression] of fields) {
      const field = expression.evaluate(root);
      if (field !== MISSING) result.set(key, field);
    }
    return result;
  });
}
