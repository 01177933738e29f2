import { expect, test } from 'vitest';
import type { LoadedConfig } from './load-config.js';
import { resolveSettings } from './resolve-settings.js';

const none: LoadedConfig = {
  file: undefined,
  root: '/project',
  cwd: '/project',
  config: {},
  defaultProject: 'shop',
};
const withConfig = (config: LoadedConfig['config']): LoadedConfig => ({
  ...none,
  file: '/project/flow.config.ts',
  root: '/project',
  cwd: '/project/packages/a',
  config,
});

test('without anything, the embedded database is in .flow of the working directory', () => {
  expect(resolveSettings({}, {}, none)).toEqual({
    project: 'shop',
    root: '/project',
    configFile: undefined,
    jobs: undefined,
    mongodbUri: undefined,
    dataDir: '/project/.flow',
    database: 'flowline',
    logLevel: 'info',
    runner: {},
    databaseSource: 'default',
    warnings: [],
  });
});

test('with a config, .flow stands beside it, wherever one works', () => {
  expect(resolveSettings({}, {}, withConfig({})).dataDir).toBe('/project/.flow');
});

test('flags beat the environment, the environment beats the config, the config beats the defaults', () => {
  const config = withConfig({
    project: 'own',
    database: 'from-config',
    logLevel: 'error',
    mongodbUri: 'mongodb://config',
  });
  const env = {
    FLOW_MONGODB_URI: 'mongodb://env',
    FLOW_DATABASE: 'from-env',
    FLOW_LOG_LEVEL: 'warn',
  };
  const flags = { mongodbUri: 'mongodb://flag', database: 'from-flag', logLevel: 'debug' };
  const pick = (...args: Parameters<typeof resolveSettings>) => {
    const { mongodbUri, database, logLevel, databaseSource, project } = resolveSettings(...args);
    return [project, mongodbUri, database, logLevel, databaseSource];
  };
  expect(pick({}, {}, config)).toEqual([
    'own',
    'mongodb://config',
    'from-config',
    'error',
    'config',
  ]);
  expect(pick({}, env, config)).toEqual([
    'own',
    'mongodb://env',
    'from-env',
    'warn',
    'environment',
  ]);
  expect(pick(flags, env, config)).toEqual(['own', 'mongodb://flag', 'from-flag', 'debug', 'flag']);
});

test('an empty variable counts as not set', () => {
  const settings = resolveSettings({}, { FLOW_MONGODB_URI: '', FLOW_DATABASE: '' }, none);
  expect(settings).toMatchObject({ mongodbUri: undefined, database: 'flowline' });
});

test('the nearest layer that names a MongoDB or a data folder decides; in one layer the MongoDB wins', () => {
  const config = withConfig({ mongodbUri: 'mongodb://config', dataDir: 'data' });
  const pick = (...args: Parameters<typeof resolveSettings>) => {
    const { mongodbUri, dataDir } = resolveSettings(...args);
    return mongodbUri ?? dataDir;
  };
  expect(pick({}, {}, config)).toBe('mongodb://config');
  expect(pick({}, { FLOW_DATA_DIR: 'here' }, config)).toBe('/project/packages/a/here');
  expect(pick({ dataDir: '/there' }, { FLOW_MONGODB_URI: 'mongodb://env' }, config)).toBe('/there');
  expect(pick({}, {}, withConfig({ dataDir: 'data' }))).toBe('/project/data');
});

test('the database named in the URI is used where nothing else names one', () => {
  const named = { FLOW_MONGODB_URI: 'mongodb://a:1,b:2/shop-flow?replicaSet=r' };
  expect(resolveSettings({}, named, none).database).toBe('shop-flow');
  expect(resolveSettings({ database: 'x' }, named, none).database).toBe('x');
  expect(resolveSettings({}, { FLOW_MONGODB_URI: 'mongodb://a/?w=1' }, none).database).toBe(
    'flowline',
  );
});

test('durations become milliseconds, field by field', () => {
  const config = withConfig({ runner: { concurrency: 3, lease: '10s', drainTimeout: '1m' } });
  expect(resolveSettings({ lease: '30s' }, {}, config).runner).toEqual({
    concurrency: 3,
    leaseMs: 30_000,
    drainTimeoutMs: 60_000,
  });
});

test('flags and variables are checked, and named in the message', () => {
  expect(() => resolveSettings({ logLevel: 'inf' }, {}, none)).toThrow(
    '--log-level: expected debug, info, warn, error, found "inf"',
  );
  expect(() => resolveSettings({ drainTimeout: '5' }, {}, none)).toThrow(
    /^--drain-timeout: expected a duration/,
  );
  expect(() => resolveSettings({ concurrency: Number.NaN }, {}, none)).toThrow(
    /^--concurrency: expected a whole number/,
  );
  expect(() => resolveSettings({}, { FLOW_LOG_LEVEL: 'loud' }, none)).toThrow(
    'environment variable FLOW_LOG_LEVEL: expected debug, info, warn, error, found "loud"',
  );
  expect(() => resolveSettings({ mongodbUri: 'mongodb://x', dataDir: 'y' }, {}, none)).toThrow(
    /^--data-dir: expected no --mongodb-uri beside it/,
  );
});

test('no message shows a URI, which may hold a password', () => {
  for (const call of [
    () => resolveSettings({ mongodbUri: 'mongo://me:secret@h' }, {}, none),
    () => resolveSettings({}, { FLOW_MONGODB_URI: 'mongo://me:secret@h' }, none),
  ]) {
    expect(call).toThrow(/mongodb:\/\//);
    expect(call).not.toThrow(/secret/);
  }
});

test('a misspelt variable is warned about, one of another kind is not', () => {
  const env = { FLOW_MONGO_URI: 'x', FLOW_TEST_MONGODB_URI: 'y', FLOW_SOMETHING: 'z' };
  expect(resolveSettings({}, env, none).warnings).toEqual([
    'environment variable FLOW_MONGO_URI is not known: did you mean FLOW_MONGODB_URI?',
  ]);
});
