import { ConfigError, OptionError, parseDuration } from '@flowline/core';
import { describeValue, didYouMean } from '@flowline/core/internal';
import { type FlowConfig, logLevels } from './define-config.js';

/** What is wrong with one value, as `expected ..., found ...`; undefined when nothing is. */
export type Check = (value: unknown) => string | undefined;

/** The checks of single values. Flags and environment variables go through them too. */
export const checks = {
  project: textWhere(
    /^[a-z0-9@][a-z0-9@/._-]{0,99}$/i,
    'a name of letters, digits and ._-/@, at most 100 long',
  ),
  database: textWhere(
    /^[^/\\. "$*<>:|?\0]{1,63}$/,
    'a database name of at most 63 characters without blanks and /\\."$*<>:|?',
  ),
  mongodbUri: (value) =>
    typeof value === 'string' && /^mongodb(\+srv)?:\/\/./.test(value)
      ? undefined
      : // Not shown: a URI may hold a password.
        `expected a text that begins with mongodb:// or mongodb+srv://, found ${typeof value === 'string' ? 'another text' : describeValue(value)}`,
  dataDir: textWhere(/./, 'the path of a folder'),
  logLevel: (value) =>
    logLevels.some((level) => level === value)
      ? undefined
      : `expected ${logLevels.join(', ')}, found ${describeValue(value)}${suggestion(value, logLevels)}`,
  concurrency: (value) =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 10_000
      ? undefined
      : `expected a whole number from 1 to 10000, found ${describeValue(value)}`,
  lease: durationFrom(1_000),
  drainTimeout: durationFrom(0),
  jobs: (value) =>
    Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string')
      ? undefined
      : `expected a list of globs such as ['src/**/*.job.ts'], found ${describeValue(value)}`,
} satisfies Record<string, Check>;

const runnerFields = {
  concurrency: checks.concurrency,
  lease: checks.lease,
  drainTimeout: checks.drainTimeout,
};
const fields: Readonly<Record<keyof FlowConfig, Check | Readonly<Record<string, Check>>>> = {
  project: checks.project,
  jobs: checks.jobs,
  mongodbUri: checks.mongodbUri,
  database: checks.database,
  dataDir: checks.dataDir,
  runner: runnerFields,
  onExpectationMissed: (value) =>
    typeof value === 'function' ? undefined : `expected a function, found ${describeValue(value)}`,
  logLevel: checks.logLevel,
};

/** Names that people bring along from other tools. */
const otherNames: Readonly<Record<string, string>> = {
  uri: 'mongodbUri',
  url: 'mongodbUri',
  mongoUrl: 'mongodbUri',
  db: 'database',
  include: 'jobs',
  globs: 'jobs',
  name: 'project',
  'runner.grace': 'runner.drainTimeout',
  'runner.leaseMs': 'runner.lease',
};

/**
 * Checks what a config file exports, every field at once.
 * @param where the file, for the message.
 * @throws ConfigError that names each unknown key and each value of the wrong kind.
 */
export function checkConfig(value: unknown, where: string): FlowConfig {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigError(
      `${where}: expected an object (export default defineConfig({ ... })), found ${describeValue(value)}`,
    );
  }
  const faults = faultsOf(value as Record<string, unknown>, fields, '');
  if (faults.length === 0) return value as FlowConfig;
  const list =
    faults.length === 1 ? ` ${faults[0]}` : faults.map((fault) => `\n  ${fault}`).join('');
  throw new ConfigError(`${where}:${list}`, {
    hint: `Known keys: ${Object.keys(fields).join(', ')}.`,
  });
}

function faultsOf(
  given: Readonly<Record<string, unknown>>,
  known: Readonly<Record<string, Check | Readonly<Record<string, Check>>>>,
  prefix: string,
): string[] {
  return Object.entries(given).flatMap(([key, value]) => {
    const path = prefix + key;
    const check = Object.hasOwn(known, key) ? known[key] : undefined;
    if (check === undefined) {
      const other = otherNames[path];
      const meant = other ?? didYouMean(key, Object.keys(known));
      const full = other ?? (meant === undefined ? undefined : prefix + meant);
      return `${path}: unknown key${full === undefined ? '' : ` (did you mean ${full}?)`}`;
    }
    if (value === undefined) return [];
    if (typeof check === 'function') {
      const fault = check(value);
      return fault === undefined ? [] : `${path}: ${fault}`;
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return `${path}: expected an object with ${Object.keys(check).join(', ')}, found ${describeValue(value)}`;
    }
    return faultsOf(value as Record<string, unknown>, check, `${path}.`);
  });
}

function textWhere(pattern: RegExp, expected: string): Check {
  return (value) =>
    typeof value === 'string' && pattern.test(value)
      ? undefined
      : `expected ${expected}, found ${describeValue(value)}`;
}

function durationFrom(minMs: number): Check {
  return (value) => {
    try {
      parseDuration(value, 'value', { minMs, maxMs: 24 * 3_600_000 });
      return undefined;
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      return `expected ${error.expected}, found ${describeValue(error.found)}`;
    }
  };
}

/** A `(did you mean ...?)` with a blank in front, or nothing. */
export function suggestion(value: unknown, known: readonly string[]): string {
  const meant = typeof value === 'string' ? didYouMean(value, known) : undefined;
  return meant === undefined ? '' : ` (did you mean ${meant}?)`;
}
