import { compareNumbers } from './numbers.js';
import { typeBracket } from './type-names.js';
import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  DbPointer,
  type Doc,
  Int32,
  type Missing,
  type Numeric,
  ObjectId,
  Timestamp,
  type Value,
} from './value.js';

/**
 * Compares two values in MongoDB's canonical order: negative, zero or positive. First by the
 * bracket of the type (MinKey, missing and undefined, null, numbers, strings, documents, arrays,
 * binary, ObjectId, boolean, date, timestamp, regex, code, MaxKey), then by value. A total order.
 */
export function compareValues(left: Value | Missing, right: Value | Missing): number {
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right);
  if (left instanceof Int32 && right instanceof Int32) return left.value - right.value;
  const bracket = typeBracket(left);
  const difference = bracket - typeBracket(right);
  if (difference !== 0) return difference;
  return compareWithin(bracket, left as Value, right as Value);
}

/** Whether two values are equal in MongoDB's order: 1, 1L, 1.0 and decimal 1 are. */
export function equalValues(left: Value | Missing, right: Value | Missing): boolean {
  return left === right || compareValues(left, right) === 0;
}

/**
 * Compares text by code points, which is the order of its UTF-8 bytes. JavaScript's own order
 * differs where a surrogate pair meets a character above it in the basic plane.
 */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a === b) continue;
    return codePointRank(a) - codePointRank(b);
  }
  return left.length - right.length;
}

function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

function compareBytes(left: Uint8Array, right: Uint8Array): number {
  return Buffer.compare(left, right);
}

function compareWithin(bracket: number, left: Value, right: Value): number {
  switch (bracket) {
    case 10:
      return compareNumbers(left as Numeric, right as Numeric);
    case 15:
      return compareText(textOf(left), textOf(right));
    case 20:
      return compareDocs(left as Doc, right as Doc);
    case 25:
      return compareArrays(left as Value[], right as Value[]);
    case 30:
      return compareBinaries(left as Binary, right as Binary);
    case 35:
      return compareBytes((left as ObjectId).id, (right as ObjectId).id);
    case 40:
      return Number(left) - Number(right);
    case 45:
      return (left as Date).getTime() - (right as Date).getTime();
    case 47:
      return (left as Timestamp).compare(right as Timestamp);
    case 50:
      return compareRegExps(left as BSONRegExp, right as BSONRegExp);
    case 55:
      return comparePointers(left as DbPointer, right as DbPointer);
    case 60:
      return compareText((left as Code).code, (right as Code).code);
    case 65:
      return compareScopedCode(left as Code, right as Code);
    default:
      return 0;
  }
}

function textOf(value: Value): string {
  return value instanceof BSONSymbol ? value.value : (value as string);
}

/** Field by field: the type's bracket, then the name, then the value; a prefix comes first. */
function compareDocs(left: Doc, right: Doc): number {
  const others = right.entries();
  for (const [key, value] of left) {
    const next = others.next();
    if (next.done) return 1;
    const [otherKey, otherValue] = next.value;
    const byType = typeBracket(value) - typeBracket(otherValue);
    if (byType !== 0) return byType;
    const byName = compareText(key, otherKey);
    if (byName !== 0) return byName;
    const byValue = compareValues(value, otherValue);
    if (byValue !== 0) return byValue;
  }
  return others.next().done ? 0 : -1;
}

function compareArrays(left: readonly Value[], right: readonly Value[]): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const difference = compareValues(left[index], right[index]);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function compareBinaries(left: Binary, right: Binary): number {
  return (
    left.position - right.position ||
    left.sub_type - right.sub_type ||
    compareBytes(left.value(), right.value())
  );
}

function compareRegExps(left: BSONRegExp, right: BSONRegExp): number {
  return compareText(left.pattern, right.pattern) || compareText(left.options, right.options);
}

function comparePointers(left: DbPointer, right: DbPointer): number {
  return (
    left.namespace.length - right.namespace.length ||
    compareText(left.namespace, right.namespace) ||
    compareBytes(left.id.id, right.id.id)
  );
}

function compareScopedCode(left: Code, right: Code): number {
  return (
    compareText(left.code, right.code) ||
    compareDocs(left.scope as unknown as Doc, right.scope as unknown as Doc)
  );
}
