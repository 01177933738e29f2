import { DbError } from '../errors.js';
import { type SliceableBuffer, TextCache } from './text-cache.js';
import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  DbPointer,
  Decimal128,
  type Doc,
  int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  type Value,
} from './value.js';

/** How deep documents may nest, as in MongoDB: more is refused when it arrives. */
export const MAX_NESTING = 100;

/** The largest instant that both BSON users and JavaScript agree on, in milliseconds. */
const MAX_DATE_MS = 8.64e15;

const keyCache = new TextCache();
const textCache = new TextCache();
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads one BSON document that starts at `offset`. Throws `InvalidBSON` (22) for bytes that are
 * no well-formed document (a lying length, an unknown type, broken UTF-8), for dates outside of
 * JavaScript's range and for nesting deeper than {@link MAX_NESTING}. Never reads outside of the
 * document's own length. Of a repeated key the last value counts.
 */
export function decodeDocument(bytes: Uint8Array, offset = 0): Doc {
  if (offset < 0 || offset + 5 > bytes.length) throw invalid('the document is cut off', offset);
  const reader = new Reader(bytes, offset, bytes.length);
  return reader.document(1);
}

function invalid(reason: string, at: number): DbError {
  return new DbError(22, `not a valid BSON document: ${reason} (at byte ${at})`);
}

class Reader {
  private readonly bytes: SliceableBuffer;

  constructor(
    bytes: Uint8Array,
    private at: number,
    private end: number,
  ) {
    this.bytes = (
      Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    ) as SliceableBuffer;
  }

  document(depth: number): Doc {
    const outerEnd = this.enter(depth);
    const doc: Doc = new Map();
    for (;;) {
      const type = this.typeByte();
      if (type === 0) break;
      const key = this.key();
      doc.set(key, this.value(type, depth));
    }
    this.leave(outerEnd);
    return doc;
  }

  private array(depth: number): Value[] {
    const outerEnd = this.enter(depth);
    const items: Value[] = [];
    for (;;) {
      const type = this.typeByte();
      if (type === 0) break;
      this.skipKey();
      items.push(this.value(type, depth));
    }
    this.leave(outerEnd);
    return items;
  }

  /** Reads a length field and narrows the end to that document; returns the end outside of it. */
  private enter(depth: number): number {
    if (depth > MAX_NESTING) throw invalid(`nested deeper than ${MAX_NESTING} levels`, this.at);
    const start = this.at;
    const length = this.int();
    if (length < 5 || start + length > this.end) throw invalid(`a length of ${length}`, start);
    const outerEnd = this.end;
    this.end = start + length;
    return outerEnd;
  }

  private leave(outerEnd: number): void {
    if (this.at !== this.end) throw invalid('bytes after the end of a document', this.at);
    this.end = outerEnd;
  }

  private typeByte(): number {
    if (this.at >= this.end) throw invalid('the end is missing', this.at);
    return this.bytes[this.at++]!;
  }

  private need(count: number): number {
    const at = this.at;
    if (at + count > this.end) throw invalid('a value is cut off', at);
    this.at = at + count;
    return at;
  }

  private int(): number {
    return this.intAt(this.need(4));
  }

  private intAt(at: number): number {
    const { bytes } = this;
    return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
  }

  private skipKey(): void {
    const { bytes, end } = this;
    let at = this.at;
    while (at < end && bytes[at] !== 0) at++;
    if (at >= end) throw invalid('a key has no end', this.at);
    this.at = at + 1;
  }

  /** Field names repeat from document to document: short ASCII ones come out of a cache. */
  private key(): string {
    const start = this.at;
    this.skipKey();
    return this.repeated(start, this.at - 1, keyCache);
  }

  /** Text that is likely to have been seen before. */
  private repeated(start: number, end: number, cache: TextCache): string {
    return cache.ascii(this.bytes, start, end) ?? this.text(start, end);
  }

  private text(start: number, end: number): string {
    const text = this.bytes.utf8Slice(start, end);
    if (text.includes('\ufffd')) return this.strictText(start, end);
    return text;
  }

