import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  DbPointer,
  Decimal128,
  Int32,
  Long,
  MaxKey,
  MinKey,
  type Missing,
  ObjectId,
  Timestamp,
  type Value,
} from './value.js';

/** The codes of the BSON types, as they stand on the wire and in `$type`. */
export const TypeCode = {
  double: 1,
  string: 2,
  object: 3,
  array: 4,
  binData: 5,
  undefined: 6,
  objectId: 7,
  bool: 8,
  date: 9,
  null: 10,
  regex: 11,
  dbPointer: 12,
  javascript: 13,
  symbol: 14,
  javascriptWithScope: 15,
  int: 16,
  timestamp: 17,
  long: 18,
  decimal: 19,
  minKey: -1,
  maxKey: 127,
} as const;

/** The name of a BSON type, as `$type` takes it and as error messages print it. */
export type TypeName = keyof typeof TypeCode;

const NAME_BY_CODE = new Map<number, TypeName>(
  Object.entries(TypeCode).map(([name, code]) => [code, name as TypeName]),
);

/** The type name of a code, or undefined for a code that is no BSON type. */
export function typeNameOfCode(code: number): TypeName | undefined {
  return NAME_BY_CODE.get(code);
}

/** The name of a value's BSON type; `missing` for an absent field. */
export function typeName(value: Value | Missing): TypeName | 'missing' {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'number':
      return 'double';
    case 'boolean':
      return 'bool';
    case 'undefined':
      return 'undefined';
    case 'symbol':
      return 'missing';
  }
  if (value === null) return 'null';
  if (value instanceof Map) return 'object';
  if (Array.isArray(value)) return 'array';
  if (value instanceof Int32) return 'int';
  if (value instanceof Timestamp) return 'timestamp';
  if (value instanceof Long) return 'long';
  if (value instanceof Date) return 'date';
  if (value instanceof ObjectId) return 'objectId';
  if (value instanceof Decimal128) return 'decimal';
  if (value instanceof Binary) return 'binData';
  if (value instanceof BSONRegExp) return 'regex';
  if (value instanceof Code) return value.scope === null ? 'javascript' : 'javascriptWithScope';
  if (value instanceof BSONSymbol) return 'symbol';
  if (value instanceof DbPointer) return 'dbPointer';
  if (value instanceof MinKey) return 'minKey';
  if (value instanceof MaxKey) return 'maxKey';
  throw new TypeError(`not a BSON value: ${Object.prototype.toString.call(value)}`);
}

/**
 * The place of a value's type in MongoDB's canonical order. Types of one bracket share it: all
 * numbers, string and symbol, undefined and the missing field.
 */
export function typeBracket(value: Value | Missing): number {
  switch (typeof value) {
    case 'string':
      return 15;
    case 'number':
      return 10;
    case 'boolean':
      return 40;
    case 'undefined':
    case 'symbol':
      return 0;
  }
  if (value === null) return 5;
  if (value instanceof Int32) return 10;
  if (value instanceof Map) return 20;
  if (Array.isArray(value)) return 25;
  if (value instanceof Date) return 45;
  if (value instanceof ObjectId) return 35;
  return BRACKETS[typeName(value) as TypeName];
}

const BRACKETS: Readonly<Record<TypeName, number>> = {
  minKey: -1,
  undefined: 0,
  null: 5,
  double: 10,
  int: 10,
  long: 10,
  decimal: 10,
  string: 15,
  symbol: 15,
  object: 20,
  array: 25,
  binData: 30,
  objectId: 35,
  bool: 40,
  date: 45,
  timestamp: 47,
  regex: 50,
  dbPointer: 55,
  javascript: 60,
  javascriptWithScope: 65,
  maxKey: 127,
};
