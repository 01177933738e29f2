import { DbError } from '../../errors.js';
import { splitFieldPath } from '../../expression/field-path.js';
import { formatDocument } from '../../values/format.js';
import { type Doc, isDoc, type Value } from '../../values/value.js';

/** What a specification says of one field: a value for it, or more about the fields below it. */
export type FieldEntry =
  | { readonly kind: 'leaf'; readonly value: Value; readonly path: string }
  | { readonly kind: 'branch'; readonly fields: FieldTree };

/** The fields of one level in the order in which they were first named. */
export type FieldTree = Map<string, FieldEntry>;

/**
 * Reads the specification of `$project` or `$addFields`: dotted names and nested documents mean the
 * same. Throws for an empty specification (40177), two that meet (40176), an empty document
 * (40180), a mixture of operator and fields (40181) and a dotted name inside of a document (40183).
 */
export function parseFieldTree(specification: Doc): FieldTree {
  if (specification.size === 0) {
    throw new DbError(40177, 'specification must have at least one field');
  }
  const tree: FieldTree = new Map();
  for (const [name, value] of specification) addEntry(tree, splitFieldPath(name), value, name);
  return tree;
}

/** A tree in which each of the paths is a leaf without a value. */
export function treeOfPaths(paths: readonly string[]): FieldTree {
  const tree: FieldTree = new Map();
  for (const path of paths) addLeaf(tree, splitFieldPath(path), null, path);
  return tree;
}

function addEntry(tree: FieldTree, path: readonly string[], value: Value, full: string): void {
  if (!isDoc(value)) {
    addLeaf(tree, path, value, full);
    return;
  }
  if (value.size === 0) {
    throw new DbError(
      40180,
      `an empty object is not a valid value. Found empty object at path ${full}`,
    );
  }
  for (const [name, inner] of value) {
    if (name.startsWith('$')) {
      if (value.size !== 1) {
        throw new DbError(
          40181,
          'an expression specification must contain exactly one field, the name of the expression. ' +
            `Found ${value.size} fields in ${formatDocument(value)}`,
        );
      }
      addLeaf(tree, path, value, full);
      return;
    }
    if (name.includes('.')) {
      throw new DbError(40183, `cannot use dotted field name '${name}' in a sub object`);
    }
    splitFieldPath(name);
    addEntry(tree, [...path, name], inner, `${full}.${name}`);
  }
}

function addLeaf(tree: FieldTree, path: readonly string[], value: Value, full: string): void {
  let level = tree;
  for (const part of path.slice(0, -1)) {
    const entry = level.get(part);
    if (entry?.kind === 'leaf') throw conflict(entry.path, full);
    if (entry) level = entry.fields;
    else {
      const fields: FieldTree = new Map();
      level.set(part, { kind: 'branch', fields });
      level = fields;
    }
  }
  const name = path.at(-1)!;
  const existing = level.get(name);
  if (existing) throw conflict(existing.kind === 'leaf' ? existing.path : `${full}...`, full);
  level.set(name, { kind: 'leaf', value, path: full });
}

function conflict(first: string, second: string): DbError {
  return new DbError(
    40176,
    `specification contains two conflicting paths. Cannot specify both '${first}' and '${second}'`,
  );
}
