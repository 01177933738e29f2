import type { JobReference, RunsAfter } from '../definition/job-types.js';
import { writeRecord } from '../definition/records.js';
import { captureSite } from '../definition/site.js';
import { checkClassTarget } from './class-target.js';

/**
 * Makes a job wait for others; their results arrive as arguments of `run` after the context, in this order. A `run` whose
 * parameters do not fit is an error in the editor (TS1238; its last lines say what does not fit); the last ones may be
 * left out. `() => Other` instead of `Other` is for files that import each other. Throws DecoratorError when it stands on
 * a member, or twice on a class.
 */
export function DependsOn<const Jobs extends readonly JobReference[]>(
  ...jobs: Jobs
): <Target extends new () => RunsAfter<Jobs>>(
  target: Target,
  context?: ClassDecoratorContext,
) => void {
  const site = captureSite(DependsOn);
  return (...args: unknown[]) => {
    checkClassTarget('DependsOn', args);
    writeRecord('DependsOn', args[0] as object, { jobs, site });
  };
}
