import { DbError } from '../../errors.js';
import { typeName } from '../../values/type-names.js';
import { isDoc } from '../../values/value.js';
import { copyDoc } from '../nested-field.js';
import { compileComputed, setComputed } from '../projection/computed-fields.js';
import { parseFieldTree, treeOfPaths } from '../projection/field-tree.js';
import { dropFields, maskOf } from '../projection/kept-fields.js';
import type { TransformDefinition } from '../stage.js';

/** `$addFields` and `$set`: the document with some fields computed anew, all from the old one. */
function addFields(name: string): TransformDefinition {
  return {
    name,
    compile(value, scope) {
      if (!isDoc(value)) {
        throw new DbError(
          40272,
          `${name} specification stage must be an object, got ${typeName(value)}`,
        );
      }
      const computed = compileComputed(parseFieldTree(value), scope, () => true);
      return (source) => {
        const result = copyDoc(source);
        setComputed(result, computed, source);
        return result;
      };
    },
  };
}

export const ADD_FIELDS = addFields('$addFields');
export const SET = addFields('$set');

/** `$unset`: the document without some fields. */
export const UNSET: TransformDefinition = {
  name: '$unset',
  compile(value) {
    const paths = Array.isArray(value) ? value : [value];
    if (!Array.isArray(value) && typeof value !== 'string') {
      throw new DbError(31002, '$unset specification must be a string or an array');
    }
    if (paths.length === 0) {
      throw new DbError(
        31119,
        '$unset specification must be a string or an array with at least one field',
      );
    }
    if (!paths.every((path) => typeof path === 'string')) {
      throw new DbError(31120, '$unset specification must be a string or an array of strings');
    }
    const mask = maskOf(treeOfPaths(paths), () => true);
    return (source) => dropFields(source, mask);
  },
};
