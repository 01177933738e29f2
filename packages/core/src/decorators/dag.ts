import type { DagClass } from '../definition/job-types.js';
import type { DagOptions } from '../definition/options.js';
import { writeRecord } from '../definition/records.js';
import { captureSite } from '../definition/site.js';
import { checkClassTarget, checkNotBare } from './class-target.js';

/**
 * Names a graph with several roots and holds the options of the whole graph; jobs join it with `@Job({ dag: TheClass })`.
 * `declare params: P` in the class gives its runs typed params. Only records what is written: the compiler checks it.
 * Throws DecoratorError when it stands on a member, or twice on a class.
 */
export function Dag(
  options: DagOptions = {},
): (target: DagClass, context?: ClassDecoratorContext) => void {
  checkNotBare('Dag', options);
  const site = captureSite(Dag);
  return (...args: unknown[]) => {
    checkClassTarget('Dag', args);
    writeRecord('Dag', args[0] as object, { options, site });
  };
}
