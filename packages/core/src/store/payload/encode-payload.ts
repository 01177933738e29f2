/**
 * A value of the user's as bytes: a BSON document `{ v: value }`, so that any language can read it.
 *
 * What comes back equal: null, booleans, numbers (-0, NaN, infinities), strings, bigints, Date, ObjectId, Uint8Array,
 * Buffer, arrays, plain objects with any key, and `undefined` where it stands. What would come back changed is refused
 * with its path: functions, symbols, class instances, Map, Set, Error, RegExp, other typed arrays, invalid dates, cycles.
 */
import { PayloadError } from '../../errors.js';
import { BsonWriter, subtype, TooLarge, type } from './bson-writer.js';

/** Deeper nesting is refused: it is a cycle in disguise, and would end in a stack overflow. */
const maxDepth = 1_000;
const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;

/**
 * Encodes `value`, which errors call `name` (`result`, `params`). Throws PayloadError with the path of the offender,
 * or naming the size when it is more than `limitBytes`; neither is retryable.
 */
export function encodePayload(value: unknown, name: string, limitBytes: number): Buffer {
  const hardLimit = Math.max(limitBytes, 1_048_576) * 64;
  const writer = new BsonWriter(hardLimit);
  const encoder = new PayloadEncoder(writer);
  try {
    const start = writer.open();
    encoder.element('v', value, [name]);
    writer.close(start);
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    throw tooLarge(name, `more than ${hardLimit}`, limitBytes);
  }
  if (writer.length > limitBytes) throw tooLarge(name, String(writer.length), limitBytes);
  return writer.finish();
}

function tooLarge(name: string, size: string, limitBytes: number): PayloadError {
  return new PayloadError(name, `${name} too large: ${size} bytes, the limit is ${limitBytes}`, {
    hint: 'Store large data elsewhere (a file, a bucket, a collection of your own) and pass its address.',
  });
}

type Path = (string | number)[];
/** Writes an element's type and name. */
type Head = (kind: number) => void;

class PayloadEncoder {
  readonly #writer: BsonWriter;
  readonly #ancestors = new Set<object>();

  constructor(writer: BsonWriter) {
    this.#writer = writer;
  }

  element(key: string, value: unknown, path: Path): void {
    const writer = this.#writer;
    const head: Head = (kind) => {
      writer.byte(kind);
      writer.name(key);
    };
    switch (typeof value) {
      case 'undefined':
        head(type.undefined);
        break;
      case 'boolean':
        head(type.boolean);
        writer.byte(value ? 1 : 0);
        break;
      case 'number':
        this.#number(head, value);
        break;
      case 'bigint':
        this.#bigint(head, value);
        break;
      case 'string':
        this.#string(head, value);
        break;
      case 'object':
        if (value === null) head(type.null);
        else this.#object(head, value, path);
        break;
      default:
        throw refused(path, typeof value === 'symbol' ? 'a symbol' : describeFunction(value));
    }
  }

