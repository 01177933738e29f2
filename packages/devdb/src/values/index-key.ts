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
  type Timestamp,
  type Value,
} from './value.js';

/*
 * Index keys as text that JavaScript's own `<` puts into MongoDB's order (the idea of MongoDB's
 * KeyString; the coding is our own). Each unit of the text is a byte: engines compare such strings
 * without leaving compiled code, and keep them in half the space. Each part starts with a byte for
 * the type's bracket, so that types never mix, and no part is a prefix of another one, so that
 * parts can be put together. A descending part has all its bytes inverted.
 */

/** Closes texts, documents and arrays; sorts before all that may follow instead. */
const END = 0;
const MORE = 1;

let bytes = Buffer.allocUnsafeSlow(4096) as ByteBuffer;
let at = 0;

/** Node's own slicing method, which its type declarations leave out. */
interface ByteBuffer extends Buffer {
  latin1Slice(start: number, end: number): string;
}

/** The text of one key part: equal values give equal text, smaller ones smaller text. */
export function encodeKeyPart(value: Value | Missing, descending = false): string {
  at = 0;
  writePart(value, descending);
  return bytes.latin1Slice(0, at);
}

/** The text of a whole key; `descending[i]` inverts the part at `i`. */
export function encodeKey(
  values: readonly (Value | Missing)[],
  descending: readonly boolean[],
): string {
  at = 0;
  for (let index = 0; index < values.length; index++) {
    writePart(values[index], descending[index] === true);
  }
  return bytes.latin1Slice(0, at);
}

/**
 * The range of texts that all values of this value's type bracket fall into: `low <= text < high`,
 * for bounds of `$gt` and `$lt`, which never leave the bracket. Inverted for a descending part.
 */
export function bracketRange(value: Value | Missing, descending = false): [string, string] {
  const opening = bracketByte(typeBracket(value));
  return descending
    ? [String.fromCharCode(0xff - opening), String.fromCharCode(0xff - opening + 1)]
    : [String.fromCharCode(opening), String.fromCharCode(opening + 1)];
}

/** The byte that opens a part of the given bracket (see `typeBracket`). */
function bracketByte(bracket: number): number {
  return bracket + 16;
}

function reserve(count: number): void {
  if (at + count <= bytes.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(bytes.length * 2, at + count)) as ByteBuffer;
  bytes.copy(larger, 0, 0, at);
  bytes = larger;
}

function writeByte(byte: number): void {
  reserve(1);
  bytes[at++] = byte;
}

function writePart(value: Value | Missing, descending: boolean): void {
  const start = at;
  writeValue(value);
  if (!descending) return;
  for (let index = start; index < at; index++) bytes[index] = 0xff - bytes[index]!;
}

function writeValue(value: Value | Missing): void {
  const bracket = typeBracket(value);
  writeByte(bracketByte(bracket));
  writeWithin(bracket, value as Value);
}

function writeWithin(bracket: number, value: Value): void {
  switch (bracket) {
    case 10:
      writeNumber(value as Numeric);
      break;
    case 15:
      writeText(value instanceof BSONSymbol ? value.value : (value as string));
      break;
    case 20:
      writeDoc(value as Doc);
      break;
    case 25:
      writeArray(value as Value[]);
      break;
    case 30:
      writeBinary(value as Binary);
      break;
    case 35:
      writeRaw((value as ObjectId).id);
      break;
    case 40:
      writeByte(value ? 2 : 1);
      break;
    case 45:
      writeDouble((value as Date).getTime());
      break;
    case 47:
      writeTimestamp(value as Timestamp);
      break;
    case 50:
      writeRegExp(value as BSONRegExp);
      break;
    case 55:
      writePointer(value as DbPointer);
      break;
    case 60:
      writeText((value as Code).code);
      break;
    case 65:
      writeScopedCode(value as Code);
      break;
  }
}

/** Text as UTF-8, whose order is that of the code points; a zero inside is followed by a one. */
function writeText(text: string): void {
  const { length } = text;
  reserve(length * 2 + 2);
  for (let index = 0; index < length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) {
      writeEscaped(Buffer.from(text.slice(index), 'utf8'));
      break;
    }
    bytes[at++] = unit;
    if (unit === 0) bytes[at++] = MORE;
  }
  reserve(2);
  bytes[at++] = END;
  bytes[at++] = END;
}

