import { badValue, DbError, typeMismatch } from '../errors.js';
import { addNumbers, multiplyNumbers } from '../values/arithmetic.js';
import { formatValue } from '../values/format.js';
import { identicalValues } from '../values/identical.js';
import { compareValues } from '../values/order.js';
import { typeName } from '../values/type-names.js';
import {
  type Doc,
  Int32,
  int32,
  isDoc,
  isLong,
  isNumeric,
  Long,
  MISSING,
  type Missing,
  type Numeric,
  type Value,
} from '../values/value.js';
import { checkStorable } from './storage-rules.js';
import { dottedPath, type LeafOperator, type UpdateContext } from './update-context.js';

/** Gives `next` as the new value, or what was found where that is the same. */
function change(found: Value | Missing, next: Value, context: UpdateContext): Value | Missing {
  if (found !== MISSING && identicalValues(found, next)) return found;
  context.modified = true;
  return next;
}

/** `$set`. */
export function setOperator(value: Value, path: string): LeafOperator {
  return {
    apply(found, context) {
      if (found !== MISSING && identicalValues(found, value)) return found;
      checkStorable(value, path);
      context.modified = true;
      return value;
    },
  };
}

/** `$setOnInsert`: a `$set` that only an upsert's insert knows. */
export function setOnInsertOperator(value: Value, path: string): LeafOperator {
  const set = setOperator(value, path);
  return {
    ignoresNonViablePath: 'unless inserting',
    apply: (found, context, place) => (context.isInsert ? set.apply(found, context, place) : found),
  };
}

/** `$unset`. */
export function unsetOperator(): LeafOperator {
  return {
    ignoresNonViablePath: true,
    apply(found, context, place) {
      // An element of an array is set to null by its container, which a null already is.
      if (found === MISSING || (found === null && place.isInArray && isElement(place.name))) {
        return found;
      }
      context.modified = true;
      return MISSING;
    },
  };
}

function isElement(name: string): boolean {
  return /^\d+$/.test(name);
}

/** `$inc` and `$mul`. */
export function arithmeticOperator(
  operator: '$inc' | '$mul',
  operand: Value,
  path: string,
): LeafOperator {
  if (!isNumeric(operand)) {
    const verb = operator === '$inc' ? 'increment' : 'multiply';
    throw typeMismatch(
      `Cannot ${verb} with non-numeric argument: {${path}: ${formatValue(operand)}}`,
    );
  }
  const compute = operator === '$inc' ? addNumbers : multiplyNumbers;
  return {
    apply(found, context) {
      if (found === MISSING) {
        const fresh = operator === '$inc' ? operand : compute(int32(0), operand, 'double');
        return change(found, fresh, context);
      }
      if (!isNumeric(found)) {
        throw typeMismatch(
          `Cannot apply ${operator} to a value of non-numeric type. The field '${path}' is of ` +
            `non-numeric type ${typeName(found)}`,
        );
      }
      const result: Numeric | null = compute(found, operand, 'null');
      if (result === null) {
        throw badValue(
          `Failed to apply ${operator} operations to current value (${formatValue(found)}): ` +
            'the result does not fit into 64 bits',
        );
      }
      return change(found, result, context);
    },
  };
}

/** `$min` and `$max`, in the order of all BSON values. */
export function extremeOperator(
  operator: '$min' | '$max',
  operand: Value,
  path: string,
): LeafOperator {
  const sign = operator === '$min' ? -1 : 1;
  return {
    apply(found, context) {
      if (found !== MISSING && compareValues(operand, found) * sign <= 0) return found;
      checkStorable(operand, path);
      return change(found, operand, context);
    },
  };
}

/** `$currentDate`: `true`, `false` (the same) or `{$type: 'date' | 'timestamp'}`. */
export function currentDateOperator(operand: Value): LeafOperator {
  const wantsTimestamp = isDoc(operand) && readDateType(operand) === 'timestamp';
  if (typeof operand !== 'boolean' && !isDoc(operand)) {
    throw badValue(
      `${typeName(operand)} is not valid type for $currentDate. Please use a boolean ('true') or ` +
        "a $type expression ({$type: 'timestamp/date'}).",
    );
  }
  return {
    apply: (found, context) =>
      change(found, wantsTimestamp ? context.timestamp() : context.now, context),
  };
}

