import { typeName } from './type-names.js';
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
  type Missing,
  ObjectId,
  Timestamp,
  type Value,
} from './value.js';

/** How long a text may be in a message before it is cut, as in MongoDB. */
const MAX_TEXT = 160;

/** A document as MongoDB prints it in messages: `{ a: 1, b: "x" }`. */
export function formatDocument(doc: Doc): string {
  if (doc.size === 0) return '{}';
  return `{ ${[...doc].map(([key, value]) => `${key}: ${formatValue(value)}`).join(', ')} }`;
}

/** A value as MongoDB prints it in messages; doubles keep a `.0`. */
export function formatValue(value: Value | Missing): string {
  switch (typeof value) {
    case 'string':
      return `"${cut(value)}"`;
    case 'number':
      return formatDouble(value);
    case 'boolean':
      return String(value);
    case 'undefined':
      return 'undefined';
    case 'symbol':
      return 'missing';
  }
  if (value === null) return 'null';
  if (value instanceof Map) return formatDocument(value);
  if (Array.isArray(value)) {
    return value.length === 0 ? '[]' : `[ ${value.map(formatValue).join(', ')} ]`;
  }
  if (value instanceof Int32) return String(value.value);
  if (value instanceof Timestamp) return `Timestamp(${value.t}, ${value.i})`;
  if (value instanceof Long) return value.toString();
  if (value instanceof Decimal128) return `NumberDecimal("${value.toString()}")`;
  if (value instanceof Date) return `new Date(${value.getTime()})`;
  if (value instanceof ObjectId) return `ObjectId('${value.toHexString()}')`;
  if (value instanceof Binary) {
    return `BinData(${value.sub_type}, ${value.toString('hex').toUpperCase()})`;
  }
  if (value instanceof BSONRegExp) return `/${value.pattern}/${value.options}`;
  if (value instanceof Code) return value.code;
  if (value instanceof BSONSymbol) return `"${cut(value.value)}"`;
  if (value instanceof DbPointer) return `DBRef('${value.namespace}',${value.id.toHexString()})`;
  return typeName(value) === 'minKey' ? 'MinKey' : 'MaxKey';
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}...` : text;
}

function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'nan.0';
  if (!Number.isFinite(value)) return value > 0 ? 'inf.0' : '-inf.0';
  if (Object.is(value, -0)) return '-0.0';
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : String(value);
}
