import type { Evaluated, Expression } from '../../expression/expression.js';
import type { Scope } from '../../expression/scope.js';
import { type Doc, isDoc, MISSING, type Value } from '../../values/value.js';
import { copyDoc } from '../nested-field.js';
import type { FieldTree } from './field-tree.js';

/** Fields to set on one level, each from an expression or by going down. */
export interface ComputedFields {
  /** In the order of the specification. */
  readonly fields: readonly (readonly [string, Expression | ComputedFields])[];
}

/**
 * Compiles the leaves for which `isComputed` holds to expressions, level by level. Levels without
 * any are left out.
 */
export function compileComputed(
  tree: FieldTree,
  scope: Scope,
  isComputed: (value: Value) => boolean,
): ComputedFields {
  const fields: [string, Expression | ComputedFields][] = [];
  for (const [name, entry] of tree) {
    if (entry.kind === 'leaf') {
      if (isComputed(entry.value)) fields.push([name, scope.compile(entry.value)]);
    } else {
      const below = compileComputed(entry.fields, scope, isComputed);
      if (below.fields.length > 0) fields.push([name, below]);
    }
  }
  return { fields };
}

/**
 * Sets the computed fields on `target` in place; `root` is the document that expressions see. A
 * field whose expression gives nothing is taken away.
 */
export function setComputed(target: Doc, computed: ComputedFields, root: Doc): void {
  for (const [name, how] of computed.fields) {
    if ('fields' in how) target.set(name, computedBelow(valueAt(target, name), how, root));
    else {
      const value = how.evaluate(root);
      if (value === MISSING) target.delete(name);
      else target.set(name, value);
    }
  }
}

function valueAt(target: Doc, name: string): Evaluated {
  return target.has(name) ? target.get(name) : MISSING;
}

/** Documents get the fields, arrays element by element; anything else gives way to a document. */
function computedBelow(value: Evaluated, computed: ComputedFields, root: Doc): Value {
  if (Array.isArray(value)) return value.map((element) => computedBelow(element, computed, root));
  const target: Doc = isDoc(value) ? copyDoc(value) : new Map();
  setComputed(target, computed, root);
  return target;
}
