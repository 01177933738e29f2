import { badValue, DbError } from '../errors.js';
import { compileExpression } from '../expression/compile-expression.js';
import { type Doc, isDoc, isTruthy, type Value } from '../values/value.js';
import { isOperatorDocument } from './comparison.js';
import { atDottedPath, compileEquality, compileOperators } from './field-operators.js';
import type { FilterEnv } from './filter-env.js';
import { allOf, anyOf, type Conjunct, type FilterNode, notNode, Rank } from './filter-node.js';
import { compileJsonSchema } from './json-schema.js';
import type { MatchPosition } from './path.js';

/** A compiled filter. It holds no state: one may be used for any number of documents. */
export interface Matcher {
  /** Whether a document matches. */
  matches(document: Doc): boolean;
  /**
   * Whether a document matches, and at which index of an array, which is what the positional `$`
   * of updates and projections stands for; null where it does not match.
   */
  matchWithPosition(document: Doc): MatchPosition | null;
}

/**
 * Compiles a filter with MongoDB's semantics: type bracketing, null and missing, arrays, dotted
 * paths. Throws a DbError with MongoDB's code for an operator or an operand that it does not take.
 */
export function compileFilter(filter: Doc, env: FilterEnv): Matcher {
  const node = compileNode(filter, env);
  return {
    matches: (document) => node(document, null),
    matchWithPosition: (document) => {
      const position: MatchPosition = { index: undefined };
      return node(document, position) ? position : null;
    },
  };
}

/** Compiles a filter to a node, for use inside of other filters. */
function compileNode(filter: Doc, env: FilterEnv): FilterNode {
  return allOf(compileConjuncts(filter, env));
}

function compileConjuncts(filter: Doc, env: FilterEnv): Conjunct[] {
  return [...filter].flatMap(([key, operand]) =>
    key.startsWith('$') ? compileTopLevel(key, operand, env) : compileField(key, operand, env),
  );
}

/** Compiles what a filter says of one field. */
function compileField(path: string, operand: Value, env: FilterEnv): Conjunct[] {
  const conditions =
    isDoc(operand) && isOperatorDocument(operand)
      ? compileOperators(operand, { path, env, compileNested: compileNode })
      : [compileEquality(operand, path)];
  return atDottedPath(conditions, path);
}

function conjunct(rank: Rank, node: FilterNode): Conjunct[] {
  return [{ rank, node, path: '' }];
}

function compileTopLevel(operator: string, operand: Value, env: FilterEnv): Conjunct[] {
  switch (operator) {
    case '$and':
      return clausesOf(operator, operand).flatMap((clause) => compileConjuncts(clause, env));
    case '$or': {
      const clauses = clausesOf(operator, operand);
      // One alternative is none: the clause then counts as part of the conjunction.
      if (clauses.length === 1) return compileConjuncts(clauses[0]!, env);
      return conjunct(Rank.or, anyOf(clauses.map((clause) => compileNode(clause, env))));
    }
    case '$nor': {
      const clauses = clausesOf(operator, operand).map((clause) => compileNode(clause, env));
      return conjunct(Rank.nor, notNode(anyOf(clauses)));
    }
    case '$expr':
      return conjunct(Rank.expression, compileExpr(operand, env));
    case '$jsonSchema':
      if (!isDoc(operand)) throw new DbError(14, '$jsonSchema must be an object');
      return conjunct(Rank.always, compileJsonSchema(operand));
    case '$comment':
    case '$alwaysTrue':
      return [];
    case '$alwaysFalse':
      return conjunct(Rank.always, () => false);
    case '$where':
      throw badValue('no globalScriptEngine in $where parsing');
    case '$text':
      throw new DbError(27, 'text index required for $text query');
    case '$ref':
    case '$id':
    case '$db':
      return compileField(operator, operand, env);
    default:
      throw badValue(`unknown top level operator: ${operator}`);
  }
}

function clausesOf(operator: string, operand: Value): Doc[] {
  if (!Array.isArray(operand)) throw badValue(`${operator} must be an array`);
  if (operand.length === 0) throw badValue('$and/$or/$nor must be a nonempty array');
  return operand.map((clause) => {
    if (!isDoc(clause)) throw badValue('$or/$and/$nor entries need to be full objects');
    return clause;
  });
}

function compileExpr(operand: Value, env: FilterEnv): FilterNode {
  if (env.exprRefusedIn !== undefined) {
    throw new DbError(224, `$expr is not allowed in ${env.exprRefusedIn}`);
  }
  const { evaluate } = compileExpression(operand, env);
  return (container) => container instanceof Map && isTruthy(evaluate(container));
}
