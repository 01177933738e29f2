import { ObjectId } from 'mongodb';
import { StoreError } from '../../errors.js';
import { subtype, type } from './bson-writer.js';

/** The value of {@link encodePayload}'s bytes. Throws StoreError for bytes that are something else. */
export function decodePayload(bytes: Uint8Array): unknown {
  const reader = new BsonReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  try {
    return reader.document()[0]?.[1];
  } catch (error) {
    throw new StoreError('A stored payload cannot be read: it is no BSON document of ours.', {
      cause: error,
    });
  }
}

class BsonReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Names and values in order. */
  document(): [string, unknown][] {
    const entries: [string, unknown][] = [];
    const end = this.#at + this.#int32();
    while (this.#at < end - 1) {
      const kind = this.#byte();
      entries.push([this.#name(), this.#value(kind)]);
    }
    this.#at = end;
    return entries;
  }

  #value(kind: number): unknown {
    switch (kind) {
      case type.undefined:
        return undefined;
      case type.null:
        return null;
      case type.boolean:
        return this.#byte() === 1;
      case type.int32:
        return this.#int32();
      case type.double:
        return this.#bytes.readDoubleLE(this.#skip(8));
      case type.int64:
        return this.#bytes.readBigInt64LE(this.#skip(8));
      case type.date:
        return new Date(Number(this.#bytes.readBigInt64LE(this.#skip(8))));
      case type.objectId:
        return new ObjectId(Uint8Array.from(this.#slice(12)));
      case type.string: {
        const text = this.#slice(this.#int32());
        return text.toString('utf8', 0, text.length - 1);
      }
      case type.array:
        return this.document().map(([, value]) => value);
      case type.document:
        return objectOf(this.document());
      case type.binary:
        return this.#binary();
      default:
        throw new RangeError(`unexpected type ${kind}`);
    }
  }

  #binary(): unknown {
    const length = this.#int32();
    const kind = this.#byte();
    switch (kind) {
      case subtype.bytes:
        return Uint8Array.from(this.#slice(length));
      case subtype.buffer:
        return Buffer.from(this.#slice(length));
      case subtype.bigint:
        return BigInt(this.#slice(length).toString('latin1'));
      case subtype.utf16:
        return this.#slice(length).toString('utf16le');
      case subtype.pairs: {
        const flat = this.document().map(([, value]) => value);
        const entries: [string, unknown][] = [];
        for (let index = 0; index < flat.length; index += 2) {
          entries.push([flat[index] as string, flat[index + 1]]);
        }
        return objectOf(entries);
      }
      default:
        throw new RangeError(`unexpected binary ${kind}`);
    }
  }

  #byte(): number {
    return this.#bytes.readUInt8(this.#skip(1));
  }

  #int32(): number {
    return this.#bytes.readInt32LE(this.#skip(4));
  }

  #name(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    const name = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 1;
    return name;
  }

  #slice(length: number): Buffer {
    const from = this.#skip(length);
    if (length < 0 || this.#at > this.#bytes.length) throw new RangeError('length out of bounds');
    return this.#bytes.subarray(from, this.#at);
  }

  #skip(length: number): number {
    const at = this.#at;
    this.#at += length;
    return at;
  }
}

function objectOf(entries: readonly [string, unknown][]): object {
  const object: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    // Assigning would set the prototype.
    if (key === '__proto__') {
      Object.defineProperty(object, key, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    } else {
      object[key] = value;
    }
  }
  return object;
}
