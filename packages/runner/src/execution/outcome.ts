/** Pure: what an attempt that ended means, by the job's retry policy. */
import { type ErrorClass, isFlowError, parseDuration } from '@flowline/core';
import type { FinishOutcome } from '@flowline/core/internal';
import { backoffDelayMs, type JobDefinition, type StoredError } from '@flowline/core/internal';

export interface FailureContext {
  readonly job: Pick<JobDefinition, 'retry'>;
  /** Attempts that ended `failed` before this one. */
  readonly failures: number;
  readonly retryOn: readonly ErrorClass[];
  readonly abortOn: readonly ErrorClass[];
  readonly random: () => number;
}

/** The outcome of an attempt whose handler threw `error`. */
export function outcomeOfError(error: unknown, context: FailureContext): FinishOutcome {
  if (isFlowError(error, 'skip-task')) return { kind: 'skipped', reason: error.message };
  const stored = storeError(error);
  if (!isRetryable(error, context)) return { kind: 'failed', error: stored };
  const failuresNow = context.failures + 1;
  if (failuresNow >= context.job.retry.attempts) return { kind: 'failed', error: stored };
  if (isFlowError(error, 'retry-after')) {
    const { delay } = error as unknown as { delay: string };
    try {
      return {
        kind: 'retry',
        error: stored,
        delayMs: parseDuration(delay, 'RetryAfterError.delay'),
      };
    } catch (wrong) {
      // The user's delay cannot be read: keep their error and say so in it, and go by the backoff.
      stored.message += ` (${wrong instanceof Error ? wrong.message : String(wrong)}; the backoff was used instead)`;
    }
  }
  return {
    kind: 'retry',
    error: stored,
    delayMs: backoffDelayMs(context.job.retry.backoff, failuresNow, context.random()),
  };
}

/** What the next attempt would meet again. */
const nonRetryable = ['non-retryable', 'payload', 'usage', 'option', 'no-transactions'] as const;

function isRetryable(error: unknown, { retryOn, abortOn }: FailureContext): boolean {
  if (nonRetryable.some((code) => isFlowError(error, code))) return false;
  if (isFlowError(error, 'retry-after')) return true;
  if (abortOn.some((type) => isOfClass(error, type))) return false;
  return retryOn.length === 0 || retryOn.some((type) => isOfClass(error, type));
}

/** By class, or by the class's name: a monorepo may hold two copies of the package that defines the error. */
function isOfClass(error: unknown, type: ErrorClass): boolean {
  if (error instanceof type) return true;
  for (let proto = prototypeOf(error); proto !== null; proto = prototypeOf(proto)) {
    if (proto.constructor?.name === type.name && type.name !== '') return true;
  }
  return false;
}

function prototypeOf(value: unknown): { constructor?: { name?: string } } | null {
  return typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : null;
}

const longestStack = 4_096;
const longestMessage = 2_048;

/** An error as it is kept in history. Anything can be thrown, so anything is accepted. */
export function storeError(error: unknown): Writable<StoredError> {
  if (!(error instanceof Error) && !isErrorLike(error)) {
    return {
      name: 'Error',
      message: cut(`not an error was thrown: ${safeString(error)}`, longestMessage),
    };
  }
  const { name, message, stack, code } = error as Error & { code?: unknown };
  return {
    name: cut(safeString(name ?? 'Error'), 200),
    message: cut(safeString(message ?? ''), longestMessage),
    ...(typeof code === 'string' ? { code: cut(code, 200) } : {}),
    ...(typeof stack === 'string' ? { stack: cut(stack, longestStack) } : {}),
  };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function isErrorLike(value: unknown): value is Error {
  return typeof value === 'object' && value !== null && 'message' in value && 'stack' in value;
}

function safeString(value: unknown): string {
  try {
    return String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 3)}...`;
}