  /** A replacement character is there or was put there: only the strict decoder can tell. */
  private strictText(start: number, end: number): string {
    try {
      return strictUtf8.decode(this.bytes.subarray(start, end));
    } catch (cause) {
      throw new DbError(
        22,
        `not a valid BSON document: text that is not UTF-8 (at byte ${start})`,
        {
          cause,
        },
      );
    }
  }

  private string(): string {
    const length = this.int();
    if (length < 1) throw invalid(`a string length of ${length}`, this.at - 4);
    const start = this.need(length);
    const end = start + length - 1;
    if (this.bytes[end] !== 0) throw invalid('a string has no end', end);
    return this.repeated(start, end, textCache);
  }

  private cString(): string {
    const start = this.at;
    this.skipKey();
    return this.text(start, this.at - 1);
  }

  private value(type: number, depth: number): Value {
    switch (type) {
      case 0x01:
        return this.bytes.readDoubleLE(this.need(8));
      case 0x02:
        return this.string();
      case 0x03:
        return this.document(depth + 1);
      case 0x04:
        return this.array(depth + 1);
      case 0x05:
        return this.binary();
      case 0x06:
        return undefined;
      case 0x07:
        return this.objectId();
      case 0x08:
        return this.bool();
      case 0x09:
        return this.date();
      case 0x0a:
        return null;
      case 0x0b:
        return this.regExp();
      case 0x0c:
        return new DbPointer(this.string(), this.objectId());
      case 0x0d:
        return new Code(this.string());
      case 0x0e:
        return new BSONSymbol(this.string());
      case 0x0f:
        return this.codeWithScope(depth);
      case 0x10:
        return int32(this.int());
      case 0x11: {
        const at = this.need(8);
        return new Timestamp({ t: this.intAt(at + 4) >>> 0, i: this.intAt(at) >>> 0 });
      }
      case 0x12: {
        const at = this.need(8);
        return new Long(this.intAt(at), this.intAt(at + 4));
      }
      case 0x13:
        return new Decimal128(this.copy(this.need(16), 16));
      case 0xff:
        return new MinKey();
      case 0x7f:
        return new MaxKey();
      default:
        throw invalid(`an unknown type ${type}`, this.at);
    }
  }

  private copy(start: number, length: number): Buffer {
    return Buffer.from(this.bytes.subarray(start, start + length));
  }

  private objectId(): ObjectId {
    return new ObjectId(this.copy(this.need(12), 12));
  }

  private bool(): boolean {
    const byte = this.bytes[this.need(1)]!;
    if (byte > 1) throw invalid(`a boolean of ${byte}`, this.at - 1);
    return byte === 1;
  }

  private date(): Date {
    const at = this.need(8);
    const ms = this.intAt(at + 4) * 2 ** 32 + (this.intAt(at) >>> 0);
    if (ms > MAX_DATE_MS || ms < -MAX_DATE_MS) {
      throw invalid('a date outside of the years -271821 to 275760', at);
    }
    return new Date(ms);
  }

  private binary(): Binary {
    let length = this.int();
    const subtype = this.bytes[this.need(1)]!;
    if (length < 0) throw invalid(`a binary length of ${length}`, this.at - 5);
    const start = this.need(length);
    if (subtype !== 2) return new Binary(this.copy(start, length), subtype);
    // The old binary subtype repeats the length inside; the encoder writes it again.
    const inner = length < 4 ? -1 : this.intAt(start);
    if (inner !== length - 4) throw invalid('an old binary with two lengths', start);
    length = inner;
    return new Binary(this.copy(start + 4, length), subtype);
  }

  private regExp(): BSONRegExp {
    const pattern = this.cString();
    const at = this.at;
    const options = this.cString();
    if (!/^[ilmsux]*$/.test(options)) throw invalid('unknown options of a pattern', at);
    return new BSONRegExp(pattern, options);
  }

  private codeWithScope(depth: number): Code {
    const start = this.at;
    const length = this.int();
    const code = this.string();
    const scope = this.document(depth + 1);
    if (this.at - start !== length) throw invalid('a code length that lies', start);
    // The class declares a plain object; inside this server a scope is a Doc like all others.
    return new Code(code, scope as unknown as Record<string, unknown>);
  }
}
