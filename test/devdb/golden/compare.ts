/** Compares replies as the README of the recordings asks for. */
import { BSON, Double, Int32, Long } from 'mongodb';
import { isPlain, type Placeholders } from './placeholders.ts';

/** Members that differ from run to run or from server to server. */
const VOLATILE: ReadonlySet<string> = new Set([
  '$clusterTime',
  'operationTime',
  'opTime',
  'electionId',
  'lastWrite',
  'localTime',
  'connectionId',
  'serverInfo',
  'lastCommittedOpTime',
]);

/** Members of a reply whose own members may come in any order. */
const ENVELOPES: ReadonlySet<string> = new Set(['cursor', 'lastErrorObject', 'authInfo']);

/** The codes whose message users or drivers read. */
const READ_MESSAGES: ReadonlySet<number> = new Set([11000, 59, 43]);

/** How one case is compared. */
export interface Comparison {
  readonly placeholders: Placeholders;
  readonly sets: readonly string[];
  readonly unordered: boolean;
}

/** What differs between a recorded and an actual reply, in words; null if nothing does. */
export function differenceOfReplies(
  expected: Record<string, unknown>,
  actual: Record<string, unknown>,
  comparison: Comparison,
): string | null {
  if (numberOf(expected.ok) !== numberOf(actual.ok)) {
    return `ok: expected ${text(expected)}, got ${text(actual)}`;
  }
  if (numberOf(expected.ok) === 0) return differenceOfErrors(expected, actual, comparison);
  return differenceOfEnvelopes(expected, actual, comparison, '');
}

function differenceOfErrors(
  expected: Record<string, unknown>,
  actual: Record<string, unknown>,
  comparison: Comparison,
): string | null {
  for (const field of ['code', 'codeName', 'errorLabels']) {
    const found = difference(expected[field], actual[field], comparison, field);
    if (found !== null) return `${found} (${String(expected.errmsg)} / ${String(actual.errmsg)})`;
  }
  if (READ_MESSAGES.has(numberOf(expected.code)) && isRead(String(expected.errmsg))) {
    if (expected.errmsg !== actual.errmsg)
      return `errmsg: ${String(expected.errmsg)} / ${String(actual.errmsg)}`;
  }
  return null;
}

/** Messages with a cursor's number are written down without it. */
function isRead(message: string): boolean {
  return !message.includes('<');
}

function differenceOfEnvelopes(
  expected: Record<string, unknown>,
  actual: Record<string, unknown>,
  comparison: Comparison,
  path: string,
): string | null {
  const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
  for (const name of names) {
    // `ok` was compared as a number.
    if (VOLATILE.has(name) || name === 'ok') continue;
    const at = path === '' ? name : `${path}.${name}`;
    if (!(name in actual)) return `${at} is missing`;
    if (!(name in expected)) return `${at} is not in the recording: ${text(actual[name])}`;
    const found = differenceOfMember(name, expected[name], actual[name], comparison, at);
    if (found !== null) return found;
  }
  return null;
}

function differenceOfMember(
  name: string,
  expected: unknown,
  actual: unknown,
  comparison: Comparison,
  at: string,
): string | null {
  if (ENVELOPES.has(name) && isPlain(expected) && isPlain(actual)) {
    return differenceOfEnvelopes(expected, actual, comparison, at);
  }
  if (name === 'writeErrors' && Array.isArray(expected) && Array.isArray(actual)) {
    return differenceOfWriteErrors(expected, actual, comparison);
  }
  const isBatch = name === 'firstBatch' || name === 'nextBatch';
  if ((isBatch && comparison.unordered) || at === 'values') {
    return differenceOfBags(expected as unknown[], actual as unknown[], comparison, at);
  }
  return difference(expected, actual, comparison, at);
}

function differenceOfWriteErrors(
  expected: unknown[],
  actual: unknown[],
  comparison: Comparison,
): string | null {
  if (expected.length !== actual.length) return `writeErrors: ${text(expected)} / ${text(actual)}`;
  for (const [index, one] of expected.entries()) {
    const wanted = one as Record<string, unknown>;
    const got = actual[index] as Record<string, unknown>;
    for (const field of ['index', 'code', 'keyPattern']) {
      const found = difference(
        wanted[field],
        got[field],
        comparison,
        `writeErrors.${index}.${field}`,
      );
      if (found !== null) return `${found} (${String(wanted.errmsg)} / ${String(got.errmsg)})`;
    }
    if (numberOf(wanted.code) === 11000 && wanted.errmsg !== got.errmsg) {
      return `writeErrors.${index}.errmsg: ${String(wanted.errmsg)} / ${String(got.errmsg)}`;
    }
  }
  return null;
}

/** Strict: order of fields, BSON types, -0 and NaN. */
export function difference(
  expected: unknown,
  actual: unknown,
  comparison: Comparison,
  at: string,
): string | null {
  if (isPlain(expected) && '$golden' in expected) {
    if (expected.$golden === 'document') {
      const fields = expected.fields as [string, unknown][];
      return difference(Object.fromEntries(fields), actual, comparison, at);
    }
    return comparison.placeholders.accepts(expected, actual)
      ? null
      : `${at}: expected ${text(expected)}, got ${text(actual)}`;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${at}: expected an array, got ${text(actual)}`;
    const name = at.slice(at.lastIndexOf('.') + 1);
    if (comparison.sets.includes(name)) return differenceOfBags(expected, actual, comparison, at);
    if (expected.length !== actual.length) {
      return `${at}: expected ${text(expected)}, got ${text(actual)}`;
    }
    for (const [index, element] of expected.entries()) {
      const found = difference(element, actual[index], comparison, `${at}.${index}`);
      if (found !== null) return found;
    }
    return null;
  }
  if (isPlain(expected)) {
    if (!isPlain(actual)) return `${at}: expected ${text(expected)}, got ${text(actual)}`;
    const names = Object.keys(expected);
    if (names.join('\0') !== Object.keys(actual).join('\0')) {
      return `${at}: expected ${text(expected)}, got ${text(actual)}`;
    }
    for (const name of names) {
      const found = difference(expected[name], actual[name], comparison, `${at}.${name}`);
      if (found !== null) return found;
    }
    return null;
  }
  return text(expected) === text(actual)
    ? null
    : `${at}: expected ${text(expected)}, got ${text(actual)}`;
}

function differenceOfBags(
  expected: unknown,
  actual: unknown,
  comparison: Comparison,
  at: string,
): string | null {
  if (!Array.isArray(expected) || !Array.isArray(actual) || expected.length !== actual.length) {
    return `${at}: expected ${text(expected)}, got ${text(actual)}`;
  }
  const left = [...actual];
  for (const element of expected) {
    const index = left.findIndex((one) => difference(element, one, comparison, at) === null);
    if (index === -1) return `${at}: ${text(element)} is missing in ${text(actual)}`;
    left.splice(index, 1);
  }
  return null;
}

function numberOf(value: unknown): number {
  if (value instanceof Int32 || value instanceof Double) return value.valueOf();
  if (value instanceof Long) return value.toNumber();
  return Number(value);
}

function text(value: unknown): string {
  if (value === undefined) return 'undefined';
  return BSON.EJSON.stringify({ v: value }, { relaxed: false }).slice(5, -1);
}
