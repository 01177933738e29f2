import { describeValue, isFlowError, type OptionError } from '../../errors.js';
import { didYouMean } from '../did-you-mean.js';
import { parseDuration } from '../duration.js';
import { parseInstant } from '../zone/instant-text.js';
import { type DstRule, isDate } from './schedule.js';

/** The options as the definition gives them, those that are undefined left out. */
export type RawOptions = Readonly<Record<string, unknown>>;

/** Takes one problem: code, path, message, hint. */
export type Report = (code: string, path: string, message: string, hint?: string) => void;

const DST_CHOICES = {
  gap: ['shift', 'end', 'skip'],
  overlap: ['first', 'second', 'both'],
} as const;

/** An instant as ISO text in UTC; undefined when it is absent or was reported. */
export function readInstant(
  given: RawOptions,
  name: string,
  timeZone: string,
  report: Report,
): string | undefined {
  const value = given[name];
  if (value === undefined) return undefined;
  return attempt(`schedule.${name}`, 'schedule-instant', report, (path) =>
    new Date(parseInstant(value, timeZone, path)).toISOString(),
  );
}

/** A duration in milliseconds; undefined when it is absent or was reported. */
export function readDuration(
  given: RawOptions,
  name: string,
  report: Report,
  minMs: number,
): number | undefined {
  const value = given[name];
  if (value === undefined) return undefined;
  return attempt(`schedule.${name}`, 'duration', report, (path) =>
    parseDuration(value, path, { minMs }),
  );
}

/** Excluded dates and instants, sorted and without duplicates. */
export function readExclude(given: RawOptions, timeZone: string, report: Report): string[] {
  const value = given.exclude;
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    const message = `expected a list of dates, found ${describeValue(value)}`;
    report('schedule-exclude', 'schedule.exclude', message, "Write ['2026-12-25'].");
    return [];
  }
  const texts = value.map((entry: unknown, index) =>
    attempt(`schedule.exclude[${index}]`, 'schedule-instant', report, (path) => {
      const at = parseInstant(entry, timeZone, path);
      return typeof entry === 'string' && isDate(entry.trim())
        ? entry.trim()
        : new Date(at).toISOString();
    }),
  );
  return [...new Set(texts.filter((text) => text !== undefined))].sort();
}

/** The daylight-saving rule with its defaults. */
export function readDst(given: RawOptions, report: Report): DstRule {
  const value = given.dst ?? {};
  const rule: { gap: DstRule['gap']; overlap: DstRule['overlap'] } = {
    gap: 'shift',
    overlap: 'first',
  };
  if (typeof value !== 'object') {
    const message = `expected an object, found ${describeValue(value)}`;
    report('schedule-dst', 'schedule.dst', message, "Write { gap: 'shift', overlap: 'first' }.");
    return rule;
  }
  for (const [name, choice] of Object.entries(value)) {
    if (choice === undefined) continue;
    const path = `schedule.dst.${name}`;
    if (name !== 'gap' && name !== 'overlap') {
      const near = didYouMean(name, ['gap', 'overlap']);
      report('schedule-option', path, 'is not an option', near && `Did you mean '${near}'?`);
    } else if (!(DST_CHOICES[name] as readonly unknown[]).includes(choice)) {
      const choices = DST_CHOICES[name].map((text) => `'${text}'`).join(', ');
      report('schedule-dst', path, `expected one of ${choices}, found ${describeValue(choice)}`);
    } else {
      Object.assign(rule, { [name]: choice });
    }
  }
  return rule;
}

/** Runs a reader that throws OptionError and reports what it throws. */
function attempt<T>(
  path: string,
  code: string,
  report: Report,
  read: (path: string) => T,
): T | undefined {
  try {
    return read(path);
  } catch (error) {
    if (!isFlowError(error, 'option')) throw error;
    // The path is shown beside the message, so the message need not begin with it.
    const { message, hint } = error as OptionError;
    report(code, path, message.replace(`${path}: `, ''), hint);
    return undefined;
  }
}
