import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'bson';

export {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
};

/**
 * A BSON document. A Map keeps the order of keys that look like numbers and takes any key
 * (`__proto__`, the empty string). Documents are immutable by convention: whoever changes one
 * builds a new Map and shares the values that stay.
 */
export type Doc = Map<string, Value>;

/**
 * A BSON value. `number` is a BSON double and nothing else; `undefined` is BSON undefined
 * (type 6), not an absent field: see {@link MISSING}. Dates are UTC with milliseconds.
 */
export type Value =
  | Doc
  | Value[]
  | string
  | boolean
  | null
  | undefined
  | number
  | Int32
  | Long
  | Decimal128
  | ObjectId
  | Date
  | Binary
  | BSONRegExp
  | Timestamp
  | Code
  | BSONSymbol
  | DbPointer
  | MinKey
  | MaxKey;

/** Stands for an absent field where `undefined` would mean BSON undefined. */
export const MISSING: unique symbol = Symbol('missing');

/** The type of {@link MISSING}. */
export type Missing = typeof MISSING;

/** A value of the deprecated BSON type 12, kept so that it survives storage. */
export class DbPointer {
  constructor(
    readonly namespace: string,
    readonly id: ObjectId,
  ) {}
}

/** A BSON number of any of the four types. */
export type Numeric = number | Int32 | Long | Decimal128;

/** Whether a value is a document (arrays are not). */
export function isDoc(value: unknown): value is Doc {
  return value instanceof Map;
}

/** Whether a value is a 64-bit integer. A bson `Timestamp` is a subclass of `Long` and is not. */
export function isLong(value: unknown): value is Long {
  return value instanceof Long && !(value instanceof Timestamp);
}

/** Whether a value is a number of any BSON type. */
export function isNumeric(value: unknown): value is Numeric {
  return (
    typeof value === 'number' ||
    value instanceof Int32 ||
    value instanceof Decimal128 ||
    isLong(value)
  );
}

/** MongoDB's idea of truth: false, null, undefined, a missing field and zero are false. */
export function isTruthy(value: Value | Missing): boolean {
  if (value === MISSING || value === null || value === undefined || value === false) return false;
  if (typeof value === 'number') return value !== 0;
  if (value instanceof Int32) return value.value !== 0;
  if (value instanceof Timestamp) return true;
  if (value instanceof Long) return !value.isZero();
  if (value instanceof Decimal128) return !isZeroDecimal(value);
  return true;
}

function isZeroDecimal(value: Decimal128): boolean {
  return /^-?0(\.0*)?(E[+-]?\d+)?$/.test(value.toString());
}

const SMALL_INTS = Array.from({ length: 1280 }, (_, index) => new Int32(index - 256));

/** An Int32 of the given whole number; small ones are shared. */
export function int32(value: number): Int32 {
  return value >= -256 && value < 1024 ? SMALL_INTS[value + 256]! : new Int32(value);
}

/** A document from its entries, for short literals in code. */
export function doc(...entries: [string, Value][]): Doc {
  return new Map(entries);
}
