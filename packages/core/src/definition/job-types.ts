/** The types along the edges of a graph: from a job's class to its result, its inputs and its params. */

import type { JobContext } from './job-context.js';

/** A class with a `run` method and a constructor without arguments: what `@Job` can stand on. */
export type JobClass<Result = unknown> = new () => {
  // A property and not a method: methods are compared loosely, and a wrong edge would pass.
  run: (...args: never[]) => Result;
};

/** A class that `@Dag` can stand on. `declare params: P` in it gives the DAG's runs typed params. */
export type DagClass = new () => object;

/** A job's class, or a function that returns it, for files that import each other. */
export type JobReference = JobClass | (() => JobClass);

/** What a job's `run` returns, awaited: `ResultOf<typeof ExtractOrders>`. */
export type ResultOf<Reference> = Reference extends new () => {
  run: (...args: never[]) => infer Result;
}
  ? Awaited<Result>
  : Reference extends () => infer Job
    ? ResultOf<Job>
    : never;

/** The results of an ordered list of jobs. */
export type ResultsOf<Jobs extends readonly JobReference[]> = {
  -readonly [Index in keyof Jobs]: ResultOf<Jobs[Index]>;
};

/**
 * The params of a DAG's runs: what `declare params: P` in the `@Dag` class says, or the `P` of `run(ctx: JobContext<P>)`
 * where a job's class stands for its DAG; `any` when neither says.
 */
export type ParamsOf<Class> = Class extends new () => { params: infer Params }
  ? Params
  : Class extends new () => { run: (ctx: JobContext<infer Params>, ...rest: never[]) => unknown }
    ? unknown extends Params
      ? // biome-ignore lint/suspicious/noExplicitAny: a DAG without declared params takes any
        any
      : Params
    : // biome-ignore lint/suspicious/noExplicitAny: a DAG without declared params takes any
      any;

/** An instance whose `run` accepts the params of `Dag`. */
export interface RunsWithParams<Params> {
  run: (ctx: JobContext<Params>, ...results: never[]) => unknown;
}

/** An instance whose `run` accepts the results of `Jobs`, in this order; it may leave out the last ones. */
export interface RunsAfter<Jobs extends readonly JobReference[]> {
  // biome-ignore lint/suspicious/noExplicitAny: params are the affair of @Job, results of @DependsOn
  run: (ctx: JobContext<any>, ...results: ResultsOf<Jobs>) => unknown;
}
