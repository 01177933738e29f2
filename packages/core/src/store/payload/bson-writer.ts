/** BSON's bytes, written without a schema and without rules about keys. Growable; stops at a hard limit. */

/** Type bytes and binary subtypes that payloads use; the user-defined subtypes are ours (docs/payloads.md). */
export const type = {
  double: 0x01,
  string: 0x02,
  document: 0x03,
  array: 0x04,
  binary: 0x05,
  undefined: 0x06,
  objectId: 0x07,
  boolean: 0x08,
  date: 0x09,
  null: 0x0a,
  int32: 0x10,
  int64: 0x12,
} as const;

export const subtype = {
  /** A Uint8Array. */
  bytes: 0x00,
  /** A bigint outside 64 bits: its decimal text. */
  bigint: 0x80,
  /** A Buffer. */
  buffer: 0x81,
  /** A string with lone surrogates, which UTF-8 cannot carry: UTF-16LE. */
  utf16: 0x82,
  /** An object with a key that a BSON name cannot be: an array of keys and values in turn. */
  pairs: 0x83,
} as const;

/** Thrown by the writer when `hardLimit` is passed: there is no use in encoding the rest. */
export class TooLarge extends Error {}

export class BsonWriter {
  #bytes = Buffer.allocUnsafe(256);
  #length = 0;
  readonly #hardLimit: number;

  constructor(hardLimit: number) {
    this.#hardLimit = hardLimit;
  }

  get length(): number {
    return this.#length;
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#length++] = value;
  }

  int32(value: number): void {
    this.#room(4);
    this.#length = this.#bytes.writeInt32LE(value, this.#length);
  }

  int64(value: bigint): void {
    this.#room(8);
    this.#length = this.#bytes.writeBigInt64LE(value, this.#length);
  }

  double(value: number): void {
    this.#room(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  bytes(value: Uint8Array): void {
    this.#room(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** A name: zero-terminated UTF-8. The caller has checked that it holds no zero. */
  name(text: string): void {
    this.#text(text);
    this.byte(0);
  }

  /** A string value: length, UTF-8, zero. */
  string(text: string): void {
    const start = this.#length;
    this.int32(0);
    this.#text(text);
    this.byte(0);
    this.#bytes.writeInt32LE(this.#length - start - 4, start);
  }

  /** Leaves room for a document's length; returns where. */
  open(): number {
    const start = this.#length;
    this.int32(0);
    return start;
  }

  /** Ends a document: its zero, and its length at `start`. */
  close(start: number): void {
    this.byte(0);
    this.#bytes.writeInt32LE(this.#length - start, start);
  }

  /** Writes at `lengthAt` how many bytes have come since `start`. */
  setLength(lengthAt: number, start: number): void {
    this.#bytes.writeInt32LE(this.#length - start, lengthAt);
  }

  binary(kind: number, value: Uint8Array): void {
    this.int32(value.length);
    this.byte(kind);
    this.bytes(value);
  }

  #text(text: string): void {
    this.#room(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
  }

  #room(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    if (this.#length > this.#hardLimit) throw new TooLarge();
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
