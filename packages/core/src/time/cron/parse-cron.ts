import { CronExpressionParser } from 'cron-parser';
import { didYouMean } from '../did-you-mean.js';
import { type CronFields, daysInMonth } from './cron-calendar.js';
import { CRON_FIELDS, type FieldFault, faultOfItem } from './cron-field.js';

/** Names for whole expressions. `@reboot` has no meaning here: no runner's start is the DAG's. */
export const CRON_NAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
  '@minutely': '* * * * *',
  '@secondly': '* * * * * *',
  '@weekdays': '0 0 * * 1-5',
  '@weekends': '0 0 * * 0,6',
};

export interface CronProblem extends FieldFault {
  readonly severity: 'error' | 'warning';
}

export interface ParsedCron {
  /** The expression with single blanks, names in upper case; `@daily` style names stay as they are. */
  readonly cron: string;
  /** Undefined when an error is among the problems. */
  readonly fields: CronFields | undefined;
  readonly problems: readonly CronProblem[];
}

/**
 * Reads a cron expression of 5 or 6 fields (seconds first) or a name such as `@daily`, strictly, and reports every problem
 * that it finds. cron-parser reads the values; what it would accept by habit (4 fields, an empty text, `H`) is refused here.
 */
export function parseCron(text: unknown): ParsedCron {
  if (typeof text !== 'string' || text.trim() === '') {
    return failed('', {
      code: 'cron-empty',
      message: 'expected a cron expression of 5 or 6 fields, found nothing',
      hint: "Write '0 2 * * *' for 02:00 every day; leave `schedule` out to run on demand only.",
    });
  }
  const words = text.trim().split(/\s+/);
  const name = words[0]!;
  if (name.startsWith('@')) return parseName(words.join(' '));
  const cron = words.join(' ').toUpperCase();
  if (words.length !== 5 && words.length !== 6) {
    return failed(cron, {
      code: 'cron-field-count',
      message: `expected 5 fields (minute hour day-of-month month day-of-week) or 6 (second first), found ${words.length}: "${words.join(' ').slice(0, 80)}"`,
      ...(words.length === 7
        ? { hint: 'A year field is not supported: use `startAt` and `endAt`.' }
        : {}),
    });
  }
  return parseFields(cron);
}

function parseName(name: string): ParsedCron {
  const expression = CRON_NAMES[name];
  if (expression !== undefined) return { ...parseFields(expression), cron: name };
  const near = didYouMean(name, Object.keys(CRON_NAMES));
  return failed(name, {
    code: 'cron-name',
    message: `"${name}" is not a known schedule name`,
    hint: near ? `Did you mean '${near}'?` : `Known: ${Object.keys(CRON_NAMES).join(', ')}.`,
  });
}

function parseFields(cron: string): ParsedCron {
  const words = cron.split(' ');
  const hasSeconds = words.length === 6;
  if (!hasSeconds) words.unshift('0');
  const problems: CronProblem[] = [];
  const values = words.map((word, index) => {
    const result = readField(word, index);
    if (!Array.isArray(result)) {
      problems.push({ ...result, severity: 'error' });
      return [];
    }
    return result;
  });
  if (problems.length > 0) return { cron, fields: undefined, problems };
  const fields = fieldsOf(words, values);
  const impossible = impossibleDate(fields);
  if (impossible) return failed(cron, impossible);
  return { cron, fields, problems: warningsOf(words, fields, hasSeconds) };
}

/** The values of one field: cron-parser reads each item of the list alone, so that a fault has one place. */
function readField(word: string, index: number): (number | string)[] | FieldFault {
  const rule = CRON_FIELDS[index]!;
  const values = new Set<number | string>();
  const items = word.split(',');
  if (items.length > 1 && word.includes('#')) {
    return {
      code: 'cron-field',
      message: `${rule.name}: "#" stands alone, without a list`,
      hint: 'Write one day, such as `5#2`.',
    };
  }
  for (const item of items) {
    const fault = faultOfItem(rule, item);
    if (fault !== undefined) return fault;
    const read = readItem(item, index);
    if (!Array.isArray(read)) return read;
    for (const value of read) values.add(value);
  }
  return [...values];
}

