import { expect, test } from 'vitest';
import { checkConfig } from './check-config.js';

function messageOf(value: unknown): string {
  try {
    checkConfig(value, '/p/flow.config.ts');
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

test('accepts every field with a value of its kind, and undefined as absent', () => {
  const config = {
    project: '@acme/shop',
    jobs: ['src/**/*.job.ts'],
    mongodbUri: 'mongodb://localhost/flow',
    database: 'flow',
    dataDir: '.flow',
    runner: { concurrency: 4, lease: '20s', drainTimeout: 'PT30S' },
    onExpectationMissed: () => {},
    logLevel: 'warn',
  };
  expect(checkConfig(config, 'x')).toBe(config);
  expect(messageOf({ onExpectationMissed: 'mail' })).toContain(
    'onExpectationMissed: expected a function, found "mail"',
  );
  expect(messageOf({ mongodbUri: undefined, runner: { lease: undefined } })).toBe('accepted');
});

test('reports unknown keys with the key that was meant, at any depth, all at once', () => {
  const message = messageOf({
    databse: 'x',
    uri: 'y',
    zzz: 1,
    runner: { concurency: 1, grace: '1s' },
  });
  expect(message.split('\n')).toEqual([
    '/p/flow.config.ts:',
    '  databse: unknown key (did you mean database?)',
    '  uri: unknown key (did you mean mongodbUri?)',
    '  zzz: unknown key',
    '  runner.concurency: unknown key (did you mean runner.concurrency?)',
    '  runner.grace: unknown key (did you mean runner.drainTimeout?)',
  ]);
});

test.each([
  [
    { project: '' },
    'project: expected a name of letters, digits and ._-/@, at most 100 long, found ""',
  ],
  [{ jobs: 'src' }, `jobs: expected a list of globs such as ['src/**/*.job.ts'], found "src"`],
  [{ jobs: [] }, `jobs: expected a list of globs such as ['src/**/*.job.ts'], found []`],
  [{ runner: 4 }, 'runner: expected an object with concurrency, lease, drainTimeout, found 4'],
  [
    { runner: { concurrency: 1.5 } },
    'runner.concurrency: expected a whole number from 1 to 10000, found 1.5',
  ],
  [{ runner: { lease: '10ms' } }, 'runner.lease: expected at least 1s, found "10ms"'],
  [
    { logLevel: 'wran' },
    'logLevel: expected debug, info, warn, error, found "wran" (did you mean warn?)',
  ],
  [{ dataDir: 3 }, 'dataDir: expected the path of a folder, found 3'],
])('says what it expected and found: %j', (value, expected) => {
  expect(messageOf(value)).toBe(`/p/flow.config.ts: ${expected}`);
});

test('refuses what is not an object', () => {
  expect(messageOf(undefined)).toContain('expected an object');
  expect(messageOf([])).toContain('expected an object');
});

test('never shows the URI, which may hold a password', () => {
  expect(messageOf({ mongodbUri: 'mongo://me:secret@host' })).not.toContain('secret');
});
