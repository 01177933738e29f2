/** The jobs and DAGs of one compilation, which the passes fill in step by step. */

import type { AuthoredDag, AuthoredJob } from '../definition/graph.js';
import type { DagDefinition, JobDefinition } from '../model/definition.js';

/** One job on its way to a definition. Each field is filled by the pass that its comment names. */
export interface JobNode {
  readonly authored: AuthoredJob;
  readonly name: string;
  /** collect: the id given, else that of the class name; may be illegal until `identify` has looked at it. */
  readonly id: string;
  /** link: the dependencies that could be resolved, in order. */
  dependencies: JobNode[];
  /** link: false when an entry of @DependsOn or `dag` could not be resolved; later passes then judge less. */
  isLinked: boolean;
  /** group */
  dag: DagNode | undefined;
  /** readJobOptions */
  settings: JobSettings | undefined;
}

/** The options of a job with their defaults; what is wrong has its default too, so that all problems are found. */
export type JobSettings = Omit<JobDefinition, 'id' | 'dependsOn' | 'serveKey'>;

/** The options of a graph with their defaults. */
export type DagSettings = Omit<DagDefinition, 'schema' | 'id' | 'jobs'>;

/** One DAG on its way to a definition. */
export interface DagNode {
  /** Absent for a graph that a single root names. */
  readonly authored: AuthoredDag | undefined;
  readonly name: string;
  readonly id: string;
  /** group */
  readonly jobs: JobNode[];
  /** placeGraphOptions: on which class each option of the graph stands. */
  readonly optionPlaces: Map<string, DagNode | JobNode>;
  /** readGraphOptions */
  settings: DagSettings | undefined;
}

/** The jobs of a DAG that depend on nothing. */
export function rootsOf(dag: DagNode): JobNode[] {
  return dag.jobs.filter((job) => job.authored.dependencies.length === 0);
}
