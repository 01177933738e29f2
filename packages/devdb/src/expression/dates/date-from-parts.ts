import { DbError } from '../../errors.js';
import { typeName } from '../../values/type-names.js';
import { isDoc, isNumeric, type Value } from '../../values/value.js';
import { type Evaluated, type Expression, isNullish } from '../expression.js';
import { asInt32 } from '../numeric.js';
import type { Operator } from '../operator.js';
import type { Scope } from '../scope.js';
import { timeOf, timeOfWeekDate } from './calendar.js';
import { zoneReader } from './date-operand.js';

const TIME = ['hour', 'minute', 'second', 'millisecond'];
const KNOWN = [
  'year',
  'month',
  'day',
  'isoWeekYear',
  'isoWeek',
  'isoDayOfWeek',
  ...TIME,
  'timezone',
];

/** `$dateFromParts`: a date from its parts; a part outside of its range is carried over. */
export const DATE_FROM_PARTS: Operator = { name: '$dateFromParts', compile: compileDateFromParts };

function compileDateFromParts(operand: Value, scope: Scope): Expression {
  if (!isDoc(operand)) {
    throw new DbError(40519, '$dateFromParts only supports an object as its argument');
  }
  for (const key of operand.keys()) {
    if (!KNOWN.includes(key)) {
      throw new DbError(40518, `Unrecognized argument to $dateFromParts: ${key}`);
    }
  }
  const names = [...operand.keys()];
  const byWeeks = operand.has('isoWeekYear');
  if (!byWeeks && !operand.has('year')) {
    throw new DbError(
      40516,
      "$dateFromParts requires either 'year' or 'isoWeekYear' to be present",
    );
  }
  const foreign = byWeeks ? ['year', 'month', 'day'] : ['isoWeek', 'isoDayOfWeek'];
  if (names.some((name) => foreign.includes(name))) {
    throw new DbError(
      byWeeks ? 40489 : 40525,
      '$dateFromParts does not allow mixing natural dates with ISO dates',
    );
  }
  const parts = new Map(names.map((name) => [name, scope.compile(operand.get(name))]));
  const timezone = parts.get('timezone');
  parts.delete('timezone');
  const readZone = zoneReader(timezone, 40517);
  const dateNames = byWeeks ? ['isoWeekYear', 'isoWeek', 'isoDayOfWeek'] : ['year', 'month', 'day'];
  const operands = [...parts.values(), ...(timezone ? [timezone] : [])];
  return scope.computed(operands, (root) => {
    const numbers: number[] = [];
    for (const name of [...dateNames, ...TIME]) {
      const fallback = TIME.includes(name) ? 0 : 1;
      const number = parts.has(name) ? readPart(name, parts.get(name)!.evaluate(root)) : fallback;
      if (number === null) return null;
      numbers.push(number);
    }
    const zone = readZone(root);
    if (!zone) return null;
    const [first, second, third, ...time] = numbers as [number, number, number, ...number[]];
    const day = byWeeks ? timeOfWeekDate(first, second, third) : timeOf(first, second, third);
    const [hour, minute, secondOfMinute, millisecond] = time as [number, number, number, number];
    const local = day + ((hour * 60 + minute) * 60 + secondOfMinute) * 1000 + millisecond;
    return new Date(zone.instantOf(local));
  });
}

function readPart(name: string, value: Evaluated): number | null {
  if (isNullish(value)) return null;
  const number = isNumeric(value) ? asInt32(value) : undefined;
  if (number === undefined) {
    throw new DbError(40515, `'${name}' must evaluate to an integer, found ${typeName(value)}`);
  }
  if (name === 'year' || name === 'isoWeekYear') {
    if (number >= 1 && number <= 9999) return number;
    throw new DbError(
      name === 'year' ? 40523 : 31095,
      `'${name}' must evaluate to an integer in the range 1 to 9999, found ${number}`,
    );
  }
  if (name === 'second' || name === 'millisecond' || (number >= -32768 && number <= 32767)) {
    return number;
  }
  throw new DbError(
    31034,
    `'${name}' must evaluate to a value in the range [-32768, 32767]; value ${number} is not`,
  );
}
