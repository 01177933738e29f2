import { DbError } from '../../errors.js';
import { isNullish } from '../../expression/expression.js';
import { splitFieldPath } from '../../expression/field-path.js';
import { typeName } from '../../values/type-names.js';
import { isDoc, Long, MISSING, type Value } from '../../values/value.js';
import { nestedField, withNestedField } from '../nested-field.js';
import type { StageDefinition } from '../stage.js';

interface UnwindOptions {
  path: readonly string[];
  /** Keep documents whose field is null, absent or an empty array. */
  keepEmpty: boolean;
  /** Where the index of the element goes. */
  indexPath: readonly string[] | undefined;
}

/** `$unwind`: a document for each element of an array. */
export const UNWIND: StageDefinition = {
  name: '$unwind',
  compile(value) {
    const { path, keepEmpty, indexPath } = readOptions(value);
    return function* unwind(source) {
      for (const document of source) {
        const field = nestedField(document, path);
        if (Array.isArray(field) && field.length > 0) {
          for (let i = 0; i < field.length; i++) {
            const unwound = withNestedField(document, path, field[i] as Value);
            yield indexPath ? withNestedField(unwound, indexPath, Long.fromNumber(i)) : unwound;
          }
          continue;
        }
        const empty = isNullish(field) || Array.isArray(field);
        if (empty && !keepEmpty) continue;
        const kept = Array.isArray(field) ? withNestedField(document, path, MISSING) : document;
        yield indexPath ? withNestedField(kept, indexPath, null) : kept;
      }
    };
  },
};

function readOptions(value: Value): UnwindOptions {
  if (typeof value !== 'string' && !isDoc(value)) {
    throw new DbError(
      15981,
      'expected either a string or an object as specification for $unwind stage, got ' +
        typeName(value),
    );
  }
  let path: Value = '';
  const options: UnwindOptions = { path: [], keepEmpty: false, indexPath: undefined };
  if (typeof value === 'string') path = value;
  else {
    for (const [key, option] of value) {
      if (key === 'path') path = checkPathType(option);
      else if (key === 'preserveNullAndEmptyArrays') options.keepEmpty = checkKeep(option);
      else if (key === 'includeArrayIndex') options.indexPath = checkIndexPath(option);
      else throw new DbError(28811, `unrecognized option to $unwind stage: ${key}`);
    }
  }
  if (path === '') throw new DbError(28812, 'no path specified to $unwind stage');
  if (!path.startsWith('$')) {
    throw new DbError(28818, `path option to $unwind stage should be prefixed with a '$': ${path}`);
  }
  options.path = splitFieldPath(path.slice(1));
  return options;
}

function checkPathType(option: Value): string {
  if (typeof option === 'string') return option;
  throw new DbError(
    28808,
    `expected a string as the path for $unwind stage, got ${typeName(option)}`,
  );
}

function checkKeep(option: Value): boolean {
  if (typeof option === 'boolean') return option;
  throw new DbError(
    28809,
    'expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got ' +
      typeName(option),
  );
}

function checkIndexPath(option: Value): readonly string[] {
  if (typeof option !== 'string' || option === '') {
    throw new DbError(
      28810,
      'expected a non-empty string for the includeArrayIndex option to $unwind stage, got ' +
        typeName(option),
    );
  }
  if (option.startsWith('$')) {
    throw new DbError(
      28822,
      `includeArrayIndex option to $unwind stage should not be prefixed with a '$': ${option}`,
    );
  }
  return splitFieldPath(option);
}
