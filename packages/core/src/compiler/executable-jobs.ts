import type { ErrorClass } from '../definition/options.js';
import { CompileError } from '../errors.js';
import { analyse, soundDags } from './compile.js';
import { serveKeyIn } from './emit.js';

/** A job that this process has the code of. */
export interface ExecutableJob {
  readonly serveKey: string;
  readonly dagId: string;
  readonly jobId: string;
  /** A fresh instance for each attempt: state never leaks from one attempt into another. */
  create(): { run(context: unknown, ...results: unknown[]): unknown };
  /** Only these errors are retried; empty: all. */
  readonly retryOn: readonly ErrorClass[];
  readonly abortOn: readonly ErrorClass[];
}

/**
 * The jobs that a process with these classes can run, by serve key. Throws CompileError when the classes have errors: a
 * runner must not guess which task a broken class would fit.
 */
export function executableJobs(classes: Iterable<unknown>): ReadonlyMap<string, ExecutableJob> {
  const compilation = analyse(classes);
  const problems = compilation.problems.toProblems();
  if (problems.some(({ severity }) => severity === 'error')) throw new CompileError(problems);
  const jobs = new Map<string, ExecutableJob>();
  for (const dag of soundDags(compilation)) {
    for (const job of dag.jobs) {
      const serveKey = serveKeyIn(dag, job);
      // The passes have checked all that these casts claim.
      const Target = job.authored.target as unknown as new () => ReturnType<
        ExecutableJob['create']
      >;
      const { retry } = (job.authored.options ?? {}) as { retry?: RetryLists };
      jobs.set(serveKey, {
        serveKey,
        dagId: dag.id,
        jobId: job.id,
        create: () => new Target(),
        retryOn: retry?.retryOn ?? [],
        abortOn: retry?.abortOn ?? [],
      });
    }
  }
  return jobs;
}

interface RetryLists {
  readonly retryOn?: readonly ErrorClass[];
  readonly abortOn?: readonly ErrorClass[];
}
