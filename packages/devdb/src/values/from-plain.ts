import { type Doc, int32, type Value } from './value.js';

/** A whole number that is to stay a double. */
export class Double {
  constructor(readonly value: number) {}
}

/** A literal in code: objects become documents, whole numbers ints; BSON values stay as they are. */
export type Plain =
  | Double
  | Exclude<Value, Doc | Value[]>
  | Doc
  | readonly Plain[]
  | { readonly [key: string]: Plain };

/**
 * The BSON value of a literal. A whole number of 32 bits becomes an Int32, every other number a
 * double; {@link Double} keeps a whole one a double.
 */
export function fromPlain(plain: Plain): Value {
  if (typeof plain === 'number') {
    return Number.isInteger(plain) && Math.abs(plain) < 2 ** 31 && !Object.is(plain, -0)
      ? int32(plain)
      : plain;
  }
  if (plain instanceof Double) return plain.value;
  if (Array.isArray(plain)) return plain.map(fromPlain);
  if (typeof plain !== 'object' || plain === null) return plain as Value;
  if (Object.getPrototypeOf(plain) !== Object.prototype) return plain as Value;
  return new Map(Object.entries(plain).map(([key, value]) => [key, fromPlain(value as Plain)]));
}

/** The document of an object literal. */
export function fromPlainDoc(plain: { readonly [key: string]: Plain }): Doc {
  return fromPlain(plain) as Doc;
}