function readDateType(operand: Doc): 'date' | 'timestamp' {
  const type = operand.get('$type');
  for (const key of operand.keys()) {
    if (key !== '$type') throw badValue(`Unrecognized $currentDate option: ${key}`);
  }
  if (type === 'date' || type === 'timestamp') return type;
  throw badValue(
    "The '$type' string field is required to be 'date' or 'timestamp': " +
      "{$currentDate: {field : {$type: 'date'}}}",
  );
}

type BitOperation = 'and' | 'or' | 'xor';

/** `$bit`: and, or, xor with ints and longs, one after the other. */
export function bitOperator(operand: Value, path: string): LeafOperator {
  if (!isDoc(operand)) {
    throw badValue(
      `The $bit modifier is not compatible with a ${typeName(operand)}. You must pass in an ` +
        'embedded document: {$bit: {field: {and/or/xor: #}}',
    );
  }
  if (operand.size === 0) {
    throw badValue(
      'You must pass in at least one bitwise operation. The format is: {$bit: {field: {and/or/xor: #}}',
    );
  }
  const steps = [...operand].map(
    ([name, mask]) => [bitOperation(name), bitMask(mask, name)] as const,
  );
  return {
    apply(found, context) {
      let value: Value = found === MISSING ? int32(0) : found;
      if (!(value instanceof Int32) && !isLong(value)) {
        throw badValue(
          `Cannot apply $bit to a value of non-integral type: the field ${path} is of ` +
            `non-integer type ${typeName(value)}`,
        );
      }
      for (const [operation, mask] of steps) value = applyBits(operation, value, mask);
      return change(found, value, context);
    },
  };
}

function bitOperation(name: string): BitOperation {
  if (name === 'and' || name === 'or' || name === 'xor') return name;
  throw badValue(
    `The $bit modifier only supports 'and', 'or', and 'xor', not '${name}' which is an unknown operator`,
  );
}

function bitMask(mask: Value, name: string): Int32 | Long {
  if (mask instanceof Int32 || isLong(mask)) return mask;
  throw badValue(
    `The $bit modifier field must be an Integer(32/64 bit); a '${typeName(mask)}' is not ` +
      `supported here: {${name}: ${formatValue(mask)}}`,
  );
}

function applyBits(operation: BitOperation, left: Int32 | Long, right: Int32 | Long): Int32 | Long {
  if (left instanceof Int32 && right instanceof Int32) {
    if (operation === 'and') return int32(left.value & right.value);
    return int32(operation === 'or' ? left.value | right.value : left.value ^ right.value);
  }
  const a = left instanceof Int32 ? Long.fromInt(left.value) : left;
  const b = right instanceof Int32 ? Long.fromInt(right.value) : right;
  return operation === 'and' ? a.and(b) : operation === 'or' ? a.or(b) : a.xor(b);
}

/** What holds the place of a `$rename`'s source, so that nothing else may touch it. */
export const RENAME_SOURCE: LeafOperator = {
  ignoresNonViablePath: true,
  apply: (found) => found,
};

/** `$rename` at its target; the source is taken out after all else. */
export function renameOperator(source: readonly string[]): LeafOperator {
  return {
    apply(found, context, place) {
      const moved = readSource(context.root, source);
      if (moved === MISSING) return found;
      if (place.isInArray) {
        throw badValue(`The destination field cannot be an array element, '${dottedPath(place)}'`);
      }
      context.removedPaths.push(source);
      context.modified = true;
      return moved;
    },
  };
}

function readSource(root: Doc, source: readonly string[]): Value | Missing {
  let value: Value = root;
  let isInArray = false;
  for (const part of source) {
    if (Array.isArray(value)) {
      isInArray = true;
      if (!/^\d+$/.test(part)) throw notTraversable(source, part, value);
      if (Number(part) >= value.length) return MISSING;
      value = value[Number(part)];
    } else if (value instanceof Map) {
      if (!value.has(part)) return MISSING;
      value = value.get(part);
    } else throw notTraversable(source, part, value);
  }
  if (isInArray) {
    throw badValue(`The source field cannot be an array element, '${source.join('.')}'`);
  }
  return value;
}

function notTraversable(source: readonly string[], part: string, value: Value): DbError {
  return new DbError(
    28,
    `cannot use the part (${part} of ${source.join('.')}) to traverse the element (${formatValue(value)})`,
  );
}
