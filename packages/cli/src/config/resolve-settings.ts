import { resolve } from 'node:path';
import { ConfigError, OptionError, parseDuration } from '@flowline/core';
import { didYouMean } from '@flowline/core/internal';
import { type Check, checks } from './check-config.js';
import type { FlowConfig, LogLevel } from './define-config.js';
import type { LoadedConfig } from './load-config.js';

/** Flags that override settings, as the command line parsed them. */
export interface SettingFlags {
  readonly mongodbUri?: string | undefined;
  readonly database?: string | undefined;
  /** Relative to the working directory. */
  readonly dataDir?: string | undefined;
  readonly logLevel?: string | undefined;
  readonly concurrency?: number | undefined;
  /** A duration. */
  readonly lease?: string | undefined;
  /** A duration. */
  readonly drainTimeout?: string | undefined;
}

/** Which layer a setting came from. */
export type SettingSource = 'flag' | 'environment' | 'config' | 'default';

/** What a command works with. Exactly one of `mongodbUri` and `dataDir` is set. */
export interface Settings {
  readonly project: string;
  /** The folder of the config, else the working directory. */
  readonly root: string;
  readonly configFile: string | undefined;
  /** Globs of the job files, relative to `root`; undefined: the default globs. */
  readonly jobs: readonly string[] | undefined;
  readonly mongodbUri: string | undefined;
  /** Absolute folder of the embedded database. */
  readonly dataDir: string | undefined;
  readonly database: string;
  readonly logLevel: LogLevel;
  /** Only what was set; the runner knows the defaults. */
  readonly runner: {
    readonly concurrency?: number;
    readonly leaseMs?: number;
    readonly drainTimeoutMs?: number;
  };
  /** The hook of a leading runner. */
  readonly onExpectationMissed?: NonNullable<FlowConfig['onExpectationMissed']>;
  /** Where the choice of the database came from, for messages. */
  readonly databaseSource: SettingSource;
  /** Sentences about what looks like a mistake but does not stop anything. */
  readonly warnings: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const variables = {
  mongodbUri: 'FLOW_MONGODB_URI',
  database: 'FLOW_DATABASE',
  dataDir: 'FLOW_DATA_DIR',
  logLevel: 'FLOW_LOG_LEVEL',
} as const;

/**
 * Puts the settings together: flags beat the environment, the environment beats the config, the config beats the
 * defaults. A layer that names a MongoDB or a data folder decides which database is used; in one layer the MongoDB
 * wins. An empty environment variable counts as not set. Pure: reads no file and no environment of its own.
 * @throws OptionError for a flag, ConfigError for a variable, with what was expected and found.
 */
export function resolveSettings(
  flags: SettingFlags,
  env: Environment,
  { config, file, root, cwd, defaultProject }: LoadedConfig,
): Settings {
  checkFlags(flags);
  checkEnvironment(env);
  const fromEnv = (name: keyof typeof variables) => env[variables[name]] || undefined;
  const stores = [
    { source: 'flag', uri: flags.mongodbUri, dataDir: flags.dataDir, base: cwd },
    {
      source: 'environment',
      uri: fromEnv('mongodbUri'),
      dataDir: fromEnv('dataDir'),
      base: cwd,
    },
    { source: 'config', uri: config.mongodbUri, dataDir: config.dataDir, base: root },
    { source: 'default', uri: undefined, dataDir: '.flow', base: root },
  ] as const;
  const store =
    stores.find(({ uri, dataDir }) => uri !== undefined || dataDir !== undefined) ?? stores[3];
  const { uri } = store;
  const duration = (field: 'lease' | 'drainTimeout') => flags[field] ?? config.runner?.[field];
  const concurrency = flags.concurrency ?? config.runner?.concurrency;
  const lease = duration('lease');
  const drainTimeout = duration('drainTimeout');
  return {
    project: config.project ?? defaultProject,
    root,
    configFile: file,
    jobs: config.jobs,
    mongodbUri: uri,
    dataDir: uri === undefined ? resolve(store.base, store.dataDir ?? '.flow') : undefined,
    database:
      flags.database ?? fromEnv('database') ?? config.database ?? databaseOfUri(uri) ?? 'flowline',
    logLevel: (flags.logLevel ?? fromEnv('logLevel') ?? config.logLevel ?? 'info') as LogLevel,
    runner: {
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(lease === undefined ? {} : { leaseMs: parseDuration(lease, 'lease') }),
      ...(drainTimeout === undefined
        ? {}
        : { drainTimeoutMs: parseDuration(drainTimeout, 'drainTimeout') }),
    },
    ...(config.onExpectationMissed === undefined
      ? {}
      : { onExpectationMissed: config.onExpectationMissed }),
    databaseSource: store.source,
    warnings: [...unknownVariables(env)],
  };
}

function checkFlags(flags: SettingFlags): void {
  for (const [name, value] of Object.entries(flags)) {
    const check = (checks as Readonly<Record<string, Check>>)[name];
    const fault = value === undefined ? undefined : check?.(value);
    if (fault === undefined) continue;
    const [, expected = fault] = /^expected (.*), found /s.exec(fault) ?? [];
    const found = name === 'mongodbUri' ? 'another text' : value;
    throw new OptionError(`--${kebab(name)}`, expected, found);
  }
  if (flags.mongodbUri !== undefined && flags.dataDir !== undefined) {
    throw new OptionError('--data-dir', 'no --mongodb-uri beside it', flags.dataDir, {
      hint: 'The embedded database and a MongoDB exclude each other: drop one of the two flags.',
    });
  }
}

function checkEnvironment(env: Environment): void {
  for (const [name, variable] of Object.entries(variables)) {
    const value = env[variable];
    if (value === undefined || value === '') continue;
    const fault = checks[name as keyof typeof variables](value);
    if (fault !== undefined) {
      throw new ConfigError(`environment variable ${variable}: ${fault}`);
    }
  }
}

/** A misspelt FLOW_MONGODB_URI would silently mean the embedded database. */
function* unknownVariables(env: Environment): Generator<string> {
  const known: readonly string[] = Object.values(variables);
  for (const name of Object.keys(env).sort()) {
    if (!name.startsWith('FLOW_') || known.includes(name) || env[name] === '') continue;
    const meant = didYouMean(name, known);
    if (meant !== undefined)
      yield `environment variable ${name} is not known: did you mean ${meant}?`;
  }
}

/** `mongodb://host/name?x=y` -> `name`. */
function databaseOfUri(uri: string | undefined): string | undefined {
  const name = /^mongodb(?:\+srv)?:\/\/[^/?]*\/([^/?]+)/.exec(uri ?? '')?.[1];
  try {
    return name === undefined ? undefined : decodeURIComponent(name);
  } catch {
    // Not a name, and not an address either: the driver says so with more knowledge.
    return undefined;
  }
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
