import { DbError } from '../../errors.js';
import type { Scope } from '../../expression/scope.js';
import { formatDocument } from '../../values/format.js';
import { isDoc, isNumeric, isTruthy, type Value } from '../../values/value.js';
import { compileComputed, setComputed } from '../projection/computed-fields.js';
import { type FieldTree, parseFieldTree } from '../projection/field-tree.js';
import { dropFields, type FieldMask, keepFields, maskOf } from '../projection/kept-fields.js';
import type { Transform, TransformDefinition } from '../stage.js';

/** `$project`: keeps some fields and computes others, or drops some. */
export const PROJECT: TransformDefinition = { name: '$project', compile: compileProject };

function compileProject(value: Value, scope: Scope): Transform {
  if (!isDoc(value)) throw new DbError(15969, '$project specification must be an object');
  const tree = parseFieldTree(value);
  if (excludes(tree, () => formatDocument(value))) {
    const mask = maskOf(tree, isSwitch);
    return (source) => dropFields(source, mask);
  }
  const named = maskOf(tree, (leaf) => isSwitch(leaf) && isTruthy(leaf), isComputed);
  if (tree.has('_id')) return inclusion(named, tree, scope);
  const fields = new Map(named.fields).set('_id', true);
  return inclusion({ ...named, fields }, tree, scope);
}

function inclusion(mask: FieldMask, tree: FieldTree, scope: Scope): Transform {
  const computed = compileComputed(tree, scope, isComputed);
  if (computed.fields.length === 0) return (source) => keepFields(source, mask);
  return (source) => {
    const result = keepFields(source, mask);
    setComputed(result, computed, source);
    return result;
  };
}

/** Whether a leaf says to keep or drop a field; everything else computes one. */
function isSwitch(value: Value): boolean {
  return typeof value === 'boolean' || isNumeric(value);
}

function isComputed(value: Value): boolean {
  return !isSwitch(value);
}

/** Whether the projection drops fields; one that does both is refused (40178, 40179). */
function excludes(tree: FieldTree, whole: () => string): boolean {
  const modes: { drops?: boolean } = {};
  decide(tree, '', modes, whole);
  if (modes.drops !== undefined) return modes.drops;
  const id = tree.get('_id');
  return tree.size === 1 && id?.kind === 'leaf' && isSwitch(id.value) && !isTruthy(id.value);
}

function decide(
  tree: FieldTree,
  prefix: string,
  modes: { drops?: boolean },
  whole: () => string,
): void {
  for (const [name, entry] of tree) {
    const path = prefix + name;
    if (entry.kind === 'branch') decide(entry.fields, `${path}.`, modes, whole);
    else if (isSwitch(entry.value) && !isTruthy(entry.value)) {
      // Dropping `_id` goes with both kinds of projection.
      if (path === '_id') continue;
      if (modes.drops === false) {
        throw new DbError(
          40178,
          "Bad projection specification, cannot exclude fields other than '_id' in an inclusion " +
            `projection: ${whole()}`,
        );
      }
      modes.drops = true;
    } else {
      if (modes.drops === true) {
        throw new DbError(
          40179,
          'Bad projection specification, cannot include fields or add computed fields during an ' +
            `exclusion projection: ${whole()}`,
        );
      }
      modes.drops = false;
    }
  }
}
