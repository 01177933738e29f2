import type { Evaluated } from '../../expression/expression.js';
import { type Doc, isDoc, MISSING, type Value } from '../../values/value.js';
import type { FieldTree } from './field-tree.js';

/** Fields to keep or to drop on one level: true for the whole field, else what is below it. */
export interface FieldMask {
  readonly fields: ReadonlyMap<string, true | FieldMask>;
  /**
   * Whether fields are computed on this level or below. Then an array element that is no document
   * keeps its place (as MISSING) until it gives way to a document with the computed fields.
   */
  readonly keepsPlaces: boolean;
}

/** The mask of the leaves for which `isMasked` holds; levels without any are kept, but empty. */
export function maskOf(
  tree: FieldTree,
  isMasked: (value: Value) => boolean,
  isComputed: (value: Value) => boolean = () => false,
): FieldMask {
  const fields = new Map<string, true | FieldMask>();
  let keepsPlaces = false;
  for (const [name, entry] of tree) {
    if (entry.kind === 'branch') {
      const below = maskOf(entry.fields, isMasked, isComputed);
      keepsPlaces ||= below.keepsPlaces;
      fields.set(name, below);
    } else if (isMasked(entry.value)) fields.set(name, true);
    else keepsPlaces ||= isComputed(entry.value);
  }
  return { fields, keepsPlaces };
}

/** A copy with the masked fields only, in the document's own order. */
export function keepFields(source: Doc, { fields }: FieldMask): Doc {
  const kept: Doc = new Map();
  source.forEach((value, name) => {
    const below = fields.get(name);
    if (below === undefined) return;
    const inner = below === true ? value : keepBelow(value, below);
    if (inner !== MISSING) kept.set(name, inner);
  });
  return kept;
}

function keepBelow(value: Value, mask: FieldMask): Evaluated {
  if (isDoc(value)) return keepFields(value, mask);
  if (!Array.isArray(value)) return MISSING;
  const kept: Evaluated[] = [];
  for (const element of value) {
    const inner = keepBelow(element, mask);
    if (inner !== MISSING || mask.keepsPlaces) kept.push(inner);
  }
  return kept as Value[];
}

/** A copy without the masked fields. */
export function dropFields(source: Doc, { fields }: FieldMask): Doc {
  const rest: Doc = new Map();
  source.forEach((value, name) => {
    const below = fields.get(name);
    if (below === undefined) rest.set(name, value);
    else if (below !== true) rest.set(name, dropBelow(value, below));
  });
  return rest;
}

function dropBelow(value: Value, mask: FieldMask): Value {
  if (isDoc(value)) return dropFields(value, mask);
  return Array.isArray(value) ? value.map((element) => dropBelow(element, mask)) : value;
}
