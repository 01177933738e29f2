import { readRecord } from '../definition/records.js';
import { listDecoratedClasses } from '../definition/registry.js';
import { OptionError } from '../errors.js';
import { analyse } from './compile.js';
import { idFrom } from './passes/collect.js';

const known = new WeakMap<object, string>();

/**
 * The id of the DAG that a class stands for: its own for `@Dag`, that of the graph it belongs to for `@Job`. A job's graph
 * is looked for among all classes decorated in this process, since the class that names it may stand further down.
 * Throws OptionError for a class that is neither, or that belongs to no DAG.
 */
export function dagIdOf(target: unknown): string {
  const remembered = known.get(Object(target));
  if (remembered !== undefined) return remembered;
  const id = findDagId(target);
  if (id === undefined) {
    throw new OptionError('dag', 'the id of a DAG, or a class with @Dag or @Job', target, {
      hint: 'Decorate the class; `flow compile` says what is wrong with a job that belongs to no DAG.',
    });
  }
  known.set(Object(target), id);
  return id;
}

function findDagId(target: unknown): string | undefined {
  if (typeof target !== 'function') return undefined;
  const dag = readRecord('Dag', target);
  if (dag !== undefined) return idFrom({ options: dag.options, target: target as never });
  if (readRecord('Job', target) === undefined) return undefined;
  const { jobs } = analyse([target, ...listDecoratedClasses()]);
  return jobs.find(({ authored }) => authored.target === target)?.dag?.id;
}
