/** The compiler: an ordered list of passes over one compilation, then the definitions of what has no error. */

import { readGraph } from '../definition/graph.js';
import type { Problem } from '../errors.js';
import type { Compilation, Pass } from './compilation.js';
import { type CompiledDag, emitDag } from './emit.js';
import type { DagNode } from './nodes.js';
import { collect } from './passes/collect.js';
import { group } from './passes/group.js';
import { identify } from './passes/identify.js';
import { link } from './passes/link.js';
import { placeGraphOptions } from './passes/place-graph-options.js';
import { readGraphOptions } from './passes/read-graph-options.js';
import { readJobOptions } from './passes/read-job-options.js';
import { refuseCycles } from './passes/refuse-cycles.js';
import { warnAboutClocks } from './passes/warn-about-clocks.js';
import { warnWhenOver } from './passes/warn-when-over.js';
import { ProblemList } from './problem-list.js';

// `group` needs the edges, and all that follows needs to know which DAG a job is in.
const passes: readonly Pass[] = [
  collect,
  link,
  group,
  identify,
  refuseCycles,
  placeGraphOptions,
  readGraphOptions,
  readJobOptions,
  warnAboutClocks,
  warnWhenOver,
];

/** What {@link compile} returns. */
export interface CompileResult {
  /** The DAGs without an error, by id. */
  readonly dags: readonly CompiledDag[];
  /** Everything that is wrong or doubtful, by file and line. */
  readonly problems: readonly Problem[];
}

/** What {@link compile} may be told. */
export interface CompileOptions {
  /**
   * What time it is. Given, schedules that meet a change of clocks within two years of it, or have no fire left, are warned about; the
   * definitions do not depend on it.
   */
  readonly at?: Date;
}

/**
 * Turns decorated classes, and those they lead to through `@DependsOn` and `dag`, into DAG definitions. Pure: no clock, no
 * I/O; the same code gives the same result on every machine, whatever the order of `classes`. Never throws for what users
 * wrote: everything that is wrong is in `problems`, with severity `error` or `warning`.
 */
export function compile(classes: Iterable<unknown>, options: CompileOptions = {}): CompileResult {
  const { dags, problems } = analyse(classes, options.at);
  return {
    dags: soundDags({ dags, problems }).map(emitDag),
    problems: problems.toProblems(),
  };
}

/** Runs all passes. */
export function analyse(classes: Iterable<unknown>, at?: Date): Compilation {
  const compilation: Compilation = {
    graph: readGraph(classes),
    problems: new ProblemList(),
    jobs: [],
    dags: [],
    at,
  };
  for (const pass of passes) pass(compilation);
  return compilation;
}

/** The DAGs without an error, by id. */
export function soundDags({ dags, problems }: Pick<Compilation, 'dags' | 'problems'>): DagNode[] {
  return dags
    .filter((dag) => !problems.hasErrors(dag))
    .sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}
