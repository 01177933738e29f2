import { DbError } from '../../errors.js';
import type { Expression } from '../../expression/expression.js';
import { formatValue } from '../../values/format.js';
import { typeName } from '../../values/type-names.js';
import { isDoc } from '../../values/value.js';
import type { Transform, TransformDefinition } from '../stage.js';

/** `$replaceRoot`: a document that an expression makes, in place of the old one. */
export const REPLACE_ROOT: TransformDefinition = {
  name: '$replaceRoot',
  compile(value, scope) {
    if (!isDoc(value)) {
      throw new DbError(
        40229,
        `expected an object as specification for $replaceRoot stage, got ${typeName(value)}`,
      );
    }
    for (const key of value.keys()) {
      if (key !== 'newRoot') {
        throw new DbError(40415, `BSON field '$replaceRoot.${key}' is an unknown field.`);
      }
    }
    if (!value.has('newRoot')) {
      throw new DbError(40414, "BSON field '$replaceRoot.newRoot' is missing but a required field");
    }
    return replacement(scope.compile(value.get('newRoot')));
  },
};

/** `$replaceWith`: the short form of `$replaceRoot`. */
export const REPLACE_WITH: TransformDefinition = {
  name: '$replaceWith',
  compile: (value, scope) => replacement(scope.compile(value)),
};

function replacement(newRoot: Expression): Transform {
  return (source) => {
    const result = newRoot.evaluate(source);
    if (isDoc(result)) return result;
    throw new DbError(
      40228,
      "'newRoot' expression must evaluate to an object, but resulting value was: " +
        `${formatValue(result)}. Type of resulting value: '${typeName(result)}'.`,
    );
  };
}
