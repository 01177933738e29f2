import {
  type BulkWriteResult,
  MongoBulkWriteError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb';
import { describe, expect, it } from 'vitest';
import { LeaseLostError, type StoreError } from '../errors.js';
import { convertDriverError, isDuplicateKey, withoutSecrets } from './driver-errors.js';

const server = (code: number, labels: string[] = []) =>
  new MongoServerError({ message: `error ${code}`, code, errorLabels: labels });
const inBulk = (error: Error) => new MongoBulkWriteError(error as never, {} as BulkWriteResult);
const converted = (error: unknown) => convertDriverError(error) as StoreError;

describe('convertDriverError', () => {
  it.each([
    ['a step-down', server(189), 'store', true],
    ['no longer primary', server(10107), 'store', true],
    ['a label of the server', server(1, ['RetryableWriteError']), 'store', true],
    ['a refused document', server(2), 'store', false],
    ['a duplicate key', server(11000), 'store', false],
    ['no permission', server(13), 'store', false],
    ['a network error', new MongoNetworkError('gone'), 'store', true],
    [
      'a write to a socket that the other side has closed',
      Object.assign(new Error('This socket has been ended by the other party'), { code: 'EPIPE' }),
      'store',
      true,
    ],
    ['a network timeout', new MongoNetworkTimeoutError('late'), 'store', true],
    [
      'no server at all',
      new MongoServerSelectionError('none', { error: null } as never),
      'store-unreachable',
      true,
    ],
  ])('%s', (_what, error, code, retryable) => {
    expect(converted(error)).toMatchObject({ code, retryable, cause: error });
  });

  // The driver wraps what breaks a bulk write and drops its class and its labels.
  it.each([
    ['a network error', new MongoNetworkError('gone'), 'store', true],
    [
      'no server at all',
      new MongoServerSelectionError('none', { error: null } as never),
      'store-unreachable',
      true,
    ],
    ['a step-down', server(189, ['RetryableWriteError']), 'store', true],
    ['a duplicate key', server(11000), 'store', false],
  ])('%s inside a bulk write', (_what, inner, code, retryable) => {
    const error = inBulk(inner);
    expect(converted(error)).toMatchObject({ code, retryable, cause: error });
  });

  it('leaves errors of Flowline and of the code as they are', () => {
    const lost = new LeaseLostError('lost');
    const bug = new TypeError('bug');
    expect(convertDriverError(lost)).toBe(lost);
    expect(convertDriverError(bug)).toBe(bug);
  });

  it('never repeats a password', () => {
    const error = new MongoNetworkError('cannot reach mongodb+srv://me:secret@host/db now');
    expect(converted(error).message).not.toMatch(/secret/);
    expect(withoutSecrets('mongodb://a:b@h1,h2/x')).toBe('mongodb://***@h1,h2/x');
  });

  it('knows a duplicate key', () => {
    expect([isDuplicateKey(server(11000)), isDuplicateKey(server(1))]).toEqual([true, false]);
  });
});
