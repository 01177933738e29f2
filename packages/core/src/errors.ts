/**
 * Every error that Flowline throws, by who is at fault.
 *
 * Errors are recognised by a brand under a global symbol, not by `instanceof`: a monorepo may hold two copies of
 * this package, and an error thrown through one must be understood by the other.
 */

const brand = Symbol.for('flowline.error');

/** Stable error codes. The documentation has one row for each; a test compares the two. */
export type FlowErrorCode =
  | 'option'
  | 'usage'
  | 'decorator'
  | 'config'
  | 'load'
  | 'compile'
  | 'not-found'
  | 'conflict'
  | 'payload'
  | 'store'
  | 'store-unreachable'
  | 'lease-lost'
  | 'no-transactions'
  | 'task'
  | 'task-timeout'
  | 'task-cancelled'
  | 'task-lost'
  | 'non-retryable'
  | 'retry-after'
  | 'skip-task';

export interface FlowErrorOptions {
  readonly cause?: unknown;
  /** True when the same call may succeed later without a change of its input. Default false. */
  readonly retryable?: boolean;
  /** What to do next, one sentence. */
  readonly hint?: string;
}

/** The root of all errors of Flowline. `code` is stable; `message` is for people and may change. */
export class FlowError extends Error {
  readonly code: FlowErrorCode;
  readonly retryable: boolean;
  readonly hint: string | undefined;

  constructor(code: FlowErrorCode, message: string, options: FlowErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.hint = options.hint;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** True for an error of Flowline, whichever copy of the package made it; with `code`, only for that code. */
export function isFlowError(error: unknown, code?: FlowErrorCode): error is FlowError {
  if (typeof error !== 'object' || error === null || !(brand in error)) return false;
  return code === undefined || (error as { code?: unknown }).code === code;
}

/** A call that cannot be right, whatever the state of the database. */
export class UsageError extends FlowError {
  constructor(message: string, options: FlowErrorOptions & { code?: FlowErrorCode } = {}) {
    super(options.code ?? 'usage', message, options);
  }
}

/** One option with a value that is not legal: names the field, what was expected and what was found. */
export class OptionError extends UsageError {
  readonly field: string;
  readonly expected: string;
  readonly found: unknown;

  constructor(field: string, expected: string, found: unknown, options: FlowErrorOptions = {}) {
    super(`${field}: expected ${expected}, found ${describeValue(found)}`, {
      ...options,
      code: 'option',
    });
    this.field = field;
    this.expected = expected;
    this.found = found;
  }
}

/** A decorator used where it cannot work (on a member, twice on one class, on something that is no class). */
export class DecoratorError extends UsageError {
  constructor(message: string, options: FlowErrorOptions = {}) {
    super(message, { ...options, code: 'decorator' });
  }
}

/** A `flow.config.ts` or an environment variable that cannot be used. */
export class ConfigError extends UsageError {
  constructor(message: string, options: FlowErrorOptions = {}) {
    super(message, { ...options, code: 'config' });
  }
}

/** A file of the user's that could not be loaded; `cause` is what it threw. */
export class LoadError extends UsageError {
  readonly file: string;

  constructor(file: string, message: string, options: FlowErrorOptions = {}) {
    super(message, { ...options, code: 'load' });
    this.file = file;
  }
}

/** One thing wrong with a code base, as the compiler reports it. */
export interface Problem {
  /** Stable, kebab-case; listed in docs/problems.md. */
  readonly code: string;
  readonly severity: 'error' | 'warning';
  /** Where in the graph: `NightlySales > Convert > retry.backoff.max`. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
  /** Absolute path or file URL path of the source file, when known. */
  readonly file?: string;
  /** From 1. */
  readonly line?: number;
}

/** All problems of one compilation. */
export class CompileError extends UsageError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const errors = problems.filter((problem) => problem.severity === 'error');
    super(
      `${errors.length} problem${errors.length === 1 ? '' : 's'} in the job definitions:\n${errors
        .map((problem) => `  ${problem.path}: ${problem.message} [${problem.code}]`)
        .join('\n')}`,
      { code: 'compile' },
    );
    this.problems = problems;
  }
}

