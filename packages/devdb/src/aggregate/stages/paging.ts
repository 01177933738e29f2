import { DbError } from '../../errors.js';
import { fitInt } from '../../values/arithmetic.js';
import { toDouble } from '../../values/numbers.js';
import { typeName } from '../../values/type-names.js';
import { doc, isNumeric, type Value } from '../../values/value.js';
import type { StageDefinition } from '../stage.js';

/** `$limit`: the first documents. It stops reading as soon as it has them. */
export const LIMIT: StageDefinition = {
  name: '$limit',
  compile(value) {
    if (!isNumeric(value)) {
      throw new DbError(15957, 'the limit must be specified as a number');
    }
    const limit = Math.trunc(toDouble(value));
    if (!(limit > 0)) throw new DbError(15958, 'the limit must be positive');
    return function* takeFirst(source) {
      let left = limit;
      for (const document of source) {
        yield document;
        if (--left === 0) return;
      }
    };
  },
};

/** `$skip`: all but the first documents. */
export const SKIP: StageDefinition = {
  name: '$skip',
  compile(value) {
    if (!isNumeric(value)) {
      throw new DbError(15972, `Argument to $skip must be a number not a ${typeName(value)}`);
    }
    const skip = Math.trunc(toDouble(value));
    if (!(skip >= 0)) throw new DbError(15956, 'Argument to $skip cannot be negative');
    return function* leaveOut(source) {
      let left = skip;
      for (const document of source) {
        if (left > 0) left--;
        else yield document;
      }
    };
  },
};

/** `$count`: one document with the number of documents, or none where there are none. */
export const COUNT: StageDefinition = {
  name: '$count',
  compile(value) {
    const field = countField(value);
    return function* count(source) {
      let total = 0;
      for (const _ of source) total++;
      if (total > 0) yield doc([field, fitInt(total)]);
    };
  },
};

function countField(value: Value): string {
  if (typeof value !== 'string') {
    throw new DbError(40156, 'the count field must be a non-empty string');
  }
  if (value === '') throw new DbError(40157, 'the count field must be a non-empty string');
  if (value.startsWith('$')) {
    throw new DbError(40158, 'the count field cannot be a $-prefixed path');
  }
  if (value.includes('\0')) {
    throw new DbError(40159, 'the count field cannot contain a null byte');
  }
  if (value.includes('.')) throw new DbError(40160, "the count field cannot contain '.'");
  return value;
}
