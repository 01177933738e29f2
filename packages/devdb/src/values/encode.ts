import { DbError } from '../errors.js';
import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  DbPointer,
  Decimal128,
  type Doc,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  type Value,
} from './value.js';

/** Documents that operators build may nest this deep before they are refused, as in MongoDB. */
const MAX_ENCODED_NESTING = 200;

/** A document that is encoded already: inside of another one its bytes are taken as they are. */
export class EncodedDocument {
  constructor(readonly bytes: Uint8Array) {}
}

/** What can be encoded. */
export type Encodable = ReadonlyMap<string, Value | EncodedDocument>;

let buffer = Buffer.allocUnsafeSlow(64 * 1024);
let at = 0;

/** The size of the scratch buffer above which it is given back after a large document. */
const KEEP_BYTES = 4 * 1024 * 1024;

/**
 * The bytes of a document. Throws `BadValue` (2) for a key with a zero byte and for nesting that
 * no decoder would take; the size of the result is not limited here.
 */
export function encodeDocument(doc: Encodable): Buffer {
  at = 0;
  document(doc, 1);
  const bytes = Buffer.allocUnsafe(at);
  buffer.copy(bytes, 0, 0, at);
  if (buffer.length > KEEP_BYTES) buffer = Buffer.allocUnsafeSlow(64 * 1024);
  return bytes;
}

let lastImage: Encodable | null = null;
let lastImageBytes: Uint8Array = new Uint8Array();

/**
 * Tells the bytes of a document that was stored just now and is never changed any more. What is encoded next often holds
 * that very document (what a retry has to be told): its bytes are taken then.
 */
export function rememberImage(image: Doc, bytes: Uint8Array): void {
  lastImage = image;
  lastImageBytes = bytes;
}

function grow(count: number): void {
  if (at + count <= buffer.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(buffer.length * 2, at + count));
  buffer.copy(larger, 0, 0, at);
  buffer = larger;
}

function enter(depth: number): number {
  if (depth > MAX_ENCODED_NESTING) {
    throw new DbError(15, `a document nests deeper than ${MAX_ENCODED_NESTING} levels`);
  }
  grow(5);
  const start = at;
  at += 4;
  return start;
}

function leave(start: number): void {
  grow(1);
  buffer[at++] = 0;
  buffer.writeInt32LE(at - start, start);
}

function document(doc: Encodable, depth: number): void {
  const start = enter(depth);
  for (const [key, value] of doc) element(key, value, depth);
  leave(start);
}

function array(items: readonly Value[], depth: number): void {
  const start = enter(depth);
  for (let index = 0; index < items.length; index++) element(String(index), items[index], depth);
  leave(start);
}

function cString(text: string): void {
  if (text.includes('\0')) throw new DbError(2, 'a key or a pattern must not hold a zero byte');
  rawText(text);
  grow(1);
  buffer[at++] = 0;
}

/** Writes text as UTF-8 without a length. Short ASCII text is written by hand, which is faster. */
function rawText(text: string): void {
  const { length } = text;
  grow(length * 3);
  if (length < 24) {
    let index = 0;
    for (; index < length; index++) {
      const unit = text.charCodeAt(index);
      if (unit > 0x7f) break;
      buffer[at + index] = unit;
    }
    if (index === length) {
      at += length;
      return;
    }
  }
  at += buffer.write(text, at);
}

function string(text: string): void {
  grow(4);
  const lengthAt = at;
  at += 4;
  rawText(text);
  grow(1);
  buffer[at++] = 0;
  buffer.writeInt32LE(at - lengthAt - 4, lengthAt);
}

function int(value: number): void {
  grow(4);
  at = buffer.writeInt32LE(value, at);
}

function raw(bytes: Uint8Array, length: number): void {
  grow(length);
  buffer.set(length === bytes.length ? bytes : bytes.subarray(0, length), at);
  at += length;
}

/** Writes the type byte and the key, then the value; the type byte is settled by the value. */
function element(key: string, value: Value | EncodedDocument, depth: number): void {
  grow(1);
  const typeAt = at++;
  cString(key);
  const type = payload(value, depth);
  buffer[typeAt] = type;
}

function payload(value: Value | EncodedDocument, depth: number): number {
  switch (typeof value) {
    case 'string':
      string(value);
      return 0x02;
    case 'number':
      grow(8);
      at = buffer.writeDoubleLE(value, at);
      return 0x01;
    case 'boolean':
      grow(1);
      buffer[at++] = value ? 1 : 0;
      return 0x08;
    case 'undefined':
      return 0x06;
  }
  if (value === null) return 0x0a;
  if (value instanceof Int32) {
    int(value.value);
    return 0x10;
  }
  if (value instanceof Map) {
    if (value === lastImage) raw(lastImageBytes, lastImageBytes.length);
    else document(value, depth + 1);
    return 0x03;
  }
  if (Array.isArray(value)) {
    array(value, depth + 1);
    return 0x04;
  }
  if (value instanceof Date) {
    const ms = value.getTime();
    const high = Math.floor(ms / 2 ** 32);
    grow(8);
    at = buffer.writeUInt32LE(ms - high * 2 ** 32, at);
    at = buffer.writeInt32LE(high, at);
    return 0x09;
  }
  if (value instanceof ObjectId) {
    raw(value.id, 12);
    return 0x07;
  }
  return rarePayload(value, depth);
}

function rarePayload(
  value:
    | Exclude<Value, string | number | boolean | undefined | null | Doc | Value[] | Date>
    | EncodedDocument,
  depth: number,
): number {
  if (value instanceof Long) {
    int(value.low);
    int(value.high);
    return value instanceof Timestamp ? 0x11 : 0x12;
  }
  if (value instanceof Decimal128) {
    raw(value.bytes, 16);
    return 0x13;
  }
  if (value instanceof Binary) {
    const old = value.sub_type === 2;
    int(old ? value.position + 4 : value.position);
    grow(1);
    buffer[at++] = value.sub_type;
    if (old) int(value.position);
    raw(value.buffer, value.position);
    return 0x05;
  }
  if (value instanceof BSONRegExp) {
    cString(value.pattern);
    cString(value.options);
    return 0x0b;
  }
  if (value instanceof Code) {
    if (value.scope === null) {
      string(value.code);
      return 0x0d;
    }
    const start = at;
    int(0);
    string(value.code);
    document(value.scope as unknown as Doc, depth + 1);
    buffer.writeInt32LE(at - start, start);
    return 0x0f;
  }
  if (value instanceof BSONSymbol) {
    string(value.value);
    return 0x0e;
  }
  if (value instanceof DbPointer) {
    string(value.namespace);
    raw(value.id.id, 12);
    return 0x0c;
  }
  if (value instanceof EncodedDocument) {
    raw(value.bytes, value.bytes.length);
    return 0x03;
  }
  if (value instanceof MinKey) return 0xff;
  if (value instanceof MaxKey) return 0x7f;
  throw new TypeError(`not a BSON value: ${Object.prototype.toString.call(value)}`);
}
