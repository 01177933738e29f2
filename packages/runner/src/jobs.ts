import type { ErrorClass } from './execution/outcome.js';

/** A job that this process has the code of. */
export interface ExecutableJob {
  readonly serveKey: string;
  readonly dagId: string;
  readonly jobId: string;
  /** A fresh instance for each attempt: state never leaks from one attempt into another. */
  create(): { run(context: unknown, ...results: unknown[]): unknown };
  readonly retryOn: readonly ErrorClass[];
  readonly abortOn: readonly ErrorClass[];
}
