import type { DagClass, ParamsOf, RunsWithParams } from '../definition/job-types.js';
import type { JobOptions } from '../definition/options.js';
import { writeRecord } from '../definition/records.js';
import { captureSite } from '../definition/site.js';
import { checkClassTarget, checkNotBare } from './class-target.js';

/**
 * Makes a class with a `run` method a job. Without `dag` and `@DependsOn` the class is a DAG of its own. When `dag` names
 * a class with `declare params: P`, a `run` that wants other params is an error in the editor. Only records what is
 * written: the compiler checks it. Throws DecoratorError when it stands on a member, or twice on a class.
 */
export function Job<Dag extends DagClass = DagClass>(
  options: JobOptions<Dag> = {},
): <Target extends new () => RunsWithParams<ParamsOf<Dag>>>(
  target: Target,
  context?: ClassDecoratorContext,
) => void {
  checkNotBare('Job', options);
  const site = captureSite(Job);
  return (...args: unknown[]) => {
    checkClassTarget('Job', args);
    writeRecord('Job', args[0] as object, { options, site });
  };
}
