import {
  compareDecimalParts,
  type DecimalParts,
  decimalOfBigInt,
  decimalParts,
  exactDecimalOfDouble,
} from './decimal.js';
import { toDouble } from './numbers.js';
import { typeBracket } from './type-names.js';
import {
  type Binary,
  type BSONRegExp,
  BSONSymbol,
  type Code,
  type DbPointer,
  Decimal128,
  type Doc,
  Int32,
  Long,
  type Missing,
  type Numeric,
  type ObjectId,
  Timestamp,
  type Value,
} from './value.js';

/*
 * Index keys as text that JavaScript's own `<` puts into MongoDB's order (the idea of MongoDB's
 * KeyString; the coding is our own). Each part starts with a unit for the type's bracket, so that
 * types never mix, and no part is a prefix of another one, so that parts can be put together.
 * A descending part has all its units inverted.
 */

const END = '\u0000';
const MORE = '\u0001';

/** The unit that opens a part of the given bracket (see `typeBracket`). */
function bracketUnit(bracket: number): string {
  return String.fromCharCode(bracket + 16);
}

/** The text of one key part: equal values give equal text, smaller ones smaller text. */
export function encodeKeyPart(value: Value | Missing, descending = false): string {
  const text = encodeValue(value);
  return descending ? invert(text) : text;
}

/** The text of a whole key; `descending[i]` inverts the part at `i`. */
export function encodeKey(
  values: readonly (Value | Missing)[],
  descending: readonly boolean[],
): string {
  let text = '';
  for (let index = 0; index < values.length; index++) {
    text += encodeKeyPart(values[index], descending[index] ?? false);
  }
  return text;
}

/**
 * The range of texts that all values of this value's type bracket fall into: `low <= text < high`,
 * for bounds of `$gt` and `$lt`, which never leave the bracket. Inverted for a descending part.
 */
export function bracketRange(value: Value | Missing, descending = false): [string, string] {
  const bracket = typeBracket(value);
  const low = bracketUnit(bracket);
  const high = bracketUnit(bracket + 1);
  return descending ? [`${invert(low)}`, invert(bracketUnit(bracket - 1))] : [low, high];
}

/** Each unit from the other end. */
export function invert(text: string): string {
  let inverted = '';
  for (let index = 0; index < text.length; index++) {
    inverted += String.fromCharCode(0xffff - text.charCodeAt(index));
  }
  return inverted;
}

function encodeValue(value: Value | Missing): string {
  const bracket = typeBracket(value);
  return bracketUnit(bracket) + encodeWithin(bracket, value as Value);
}

function encodeWithin(bracket: number, value: Value): string {
  switch (bracket) {
    case 10:
      return encodeNumber(value as Numeric);
    case 15:
      return encodeText(value instanceof BSONSymbol ? value.value : (value as string));
    case 20:
      return encodeDoc(value as Doc);
    case 25:
      return encodeArray(value as Value[]);
    case 30:
      return encodeBinary(value as Binary);
    case 35:
      return encodeBytes((value as ObjectId).id);
    case 40:
      return value ? '\u0002' : MORE;
    case 45:
      return encodeDouble((value as Date).getTime());
    case 47:
      return uint32((value as Timestamp).high) + uint32((value as Timestamp).low);
    case 50:
      return encodeText((value as BSONRegExp).pattern) + encodeText((value as BSONRegExp).options);
    case 55:
      return encodePointer(value as DbPointer);
    case 60:
      return encodeText((value as Code).code);
    case 65:
      return encodeText((value as Code).code) + encodeDoc((value as Code).scope as unknown as Doc);
    default:
      return '';
  }
}

/** Text in code point order; a zero unit inside is escaped so that the end sorts first. */
function encodeText(text: string): string {
  if (!NEEDS_MAPPING.test(text)) return text + END + END;
  let mapped = '';
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === 0) mapped += END + MORE;
    else if (unit < 0xd800) mapped += text[index]!;
    else mapped += String.fromCharCode(unit >= 0xe000 ? unit - 0x800 : unit + 0x2000);
  }
  return mapped + END + END;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the zero unit is what is looked for.
const NEEDS_MAPPING = /[\u0000\ud800-\uffff]/;

function encodeDoc(doc: Doc): string {
  let text = '';
  for (const [key, value] of doc) {
    const bracket = typeBracket(value);
    text += bracketUnit(bracket) + encodeText(key) + encodeWithin(bracket, value);
  }
  return text + END;
}

function encodeArray(items: readonly Value[]): string {
  let text = '';
  for (const item of items) text += encodeValue(item);
  return text + END;
}

function encodeBytes(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function encodeBinary(value: Binary): string {
  return uint32(value.position) + String.fromCharCode(value.sub_type) + encodeBytes(value.value());
}

function encodePointer(value: DbPointer): string {
  return uint32(value.namespace.length) + encodeText(value.namespace) + encodeBytes(value.id.id);
}

function uint32(value: number): string {
  return String.fromCharCode((value >>> 16) & 0xffff, value & 0xffff);
}

const view = new DataView(new ArrayBuffer(8));

/** A double in four units: negative numbers with all bits turned, others with the sign turned. */
function encodeDouble(value: number): string {
  view.setFloat64(0, value === 0 ? 0 : value);
  const negative = view.getUint8(0) > 0x7f;
  const flip = negative ? 0xffff : 0;
  return String.fromCharCode(
    view.getUint16(0) ^ (negative ? 0xffff : 0x8000),
    view.getUint16(2) ^ flip,
    view.getUint16(4) ^ flip,
    view.getUint16(6) ^ flip,
  );
}

/**
 * The greatest double that is not above the number, then nothing where that is the number itself,
 * else the number's decimal digits. NaN is below all others.
 */
function encodeNumber(value: Numeric): string {
  if (value instanceof Int32) return encodeDouble(value.value) + END;
  if (typeof value === 'number') {
    return Number.isNaN(value) ? `${END}${END}${END}${END}${END}` : encodeDouble(value) + END;
  }
  const rounded = toDouble(value);
  if (value instanceof Long && Number.isSafeInteger(rounded)) return encodeDouble(rounded) + END;
  if (Number.isNaN(rounded)) return `${END}${END}${END}${END}${END}`;
  const exact =
    value instanceof Decimal128 ? decimalParts(value) : decimalOfBigInt(value.toBigInt());
  if (exact.kind !== 'finite') return encodeDouble(rounded) + END;
  let floor = Number.isFinite(rounded) ? rounded : Math.sign(rounded) * Number.MAX_VALUE;
  let distance = compareDecimalParts(exact, exactDecimalOfDouble(floor));
  if (distance < 0) {
    floor = nextBelow(floor);
    distance = 1;
  }
  return distance === 0 ? encodeDouble(floor) + END : encodeDouble(floor) + encodeDigits(exact);
}

/** The next double down; below the least one there is only minus infinity. */
function nextBelow(value: number): number {
  if (value === 0) return -Number.MIN_VALUE;
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  view.setBigUint64(0, value > 0 ? bits - 1n : bits + 1n);
  return view.getFloat64(0);
}

/** A decimal's sign, power of ten and digits without trailing zeros, in order. */
function encodeDigits(parts: DecimalParts): string {
  const digits = parts.digits.toString();
  const power = parts.exponent + digits.length + 0x4000;
  const text = String.fromCharCode(power) + digits.replace(/0+$/, '') + END;
  return parts.negative ? `${MORE}${invert(text)}` : `\u0002${text}`;
}
