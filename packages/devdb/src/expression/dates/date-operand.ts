import { DbError } from '../../errors.js';
import { typeName } from '../../values/type-names.js';
import { type Doc, ObjectId, Timestamp } from '../../values/value.js';
import { type Evaluated, type Expression, isNullish } from '../expression.js';
import { type TimeZone, timeZoneOf, UTC } from './time-zone.js';

/** The instant of a date, a timestamp or an ObjectId, in milliseconds; 16006 for other types. */
export function instantOf(value: Evaluated): number {
  if (value instanceof Date) return value.getTime();
  if (value instanceof Timestamp) return value.t * 1000;
  if (value instanceof ObjectId) return value.getTimestamp().getTime();
  throw new DbError(16006, `can't convert from BSON type ${typeName(value)} to Date`);
}

/** How a time zone is found for a document; null where the expression for it gives null. */
export type ZoneReader = (root: Doc) => TimeZone | null;

/**
 * Compiles the `timezone` parameter; UTC without one. A constant zone is looked up once. `code` is
 * the error for a zone that is no text, which differs between the operators.
 */
export function zoneReader(timezone: Expression | undefined, code: 40517 | 40533): ZoneReader {
  if (!timezone) return () => UTC;
  const zoneOf = (value: Evaluated): TimeZone | null => {
    if (isNullish(value)) return null;
    if (typeof value === 'string') return timeZoneOf(value);
    throw new DbError(code, `timezone must evaluate to a string, found ${typeName(value)}`);
  };
  if (!timezone.constant) return (root) => zoneOf(timezone.evaluate(root));
  let known: { zone: TimeZone | null } | undefined;
  return (root) => {
    known ??= { zone: zoneOf(timezone.evaluate(root)) };
    return known.zone;
  };
}