function writeEscaped(utf8: Uint8Array): void {
  reserve(utf8.length * 2);
  for (const byte of utf8) {
    bytes[at++] = byte;
    if (byte === 0) bytes[at++] = MORE;
  }
}

function writeDoc(doc: Doc): void {
  for (const [key, value] of doc) {
    const bracket = typeBracket(value);
    writeByte(bracketByte(bracket));
    writeText(key);
    writeWithin(bracket, value);
  }
  writeByte(END);
}

function writeArray(items: readonly Value[]): void {
  for (const item of items) writeValue(item);
  writeByte(END);
}

function writeRaw(raw: Uint8Array): void {
  reserve(raw.length);
  bytes.set(raw, at);
  at += raw.length;
}

function writeBinary(value: Binary): void {
  writeUint32(value.position);
  writeByte(value.sub_type);
  writeRaw(value.value());
}

function writeTimestamp(value: Timestamp): void {
  writeUint32(value.high >>> 0);
  writeUint32(value.low >>> 0);
}

function writeRegExp(value: BSONRegExp): void {
  writeText(value.pattern);
  writeText(value.options);
}

function writePointer(value: DbPointer): void {
  writeUint32(value.namespace.length);
  writeText(value.namespace);
  writeRaw(value.id.id);
}

function writeScopedCode(value: Code): void {
  writeText(value.code);
  writeDoc(value.scope as unknown as Doc);
}

function writeUint32(value: number): void {
  reserve(4);
  at = bytes.writeUInt32BE(value, at);
}

/** A double in eight bytes: negative numbers with all bits turned, others with the sign turned. */
function writeDouble(value: number): void {
  reserve(8);
  const start = at;
  at = bytes.writeDoubleBE(value === 0 ? 0 : value, at);
  if (bytes[start]! < 0x80) {
    bytes[start]! |= 0x80;
    return;
  }
  for (let index = start; index < at; index++) bytes[index] = 0xff - bytes[index]!;
}

/**
 * The greatest double that is not above the number, then nothing where that is the number itself,
 * else the number's decimal digits. NaN is below all others.
 */
function writeNumber(value: Numeric): void {
  const rounded = value instanceof Int32 ? value.value : toDouble(value);
  if (Number.isNaN(rounded)) {
    reserve(9);
    bytes.fill(END, at, at + 9);
    at += 9;
    return;
  }
  const isExact =
    value instanceof Int32 ||
    typeof value === 'number' ||
    (value instanceof Long && Number.isSafeInteger(rounded));
  if (isExact) {
    writeDouble(rounded);
    writeByte(END);
  } else writeExact(value, rounded);
}

function writeExact(value: Long | Decimal128, rounded: number): void {
  const exact =
    value instanceof Decimal128 ? decimalParts(value) : decimalOfBigInt(value.toBigInt());
  if (exact.kind !== 'finite') {
    writeDouble(rounded);
    writeByte(END);
    return;
  }
  let floor = Number.isFinite(rounded) ? rounded : Math.sign(rounded) * Number.MAX_VALUE;
  let distance = compareDecimalParts(exact, exactDecimalOfDouble(floor));
  if (distance < 0) {
    floor = nextBelow(floor);
    distance = 1;
  }
  writeDouble(floor);
  if (distance === 0) writeByte(END);
  else writeDigits(exact);
}

const view = new DataView(new ArrayBuffer(8));

/** The next double down; below the least one there is only minus infinity. */
function nextBelow(value: number): number {
  if (value === 0) return -Number.MIN_VALUE;
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  view.setBigUint64(0, value > 0 ? bits - 1n : bits + 1n);
  return view.getFloat64(0);
}

/** A decimal's sign, power of ten and digits without trailing zeros, in order. */
function writeDigits(parts: DecimalParts): void {
  const digits = parts.digits.toString();
  const power = parts.exponent + digits.length + 0x4000;
  writeByte(parts.negative ? MORE : 2);
  const start = at;
  writeByte(power >> 8);
  writeByte(power & 0xff);
  writeRaw(Buffer.from(digits.replace(/0+$/, ''), 'latin1'));
  writeByte(END);
  if (!parts.negative) return;
  for (let index = start; index < at; index++) bytes[index] = 0xff - bytes[index]!;
}
