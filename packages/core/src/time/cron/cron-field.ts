/** What one field of a cron expression may hold. */
export interface CronFieldRule {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** How many different values the field has (a week has 7 days although both 0 and 7 are Sunday). */
  readonly size: number;
  readonly names?: readonly string[];
  /** The value of the first name. */
  readonly firstName?: number;
}

/** The six fields in order; an expression of five fields leaves the first out. */
export const CRON_FIELDS: readonly CronFieldRule[] = [
  { name: 'second', min: 0, max: 59, size: 60 },
  { name: 'minute', min: 0, max: 59, size: 60 },
  { name: 'hour', min: 0, max: 23, size: 24 },
  { name: 'day-of-month', min: 1, max: 31, size: 31 },
  {
    name: 'month',
    min: 1,
    max: 12,
    size: 12,
    names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
    firstName: 1,
  },
  {
    name: 'day-of-week',
    min: 0,
    max: 7,
    size: 7,
    names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'],
    firstName: 0,
  },
];

export interface FieldFault {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** What is wrong with one comma-separated item of a field, in words that say what to write; undefined when it is sound. */
export function faultOfItem(rule: CronFieldRule, item: string): FieldFault | undefined {
  const fault = (message: string, hint?: string, code = 'cron-field'): FieldFault => ({
    code,
    message: `${rule.name}: ${message}`,
    ...(hint === undefined ? {} : { hint }),
  });
  if (item === '') return fault('an empty place in the list', 'Remove the extra comma.');
  if (/^H(?:$|[(/])/.test(item)) {
    return fault(
      '"H" (a value chosen by hash) is not supported',
      'Write the value itself, or use `jitter` to spread load.',
      'cron-hash',
    );
  }
  if (rule.name === 'day-of-month' && item === 'L') return undefined;
  if (/^L-\d+$|W/i.test(item) && rule.name === 'day-of-month') {
    return fault(`"${item}" is not supported`, 'Of the letters, only `L` (the last day) is.');
  }
  if (rule.name === 'day-of-week') {
    const special = /^(.+?)(?:L|#(.*))$/.exec(item);
    if (item === 'L') return fault('"L" needs a day before it', 'Write `5L` for the last Friday.');
    if (special !== null) return faultOfNthDay(rule, special[1]!, special[2], fault);
  }
  const [range, step, ...more] = item.split('/');
  if (more.length > 0) return fault(`"${item}" has more than one "/"`);
  if (step !== undefined) {
    if (!/^\d+$/.test(step) || Number(step) === 0) {
      return fault(`the step of "${item}" must be a whole number from 1`);
    }
    if (Number(step) > rule.size) {
      return fault(
        `the step of "${item}" is larger than the field (${rule.size} values): only its first value would match`,
        'A step never crosses the end of its field. Write the values, or use `every`.',
        'cron-step',
      );
    }
  }
  return faultOfRange(rule, range ?? '', Number(step ?? 1), fault);
}

type MakeFault = (message: string, hint?: string, code?: string) => FieldFault;

function faultOfNthDay(
  rule: CronFieldRule,
  day: string,
  nth: string | undefined,
  fault: MakeFault,
): FieldFault | undefined {
  const value = numberOf(rule, day);
  if (typeof value !== 'number') return fault(value.message, value.hint);
  if (nth !== undefined && !/^[1-5]$/.test(nth)) {
    return fault(`"#${nth}" is not a week of the month`, 'Write `5#1` to `5#5`.');
  }
  return undefined;
}

function faultOfRange(
  rule: CronFieldRule,
  range: string,
  step: number,
  fault: MakeFault,
): FieldFault | undefined {
  if (range === '*') return undefined;
  if (range === '?') {
    if (rule.name.startsWith('day-of')) return undefined;
    return fault('"?" stands only in the two day fields', 'Write `*`.');
  }
  const [first, last, ...more] = range.split('-');
  if (more.length > 0) return fault(`"${range}" is not a range`, 'Write `a-b`.');
  const from = numberOf(rule, first ?? '');
  if (typeof from !== 'number') return fault(from.message, from.hint);
  if (last === undefined) return undefined;
  const to = numberOf(rule, last);
  if (typeof to !== 'number') return fault(to.message, to.hint);
  if (from <= to) return undefined;
  return fault(
    `the range "${range}" runs backwards; ranges that wrap are not accepted`,
    `Write \`${unwrap(rule, from, to, step, /^[A-Z]/i.test(range))}\`.`,
    'cron-wrap',
  );
}

/** The number of a value or name. */
function numberOf(
  rule: CronFieldRule,
  text: string,
): number | { message: string; hint: string | undefined } {
  if (/^\d+$/.test(text)) {
    const value = Number(text);
    if (value >= rule.min && value <= rule.max) return value;
    return {
      message: `${text} is outside ${rule.min}-${rule.max}`,
      hint:
        rule.name === 'hour' && value === 24 ? 'Midnight is hour 0 of the next day.' : undefined,
    };
  }
  const index = rule.names?.indexOf(text.toUpperCase()) ?? -1;
  if (index >= 0) return index + rule.firstName!;
  const shortened = rule.names?.find((name) => text.toUpperCase().startsWith(name));
  return {
    message: `"${text}" is not a value of this field`,
    hint:
      shortened === undefined
        ? `Write ${rule.min} to ${rule.max}${rule.names ? ` or ${rule.names[0]} to ${rule.names.at(-1)}` : ''}.`
        : `Write ${shortened}.`,
  };
}

/** What to write instead of a range that wraps: `SAT-SUN` is `SAT,SUN`, `22-2` is `22-23,0-2`. */
function unwrap(
  rule: CronFieldRule,
  from: number,
  to: number,
  step: number,
  asNames: boolean,
): string {
  const { size, min } = rule;
  const length = ((to - from + size) % size) + 1;
  const values: number[] = [];
  for (let index = 0; index < length; index += step) {
    values.push(((from - min + index) % size) + min);
  }
  const word = (value: number) => (asNames ? rule.names![value - rule.firstName!]! : String(value));
  if (step > 1 || values.length <= 4) return values.map(word).join(',');
  const span = (a: number, b: number) => (a === b ? word(a) : `${word(a)}-${word(b)}`);
  return `${span(from, min + size - 1)},${span(min, to)}`;
}
