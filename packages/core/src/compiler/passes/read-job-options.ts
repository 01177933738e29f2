import { describeValue } from '../../errors.js';
import type { RetryPolicy } from '../../model/definition.js';
import { isId } from '../../model/ids.js';
import type { Pass } from '../compilation.js';
import {
  type Field,
  member,
  readChoice,
  readDuration,
  readFlag,
  readInteger,
  readObject,
  readText,
  report,
} from '../fields.js';
import type { JobNode } from '../nodes.js';
import { jobOptionNames, movedJobOptions, movedRetryOptions } from '../option-names.js';
import type { ProblemList } from '../problem-list.js';
import { readBackoff } from './read-backoff.js';

const hourMs = 3_600_000;

/** Reads the options of each job that are not the graph's. */
export const readJobOptions: Pass = ({ jobs, problems }) => {
  for (const job of jobs) readOptions(job, problems);
};

function readOptions(job: JobNode, problems: ProblemList): void {
  const all: Field = { problems, subject: job, path: '', value: job.authored.options };
  const options = readObject(all, jobOptionNames, movedJobOptions) ?? {};
  const at = (key: (typeof jobOptionNames)[number]): Field => member(all, options, key);
  const description = readText(at('description'));
  const onLost = readChoice(at('onLost'), ['retry', 'fail']);
  const maxLost = readInteger(at('maxLost'), 1, 1_000);
  if (onLost === 'fail' && options.maxLost !== undefined) {
    report(
      at('maxLost'),
      'option-clash',
      `expected no maxLost beside onLost: 'fail', found ${describeValue(options.maxLost)}`,
      "With 'fail' the first loss fails the task: remove one of the two.",
    );
  }
  job.settings = {
    ...(description === undefined ? {} : { description }),
    queue: readQueue(at('queue')) ?? 'default',
    priority: readInteger(at('priority'), -100, 100) ?? 0,
    retry: readRetry(at('retry')),
    timeoutMs: readDuration(at('timeout'), { minMs: 1 }) ?? hourMs,
    onLost: onLost ?? 'retry',
    maxLost: maxLost ?? 3,
    allowFailure: readFlag(at('allowFailure')) ?? false,
  };
}

function readQueue(field: Field): string | undefined {
  const queue = readText(field);
  if (queue === undefined || isId(queue)) return queue;
  report(
    field,
    'option-value',
    `expected 1 to 100 lower-case letters, digits and hyphens, found ${describeValue(queue)}`,
  );
  return undefined;
}

function readRetry(field: Field): RetryPolicy {
  const names = ['attempts', 'backoff', 'retryOn', 'abortOn'];
  const retry = readObject(field, names, movedRetryOptions) ?? {};
  const attemptsField = member(field, retry, 'attempts');
  const attempts = readInteger(attemptsField, 1, 1_000);
  const backoff = member(field, retry, 'backoff');
  const retryOn = readErrorClasses(member(field, retry, 'retryOn'));
  const abortOn = readErrorClasses(member(field, retry, 'abortOn'));
  for (const name of retryOn ?? []) {
    if (!abortOn?.includes(name)) continue;
    report(
      member(field, retry, 'abortOn'),
      'option-clash',
      `expected each error class in one list, found ${name} in retryOn too`,
      'Remove it from one of the two.',
    );
  }
  // A wrong number of attempts is reported once, not as a missing one too.
  const isSingle = attemptsField.value === undefined || attempts === 1;
  const found = attempts === undefined ? 'no retry.attempts' : 'retry.attempts: 1';
  const hint = 'Write retry: { attempts: 3, ... }; it counts the first try.';
  if (isSingle && backoff.value !== undefined) {
    const message = `expected retry.attempts of at least 2 beside a backoff, found ${found}, so that nothing is retried`;
    report(backoff, 'backoff-without-retries', message, hint);
  }
  for (const [name, list] of Object.entries({ retryOn, abortOn })) {
    if (!isSingle || list === undefined) continue;
    const message = `expected retry.attempts of at least 2 beside ${name}, found ${found}, so that nothing is retried`;
    report(member(field, retry, name), 'errors-without-retries', message, hint);
  }
  return {
    attempts: attempts ?? 1,
    backoff: readBackoff(backoff),
    ...(retryOn === undefined ? {} : { retryOn }),
    ...(abortOn === undefined ? {} : { abortOn }),
  };
}

/** The names of a list of error classes; the classes themselves stay on the class for the runner. */
function readErrorClasses(field: Field): string[] | undefined {
  if (field.value === undefined) return undefined;
  const expected = 'a list of error classes';
  if (!Array.isArray(field.value)) {
    report(field, 'option-type', `expected ${expected}, found ${describeValue(field.value)}`);
    return undefined;
  }
  const names: string[] = [];
  field.value.forEach((value: unknown, index) => {
    if (typeof value === 'function' && value.prototype !== undefined && value.name !== '') {
      if (!names.includes(value.name)) names.push(value.name);
      return;
    }
    report(
      { ...field, path: `${field.path}[${index}]`, value },
      'option-type',
      `expected a named error class, found ${describeValue(value)}`,
      typeof value === 'string' ? 'Name the class without quotes.' : undefined,
    );
  });
  return names.sort();
}
