import { DbError } from '../../errors.js';
import { typeName } from '../../values/type-names.js';
import { isDoc, type Value } from '../../values/value.js';
import { type Evaluated, type Expression, isNullish } from '../expression.js';
import type { Operator } from '../operator.js';
import type { Scope } from '../scope.js';
import { checkFormat, formatDate, readDate } from './date-format.js';
import { instantOf, zoneReader } from './date-operand.js';
import { conversionFailure, dateOfText } from './date-text.js';
import { type TimeZone, UTC } from './time-zone.js';

/** Dates to text and back: `$dateToString` and `$dateFromString`. */
export const DATE_TEXT: readonly Operator[] = [
  { name: '$dateToString', compile: compileDateToString },
  { name: '$dateFromString', compile: compileDateFromString },
];

/** Compiles the named operands that are there. */
function operandsByName(
  name: string,
  operand: Value,
  scope: Scope,
  known: readonly string[],
  codes: { notObject: number; unknown: number },
): ReadonlyMap<string, Expression> {
  if (!isDoc(operand)) {
    throw new DbError(codes.notObject, `${name} only supports an object as its argument`);
  }
  for (const key of operand.keys()) {
    if (!known.includes(key)) {
      throw new DbError(codes.unknown, `Unrecognized argument to ${name}: ${key}`);
    }
  }
  return new Map([...operand].map(([key, value]) => [key, scope.compile(value)]));
}

function compileDateToString(operand: Value, scope: Scope): Expression {
  const known = ['format', 'date', 'timezone', 'onNull'];
  const codes = { notObject: 18629, unknown: 18534 };
  const operands = operandsByName('$dateToString', operand, scope, known, codes);
  const date = operands.get('date');
  if (!date) throw new DbError(18628, "Missing 'date' parameter to $dateToString");
  const format = operands.get('format');
  const onNull = operands.get('onNull');
  // A constant format is checked while parsing, as in MongoDB.
  if (format?.constant) formatOf(format.evaluate(new Map()));
  const readZone = zoneReader(operands.get('timezone'), 40517);
  return scope.computed([...operands.values()], (root) => {
    const value = date.evaluate(root);
    const given = format ? formatOf(format.evaluate(root)) : undefined;
    if (given === null) return null;
    const zone = readZone(root);
    if (!zone) return null;
    const pattern = given ?? (zone === UTC ? `${ISO_FORMAT}Z` : ISO_FORMAT);
    if (isNullish(value)) return onNull ? onNull.evaluate(root) : null;
    return formatDate(instantOf(value), zone, pattern);
  });
}

const ISO_FORMAT = '%Y-%m-%dT%H:%M:%S.%L';

function formatOf(value: Evaluated): string | null {
  if (isNullish(value)) return null;
  if (typeof value !== 'string') {
    throw new DbError(
      18533,
      `$dateToString requires that 'format' be a string, found: ${typeName(value)}`,
    );
  }
  checkFormat(value, false);
  return value;
}

function compileDateFromString(operand: Value, scope: Scope): Expression {
  const known = ['dateString', 'format', 'timezone', 'onNull', 'onError'];
  const codes = { notObject: 40540, unknown: 40541 };
  const operands = operandsByName('$dateFromString', operand, scope, known, codes);
  const source = operands.get('dateString');
  if (!source) throw new DbError(40542, "Missing 'dateString' parameter to $dateFromString");
  const format = operands.get('format');
  const onNull = operands.get('onNull');
  const onError = operands.get('onError');
  const readZone = zoneReader(operands.get('timezone'), 40517);
  return scope.computed([...operands.values()], (root) => {
    const text = source.evaluate(root);
    const pattern = format ? format.evaluate(root) : undefined;
    if (pattern !== undefined && !isNullish(pattern)) checkPattern(pattern);
    const zone = readZone(root);
    if (isNullish(text)) return onNull ? onNull.evaluate(root) : null;
    if (!zone || (format && isNullish(pattern))) return null;
    try {
      return new Date(readInstant(text, pattern as string | undefined, zone));
    } catch (error) {
      if (onError && error instanceof DbError && error.code === 241) return onError.evaluate(root);
      throw error;
    }
  });
}

function checkPattern(pattern: Exclude<Evaluated, undefined>): void {
  if (typeof pattern !== 'string') {
    throw new DbError(
      40684,
      `$dateFromString requires that 'format' be a string, found: ${typeName(pattern)}`,
    );
  }
  checkFormat(pattern, true);
}

function readInstant(text: Evaluated, pattern: string | undefined, zone: TimeZone): number {
  if (typeof text !== 'string') {
    throw conversionFailure(
      `$dateFromString requires that 'dateString' be a string, found: ${typeName(text)}`,
    );
  }
  if (pattern === undefined) return dateOfText(text, zone);
  const read = readDate(text, pattern, zone);
  if (read !== undefined) return read;
  throw conversionFailure(`Error parsing date string '${text}' with the format '${pattern}'`);
}
