import type { Evaluated } from '../../expression/expression.js';
import { type Doc, isDoc, MISSING, type Value } from '../../values/value.js';
import type { FieldTree } from './field-tree.js';

/** Fields to keep or to drop on one level: true for the whole field, else what is below it. */
export type FieldMask = ReadonlyMap<string, true | FieldMask>;

/** The mask of the leaves for which `isMasked` holds; levels without any are kept, but empty. */
export function maskOf(tree: FieldTree, isMasked: (value: Value) => boolean): FieldMask {
  const mask = new Map<string, true | FieldMask>();
  for (const [name, entry] of tree) {
    if (entry.kind === 'branch') mask.set(name, maskOf(entry.fields, isMasked));
    else if (isMasked(entry.value)) mask.set(name, true);
  }
  return mask;
}

/** A copy with the masked fields only, in the document's own order. */
export function keepFields(source: Doc, mask: FieldMask): Doc {
  const kept: Doc = new Map();
  for (const [name, value] of source) {
    const below = mask.get(name);
    if (below === undefined) continue;
    const inner = below === true ? value : keepBelow(value, below);
    if (inner !== MISSING) kept.set(name, inner);
  }
  return kept;
}

function keepBelow(value: Value, mask: FieldMask): Evaluated {
  if (isDoc(value)) return keepFields(value, mask);
  if (!Array.isArray(value)) return MISSING;
  const kept: Value[] = [];
  for (const element of value) {
    const inner = keepBelow(element, mask);
    if (inner !== MISSING) kept.push(inner);
  }
  return kept;
}

/** A copy without the masked fields. */
export function dropFields(source: Doc, mask: FieldMask): Doc {
  const rest: Doc = new Map();
  for (const [name, value] of source) {
    const below = mask.get(name);
    if (below === undefined) rest.set(name, value);
    else if (below !== true) rest.set(name, dropBelow(value, below));
  }
  return rest;
}

function dropBelow(value: Value, mask: FieldMask): Value {
  if (isDoc(value)) return dropFields(value, mask);
  return Array.isArray(value) ? value.map((element) => dropBelow(element, mask)) : value;
}
