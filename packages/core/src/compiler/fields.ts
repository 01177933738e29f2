/**
 * Reading one option of unknown shape. Each reader returns the value when it is legal, undefined when the option is
 * absent or wrong, and reports what is wrong: the caller only has to add its default.
 */

import { describeValue, isFlowError, type OptionError } from '../errors.js';
import { didYouMean } from '../time/did-you-mean.js';
import { type DurationLimits, parseDuration } from '../time/duration.js';
import type { CompilerProblemCode } from './problem-codes.js';
import type { ProblemList, Subject } from './problem-list.js';

/** One option: whose, where, and what was written. */
export interface Field {
  readonly problems: ProblemList;
  readonly subject: Subject;
  /** `retry.backoff.max`; empty for the options as a whole. */
  readonly path: string;
  readonly value: unknown;
}

/** The option `key` of an object. */
export function member(parent: Field, object: Record<string, unknown>, key: string): Field {
  const path = parent.path === '' ? key : `${parent.path}.${key}`;
  return { ...parent, path, value: object[key] };
}

/** Reports a problem of this field. */
export function report(
  field: Field,
  code: CompilerProblemCode,
  message: string,
  hint?: string,
): void {
  field.problems.add(field.subject, { code, field: field.path, message, hint });
}

/** Reports `expected ..., found ...`. */
export function reportFound(
  field: Field,
  code: CompilerProblemCode,
  expected: string,
  hint?: string,
): void {
  report(field, code, `expected ${expected}, found ${describeValue(field.value)}`, hint);
}

/** An object of options with no others than `known`; `moved` tells where options of other tools live here. */
export function readObject(
  field: Field,
  known: readonly string[],
  moved: Readonly<Record<string, string>> = {},
): Record<string, unknown> | undefined {
  const { value } = field;
  if (value === undefined) return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const code = field.path === '' ? 'options-not-an-object' : 'option-type';
    reportFound(field, code, `an object with ${listOf(known)}`);
    return undefined;
  }
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    if (known.includes(key) || object[key] === undefined) continue;
    // A slip of the pen may also be near to a word that other tools use.
    const near = didYouMean(key, [...known, ...Object.keys(moved)]) ?? key;
    const hint = moved[near] ?? (near === key ? undefined : `Did you mean '${near}'?`);
    report(
      member(field, object, key),
      'unknown-option',
      `expected one of ${listOf(known)}, found '${key}'`,
      hint,
    );
  }
  return object;
}

/** One of a closed set of words. */
export function readChoice<T extends string>(field: Field, choices: readonly T[]): T | undefined {
  const { value } = field;
  if (value === undefined) return undefined;
  if ((choices as readonly unknown[]).includes(value)) return value as T;
  const near = typeof value === 'string' ? didYouMean(value, choices) : undefined;
  reportFound(
    field,
    'option-value',
    `one of ${listOf(choices)}`,
    near === undefined ? undefined : `Did you mean '${near}'?`,
  );
  return undefined;
}

/** A whole number from `min` to `max`. */
export function readInteger(field: Field, min: number, max: number): number | undefined {
  const number = readNumber(field, min, max);
  if (number === undefined || Number.isInteger(number)) return number;
  reportFound(field, 'option-type', `a whole number from ${min} to ${max}`);
  return undefined;
}

/** A finite number from `min` to `max`. */
export function readNumber(field: Field, min: number, max: number): number | undefined {
  const { value } = field;
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || Number.isNaN(value)) {
    const unquoted = typeof value === 'string' && value.trim() !== '' && Number.isFinite(+value);
    const hint = unquoted ? `Write ${Number(value)} without quotes.` : undefined;
    reportFound(field, 'option-type', `a number from ${min} to ${max}`, hint);
    return undefined;
  }
  if (value >= min && value <= max) return value;
  reportFound(field, 'option-range', `a number from ${min} to ${max}`);
  return undefined;
}

/** True or false. */
export function readFlag(field: Field): boolean | undefined {
  if (field.value === undefined || typeof field.value === 'boolean') return field.value;
  reportFound(field, 'option-type', 'true or false');
  return undefined;
}

/** Text that is not blank. */
export function readText(field: Field): string | undefined {
  if (field.value === undefined) return undefined;
  if (typeof field.value === 'string' && field.value.trim() !== '') return field.value;
  reportFound(field, 'option-type', 'text that is not blank');
  return undefined;
}

/** A duration in whole milliseconds. */
export function readDuration(field: Field, limits: DurationLimits = {}): number | undefined {
  if (field.value === undefined) return undefined;
  try {
    return parseDuration(field.value, field.path, limits);
  } catch (error) {
    if (!isFlowError(error, 'option')) throw error;
    reportFound(field, 'duration', (error as OptionError).expected, error.hint);
    return undefined;
  }
}

/** `a, b and c`, quoted. */
export function listOf(words: readonly string[]): string {
  const quoted = words.map((word) => `'${word}'`);
  if (quoted.length < 2) return quoted.join('');
  return `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}`;
}
