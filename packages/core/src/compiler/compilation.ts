import type { AuthoredGraph } from '../definition/graph.js';
import type { DagNode, JobNode } from './nodes.js';
import type { ProblemList } from './problem-list.js';

/** The state of one compilation. */
export interface Compilation {
  readonly graph: AuthoredGraph;
  readonly problems: ProblemList;
  readonly jobs: JobNode[];
  readonly dags: DagNode[];
  /** What time it is, where the caller has said so; only for warnings about the time ahead. */
  readonly at: Date | undefined;
}

/** One step of the compiler: reads the compilation, adds to it, reports what is wrong. Never throws for bad input. */
export type Pass = (compilation: Compilation) => void;