  #number(head: Head, value: number): void {
    if (value === (value | 0) && !Object.is(value, -0)) {
      head(type.int32);
      this.#writer.int32(value);
    } else {
      head(type.double);
      this.#writer.double(value);
    }
  }

  #bigint(head: Head, value: bigint): void {
    if (value >= minInt64 && value <= maxInt64) {
      head(type.int64);
      this.#writer.int64(value);
    } else {
      head(type.binary);
      this.#writer.binary(subtype.bigint, Buffer.from(value.toString(), 'latin1'));
    }
  }

  #string(head: Head, value: string): void {
    if (isWellFormed(value)) {
      head(type.string);
      this.#writer.string(value);
    } else {
      head(type.binary);
      this.#writer.binary(subtype.utf16, Buffer.from(value, 'utf16le'));
    }
  }

  #object(head: Head, value: object, path: Path): void {
    const objectId = objectIdBytes(value);
    if (Buffer.isBuffer(value)) {
      head(type.binary);
      this.#writer.binary(subtype.buffer, value);
    } else if (isUint8Array(value)) {
      head(type.binary);
      this.#writer.binary(subtype.bytes, value);
    } else if (isDate(value)) {
      const ms = value.getTime();
      if (Number.isNaN(ms)) throw refused(path, 'an invalid Date');
      head(type.date);
      this.#writer.int64(BigInt(ms));
    } else if (objectId !== null) {
      head(type.objectId);
      this.#writer.bytes(objectId);
    } else {
      this.#nested(head, value, path);
    }
  }

  #nested(head: Head, value: object, path: Path): void {
    const isArray = Array.isArray(value);
    if (!isArray && !isPlain(value)) throw refused(path, describeInstance(value));
    if (this.#ancestors.has(value)) throw refused(path, 'a cycle (the value contains itself)');
    if (this.#ancestors.size >= maxDepth) throw refused(path, `nesting deeper than ${maxDepth}`);
    this.#ancestors.add(value);
    if (isArray) {
      head(type.array);
      this.#array(value, path);
    } else {
      this.#plain(head, value as Record<string, unknown>, path);
    }
    this.#ancestors.delete(value);
  }

  #array(value: readonly unknown[], path: Path): void {
    if (Object.getPrototypeOf(Object.getPrototypeOf(value))?.constructor?.name === 'Array') {
      throw refused(path, describeInstance(value));
    }
    const extra = Object.keys(value).find((key) => !isIndex(key));
    if (extra !== undefined) throw refused([...path, extra], 'a named property of an array');
    const start = this.#writer.open();
    for (let index = 0; index < value.length; index++) {
      path.push(index);
      this.element(String(index), value[index], path);
      path.pop();
    }
    this.#writer.close(start);
  }

  #plain(head: Head, value: Record<string, unknown>, path: Path): void {
    const symbols = Object.getOwnPropertySymbols(value);
    if (symbols.length > 0) throw refused(path, `a property named by ${String(symbols[0])}`);
    const keys = Object.keys(value);
    if (keys.every(isName)) this.#document(head, value, keys, path);
    else this.#pairs(head, value, keys, path);
  }

  #document(head: Head, value: Record<string, unknown>, keys: string[], path: Path): void {
    head(type.document);
    const start = this.#writer.open();
    for (const key of keys) {
      path.push(key);
      this.element(key, value[key], path);
      path.pop();
    }
    this.#writer.close(start);
  }

  /** An object with keys that no BSON name can be: its keys and values in turn, as an array in a binary of our own. */
  #pairs(head: Head, value: Record<string, unknown>, keys: string[], path: Path): void {
    head(type.binary);
    const writer = this.#writer;
    const lengthAt = writer.open();
    writer.byte(subtype.pairs);
    const start = writer.open();
    for (const [index, key] of keys.entries()) {
      path.push(key);
      this.element(String(2 * index), key, path);
      this.element(String(2 * index + 1), value[key], path);
      path.pop();
    }
    writer.close(start);
    writer.setLength(lengthAt, start);
  }
}

function refused(path: Path, what: string): PayloadError {
  const text = pathText(path);
  return new PayloadError(text, `${text}: ${what} cannot be stored`, {
    hint: 'Return plain data: null, booleans, numbers, bigints, strings, Date, ObjectId, bytes, arrays and plain objects.',
  });
}

function pathText([root, ...rest]: Path): string {
  let text = String(root);
  for (const [index, part] of rest.entries()) {
    if (index === 20) return `${text}...`;
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[A-Za-z_$][\w$]*$/.test(part)) text += `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}

function describeFunction(value: unknown): string {
  const name = (value as { name?: unknown }).name;
  return `a function${typeof name === 'string' && name !== '' ? ` (${name})` : ''}`;
}

function describeInstance(value: object): string {
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
  const shown = typeof name === 'string' && name !== '' ? name : 'a class of its own';
  return `an instance of ${shown}`;
}

/** Made by `{}`, `Object.create(null)` or JSON.parse, of this realm or another. */
function isPlain(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  return (
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'hasOwnProperty') &&
    Object.hasOwn(prototype, 'isPrototypeOf')
  );
}

/** A Uint8Array of any realm, and no class derived from it. */
function isUint8Array(value: object): value is Uint8Array {
  return (
    Object.prototype.toString.call(value) === '[object Uint8Array]' &&
    Object.getPrototypeOf(value)?.constructor?.name === 'Uint8Array'
  );
}

function isDate(value: object): value is Date {
  return value instanceof Date || Object.prototype.toString.call(value) === '[object Date]';
}

/** The bytes of an ObjectId of any copy of bson; an object of the user's with a `_bsontype` key is none. */
function objectIdBytes(value: object): Uint8Array | null {
  if (isPlain(value) || (value as { _bsontype?: unknown })._bsontype !== 'ObjectId') return null;
  const hex = (value as { toHexString?: () => string }).toHexString?.();
  return hex !== undefined && /^[0-9a-f]{24}$/i.test(hex) ? Buffer.from(hex, 'hex') : null;
}

function isName(key: string): boolean {
  return !key.includes('\0') && isWellFormed(key);
}

function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d*)$/.test(key);
}

const loneSurrogate = /\p{Surrogate}/u;

function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}
