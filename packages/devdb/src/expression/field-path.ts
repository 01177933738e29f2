import { DbError } from '../errors.js';
import { type Doc, isDoc, MISSING } from '../values/value.js';
import type { Evaluated, Expression } from './expression.js';
import type { Scope } from './scope.js';

/** Paths that were split before: a job store asks for the same ones in every command. */
const known = new Map<string, readonly string[]>();
const MOST_KNOWN = 2_000;
const LONGEST_KNOWN = 200;

/** Splits a dotted path; throws where a part is empty, starts with `$` or holds a null byte. */
export function splitFieldPath(path: string): readonly string[] {
  const split = known.get(path);
  if (split) return split;
  const parts = splitAnew(path);
  if (known.size >= MOST_KNOWN) known.clear();
  if (path.length <= LONGEST_KNOWN) known.set(path, parts);
  return parts;
}

function splitAnew(path: string): readonly string[] {
  if (path === '') throw new DbError(40352, 'FieldPath cannot be constructed with empty string');
  if (path.endsWith('.')) throw new DbError(40353, "FieldPath must not end with a '.'.");
  const parts = path.split('.');
  for (const part of parts) checkFieldName(part);
  return parts;
}

/** Refuses a name that cannot be one part of a path. */
export function checkFieldName(name: string): void {
  if (PLAIN_NAME.test(name)) return;
  if (name === '') throw new DbError(15998, 'FieldPath field names may not be empty strings.');
  if (name.startsWith('$')) {
    throw new DbError(16410, "FieldPath field names may not start with '$'.");
  }
  if (name.includes('\0')) {
    throw new DbError(16411, 'FieldPath field names may not contain null bytes.');
  }
  if (name.includes('.')) {
    throw new DbError(16412, "FieldPath field names may not contain '.'.");
  }
}

const PLAIN_NAME = /^[A-Za-z0-9_]+$/;

/** Compiles `$a.b` or `$$variable.a.b`. */
export function compileFieldPath(raw: string, scope: Scope): Expression {
  if (raw === '$') throw new DbError(16872, "'$' by itself is not a valid FieldPath");
  if (!raw.startsWith('$$')) return pathFrom(scope.current, splitFieldPath(raw.slice(1)));
  const dotted = raw.slice(2);
  const dot = dotted.indexOf('.');
  const name = dot < 0 ? dotted : dotted.slice(0, dot);
  checkVariableRead(name);
  const variable = scope.lookup(name);
  if (dot < 0) return variable;
  const path = splitFieldPath(dotted).slice(1);
  // The root is always a document, and nobody can rename it: the short way to its fields.
  const isRoot = name === 'ROOT' || (name === 'CURRENT' && !scope.current);
  return pathFrom(isRoot ? undefined : variable, path);
}

/** The value at a path below a base; below the root document when there is none. */
function pathFrom(base: Expression | undefined, path: readonly string[]): Expression {
  const [first, second] = path as [string, string | undefined];
  if (base) {
    const { evaluate } = base;
    return { evaluate: (root) => readBelow(evaluate(root), path, 0), constant: base.constant };
  }
  if (second === undefined) return { evaluate: (root) => readField(root, first), constant: false };
  return { evaluate: (root) => readBelow(readField(root, first), path, 1), constant: false };
}

/**
 * The value at a path of a document, as expressions see it: an array on the way gives the array of
 * what its documents hold there, and a numeric part is a field name, never an array index.
 */
export function readPath(doc: Doc, path: readonly string[]): Evaluated {
  return readBelow(doc, path, 0);
}

function readField(doc: Doc, name: string): Evaluated {
  const value = doc.get(name);
  return value === undefined && !doc.has(name) ? MISSING : value;
}

function readBelow(value: Evaluated, path: readonly string[], index: number): Evaluated {
  if (index === path.length) return value;
  if (isDoc(value)) return readBelow(readField(value, path[index]!), path, index + 1);
  if (!Array.isArray(value)) return MISSING;
  const found = [];
  for (const element of value) {
    if (!isDoc(element)) continue;
    const inner = readBelow(element, path, index);
    if (inner !== MISSING) found.push(inner);
  }
  return found;
}

function checkVariableRead(name: string): void {
  if (name === '') throw new DbError(16869, 'empty variable names are not allowed');
  if (!/^[A-Za-z\u0080-\uffff]/.test(name)) {
    throw new DbError(16870, `'${name}' starts with an invalid character for a variable name`);
  }
  const bad = /[^A-Za-z0-9_\u0080-\uffff]/.exec(name);
  if (bad) {
    throw new DbError(
      16871,
      `'${name}' contains an invalid character for a variable name: '${bad[0]}'`,
    );
  }
}

/** Refuses a name that a user may not give to a variable (`$let`, `as`, `let`). */
export function checkVariableName(name: string): void {
  if (name === 'CURRENT') return;
  if (name === '') throw new DbError(16866, 'empty variable names are not allowed');
  if (!/^[a-z\u0080-\uffff]/.test(name)) {
    throw new DbError(16867, `'${name}' starts with an invalid character for a user variable name`);
  }
  const bad = /[^A-Za-z0-9_\u0080-\uffff]/.exec(name);
  if (bad) {
    throw new DbError(
      16868,
      `'${name}' contains an invalid character for a variable name: '${bad[0]}'`,
    );
  }
}
