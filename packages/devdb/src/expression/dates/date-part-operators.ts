import { DbError } from '../../errors.js';
import { typeName } from '../../values/type-names.js';
import { type Doc, int32, isDoc, Long, type Value } from '../../values/value.js';
import { type Expression, isNullish } from '../expression.js';
import type { Operator } from '../operator.js';
import type { Scope } from '../scope.js';
import { type CalendarFields, calendarFields } from './calendar.js';
import { DATE_FROM_PARTS } from './date-from-parts.js';
import { instantOf, zoneReader } from './date-operand.js';

/** The parts of a date, and dates from parts. */
export const DATE_PARTS: readonly Operator[] = [
  part('$year', 'year'),
  part('$month', 'month'),
  part('$dayOfMonth', 'day'),
  part('$dayOfWeek', 'dayOfWeek'),
  part('$dayOfYear', 'dayOfYear'),
  part('$hour', 'hour'),
  part('$minute', 'minute'),
  part('$second', 'second'),
  part('$millisecond', 'millisecond'),
  part('$week', 'week'),
  part('$isoWeek', 'isoWeek'),
  part('$isoDayOfWeek', 'isoDayOfWeek'),
  part('$isoWeekYear', 'isoWeekYear'),
  { name: '$dateToParts', compile: compileDateToParts },
  DATE_FROM_PARTS,
];

function part(name: string, field: keyof CalendarFields): Operator {
  return {
    name,
    compile(operand, scope) {
      const { date, timezone } = partOperands(name, operand, scope);
      const readZone = zoneReader(timezone, 40533);
      return scope.computed(timezone ? [date, timezone] : [date], (root) => {
        const value = date.evaluate(root);
        if (isNullish(value)) return null;
        const instant = instantOf(value);
        const zone = readZone(root);
        if (!zone) return null;
        const number = calendarFields(instant + zone.offsetAt(instant))[field];
        return field === 'isoWeekYear' ? Long.fromNumber(number) : int32(number);
      });
    },
  };
}

/** Either `{date, timezone}` or the date itself, which may stand in an array of one. */
function partOperands(
  name: string,
  operand: Value,
  scope: Scope,
): { date: Expression; timezone: Expression | undefined } {
  if (isDoc(operand) && !operand.keys().next().value?.startsWith('$')) {
    for (const key of operand.keys()) {
      if (key !== 'date' && key !== 'timezone') {
        throw new DbError(40535, `unrecognized option to ${name}: "${key}"`);
      }
    }
    if (!operand.has('date')) {
      throw new DbError(40539, `missing 'date' argument to ${name}, provided: an object`);
    }
    return {
      date: scope.compile(operand.get('date')),
      timezone: operand.has('timezone') ? scope.compile(operand.get('timezone')) : undefined,
    };
  }
  if (!Array.isArray(operand)) return { date: scope.compile(operand), timezone: undefined };
  if (operand.length !== 1) {
    throw new DbError(
      40536,
      `${name} accepts exactly one argument if given an array, but was given ${operand.length}`,
    );
  }
  return { date: scope.compile(operand[0] as Value), timezone: undefined };
}

const GREGORIAN = ['year', 'month', 'day'] as const;
const WEEKS = ['isoWeekYear', 'isoWeek', 'isoDayOfWeek'] as const;
const TIME = ['hour', 'minute', 'second', 'millisecond'] as const;

function compileDateToParts(operand: Value, scope: Scope): Expression {
  if (!isDoc(operand)) {
    throw new DbError(40524, '$dateToParts only supports an object as its argument');
  }
  for (const key of operand.keys()) {
    if (key !== 'date' && key !== 'timezone' && key !== 'iso8601') {
      throw new DbError(40520, `Unrecognized argument to $dateToParts: ${key}`);
    }
  }
  if (!operand.has('date')) throw new DbError(40522, "Missing 'date' parameter to $dateToParts");
  const date = scope.compile(operand.get('date'));
  const timezone = operand.has('timezone') ? scope.compile(operand.get('timezone')) : undefined;
  const iso = operand.has('iso8601') ? scope.compile(operand.get('iso8601')) : undefined;
  const readZone = zoneReader(timezone, 40517);
  const operands = [date, timezone, iso].filter((each) => each !== undefined);
  return scope.computed(operands, (root) => {
    const value = date.evaluate(root);
    const zone = readZone(root);
    if (!zone) return null;
    const byWeeks = iso ? iso.evaluate(root) : false;
    if (isNullish(byWeeks)) return null;
    if (typeof byWeeks !== 'boolean') {
      throw new DbError(40521, `iso8601 must evaluate to a bool, found ${typeName(byWeeks)}`);
    }
    if (isNullish(value)) return null;
    const instant = instantOf(value);
    const fields = calendarFields(instant + zone.offsetAt(instant));
    const names = [...(byWeeks ? WEEKS : GREGORIAN), ...TIME];
    return new Map(names.map((name) => [name, int32(fields[name])])) as Doc;
  });
}