/** What was asked for does not exist. */
export class NotFoundError extends FlowError {
  constructor(message: string, options: FlowErrorOptions = {}) {
    super('not-found', message, options);
  }
}

/** What was asked for contradicts the stored state (another project's DAG, a run that is already closed). */
export class ConflictError extends FlowError {
  constructor(message: string, options: FlowErrorOptions = {}) {
    super('conflict', message, options);
  }
}

/** A result or params value that cannot be stored; `path` names the offender (`result.items[2].id`). */
export class PayloadError extends FlowError {
  readonly path: string;

  constructor(path: string, message: string, options: FlowErrorOptions = {}) {
    super('payload', message, options);
    this.path = path;
  }
}

/** The database refused or failed; `retryable` comes from the driver's labels and the error's kind. */
export class StoreError extends FlowError {
  constructor(message: string, options: FlowErrorOptions & { unreachable?: boolean } = {}) {
    super(options.unreachable ? 'store-unreachable' : 'store', message, options);
  }
}

/** Our fencing token is stale: someone else owns the task now. Stop; never retry from here. */
export class LeaseLostError extends FlowError {
  constructor(message: string, options: FlowErrorOptions = {}) {
    super('lease-lost', message, options);
  }
}

/** `ctx.commit` on a deployment without transactions. Never retryable: another attempt meets the same server. */
export class NoTransactionsError extends FlowError {
  constructor(message: string, options: FlowErrorOptions = {}) {
    super('no-transactions', message, options);
  }
}

/** An attempt that ended without a result; the original error is in `cause`. */
export class TaskError extends FlowError {
  constructor(message: string, options: FlowErrorOptions & { code?: FlowErrorCode } = {}) {
    super(options.code ?? 'task', message, options);
  }
}

/** The attempt ran longer than its `timeout`. It is the `reason` of the aborted signal too. */
export class TaskTimeoutError extends TaskError {
  constructor(message: string, options: FlowErrorOptions = {}) {
    super(message, { ...options, code: 'task-timeout' });
  }
}

/** The run was cancelled. It is the `reason` of the aborted signal. */
export class TaskCancelledError extends TaskError {
  constructor(message: string, options: FlowErrorOptions = {}) {
    super(message, { ...options, code: 'task-cancelled' });
  }
}

/** The lease of the attempt ended, or the runner is shutting down. It is the `reason` of the aborted signal. */
export class TaskLostError extends TaskError {
  constructor(message: string, options: FlowErrorOptions = {}) {
    super(message, { ...options, code: 'task-lost' });
  }
}

/** Thrown by a job: fail now, whatever `retry` says. */
export class NonRetryableError extends FlowError {
  constructor(message: string, options: FlowErrorOptions = {}) {
    super('non-retryable', message, options);
  }
}

/** Thrown by a job: this attempt failed, try again after `delay` (a duration such as `'90s'`) instead of the backoff. */
export class RetryAfterError extends FlowError {
  readonly delay: string;

  constructor(
    delay: string,
    message = `asked to be retried after ${delay}`,
    options: FlowErrorOptions = {},
  ) {
    super('retry-after', message, options);
    this.delay = delay;
  }
}

/** Thrown by a job: nothing to do here. The task ends `skipped`, and so do its dependents under the default rule. */
export class SkipTask extends FlowError {
  constructor(reason = 'skipped by the job', options: FlowErrorOptions = {}) {
    super('skip-task', reason, options);
  }
}

/** A value in an error message: short, quoted where it is text, never more than 60 characters. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'function') return `the function ${value.name || '(anonymous)'}`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'number' || typeof value === 'boolean' || value === null)
    return String(value);
  if (typeof value === 'symbol') return value.toString();
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    text = Object.prototype.toString.call(value);
  }
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