/** cron-parser wants a start for walks that are never made; without one it would read the clock and the host's zone. */
const UNUSED_START = { currentDate: new Date(0), tz: 'UTC' };

/** Few different items exist in practice, and cron-parser builds a whole expression with a date for each. */
const readItems = new Map<string, (number | string)[]>();

function readItem(item: string, index: number): (number | string)[] | FieldFault {
  const rule = CRON_FIELDS[index]!;
  const key = `${index} ${item}`;
  const before = readItems.get(key);
  if (before !== undefined) return before;
  const probe = ['*', '*', '*', '*', '*', '*'];
  probe[index] = item;
  try {
    const read = CronExpressionParser.parse(probe.join(' '), UNUSED_START).fields;
    const { second, minute, hour, dayOfMonth, month, dayOfWeek } = read;
    const field = [second, minute, hour, dayOfMonth, month, dayOfWeek][index]!;
    const isWeekday = rule.name === 'day-of-week';
    const values = field.values.map((value) =>
      isWeekday && typeof value === 'number' ? value % 7 : value,
    );
    if (readItems.size >= 5_000) readItems.clear();
    readItems.set(key, values);
    return values;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { code: 'cron-field', message: `${rule.name}: "${item}" cannot be read (${reason})` };
  }
}

function fieldsOf(words: readonly string[], values: (number | string)[][]): CronFields {
  const numbers = (index: number) =>
    values[index]!.filter((value) => typeof value === 'number').sort((a, b) => a - b);
  const isAny = (index: number) => words[index] === '*' || words[index] === '?';
  const nth = /#(\d)$/.exec(words[5]!);
  return {
    seconds: numbers(0),
    minutes: numbers(1),
    hours: numbers(2),
    daysOfMonth: numbers(3),
    lastDayOfMonth: values[3]!.includes('L'),
    anyDayOfMonth: isAny(3),
    months: numbers(4),
    daysOfWeek: numbers(5),
    lastDaysOfWeek: values[5]!
      .filter((value) => typeof value === 'string')
      .map((value) => Number.parseInt(value, 10) % 7),
    nthDayOfWeek: nth === null ? 0 : Number(nth[1]),
    anyDayOfWeek: isAny(5),
  };
}

function impossibleDate(fields: CronFields): FieldFault | undefined {
  if (fields.anyDayOfMonth || !fields.anyDayOfWeek || fields.lastDayOfMonth) return undefined;
  // A leap year has the longest February.
  const longest = Math.max(...fields.months.map((month) => daysInMonth(2024, month)));
  if (fields.daysOfMonth.some((day) => day <= longest)) return undefined;
  const months = fields.months.map((month) => CRON_FIELDS[4]!.names![month - 1]).join(', ');
  return {
    code: 'cron-impossible',
    message: `never fires: no day ${fields.daysOfMonth.join(' or ')} in ${months}`,
    hint: 'Write `L` for the last day of a month.',
  };
}

function warningsOf(
  words: readonly string[],
  fields: CronFields,
  hasSeconds: boolean,
): CronProblem[] {
  const problems: CronProblem[] = [];
  if (!fields.anyDayOfMonth && !fields.anyDayOfWeek) {
    problems.push({
      severity: 'warning',
      code: 'cron-day-or',
      message: `day-of-month "${words[3]}" and day-of-week "${words[5]}" are both restricted: a date that matches EITHER fires`,
      hint: 'Leave one of the two as `*` if that is not meant; check with `flow next`.',
    });
  }
  const isNarrow = fields.minutes.length < 60 || fields.hours.length < 24;
  if (hasSeconds && fields.seconds.length === 60 && isNarrow) {
    problems.push({
      severity: 'warning',
      code: 'cron-every-second',
      message: `fires 60 times in each matching minute: the first of 6 fields is the second`,
      hint: `Write \`0 ${words.slice(1).join(' ')}\` to fire once a minute.`,
    });
  }
  return problems;
}

function failed(cron: string, fault: FieldFault): ParsedCron {
  return { cron, fields: undefined, problems: [{ ...fault, severity: 'error' }] };
}
