/** Decides which DAG each job belongs to: connected jobs are one graph, named by its `@Dag` class or by its only root. */

import { type AuthoredDag, dagOption, nameOf } from '../../definition/graph.js';
import { readRecord } from '../../definition/records.js';
import { describeValue } from '../../errors.js';
import type { Compilation, Pass } from '../compilation.js';
import type { DagNode, JobNode } from '../nodes.js';
import { connectedSets } from '../topology.js';
import { idFrom } from './collect.js';
import { reportTwoDags } from './report-two-dags.js';

export const group: Pass = (compilation) => {
  const dagOf = new Map<unknown, DagNode>();
  for (const authored of compilation.graph.dags) {
    const id = idFrom(authored);
    const dag: DagNode = newDag(authored, authored.name, id);
    dagOf.set(authored.target, dag);
    compilation.dags.push(dag);
  }
  const explicit = new Map<JobNode, DagNode>();
  for (const job of compilation.jobs) {
    const value = dagOption(job.authored.options);
    const dag = dagOf.get(value);
    if (dag !== undefined) explicit.set(job, dag);
    else if (hasDagOption(job)) reportUnknownDag(compilation, job, value);
  }
  for (const jobs of connectedSets(compilation.jobs)) assign(compilation, jobs, explicit);
  for (const dag of compilation.dags) {
    if (dag.jobs.length > 0 || isNamedByBrokenJob(compilation, dag, explicit)) continue;
    compilation.problems.add(dag, {
      code: 'dag-empty',
      message: 'expected at least one job, found none',
      hint: `Write @Job({ dag: ${dag.name} }) on its root jobs, or remove the class.`,
    });
  }
};

function assign(
  compilation: Compilation,
  jobs: readonly JobNode[],
  explicit: ReadonlyMap<JobNode, DagNode>,
): void {
  const named = new Set(jobs.flatMap((job) => explicit.get(job) ?? []));
  if (named.size > 1) {
    reportTwoDags(compilation, jobs, explicit);
    return;
  }
  const [dag] = named;
  if (dag !== undefined) {
    join(dag, jobs);
    return;
  }
  const roots = jobs.filter((job) => job.authored.dependencies.length === 0);
  const [root] = roots;
  if (roots.length === 1 && root !== undefined) {
    const own: DagNode = newDag(undefined, root.name, root.id);
    compilation.dags.push(own);
    join(own, jobs);
  } else if (roots.length > 1 && jobs.every((job) => job.isLinked)) {
    const names = roots.map((job) => job.name).sort();
    compilation.problems.add(
      roots.reduce((a, b) => (a.name <= b.name ? a : b)),
      {
        code: 'dag-missing',
        message: `expected a @Dag class for a graph with several roots, found ${names.join(', ')} without one`,
        hint: `Write @Dag() class MyDag {} and @Job({ dag: MyDag }) on ${names[0]}.`,
      },
    );
  }
}

function newDag(authored: AuthoredDag | undefined, name: string, id: string): DagNode {
  return { authored, name, id, jobs: [], optionPlaces: new Map(), settings: undefined };
}

function join(dag: DagNode, jobs: readonly JobNode[]): void {
  for (const job of jobs) {
    job.dag = dag;
    dag.jobs.push(job);
  }
}

function hasDagOption(job: JobNode): boolean {
  const { options } = job.authored;
  return typeof options === 'object' && options !== null && 'dag' in options;
}

function reportUnknownDag({ problems }: Compilation, job: JobNode, value: unknown): void {
  job.isLinked = false;
  const isJob = readRecord('Job', value) !== undefined;
  const [found, hint] =
    value === undefined || value === null
      ? [
          `${value}; the files of the two classes probably import each other`,
          'Move the @Dag class into a file of its own.',
        ]
      : isJob
        ? [
            `${nameOf(value)}, which is a @Job`,
            `Write @DependsOn(${nameOf(value)}) to join its DAG.`,
          ]
        : typeof value === 'function'
          ? [`${nameOf(value)}, a class without it`, `Add @Dag() to ${nameOf(value)}.`]
          : [describeValue(value), 'Import the @Dag class and name it without quotes.'];
  problems.add(job, {
    code: 'dag-unknown',
    field: 'dag',
    message: `expected a class with @Dag, found ${found}`,
    hint,
  });
}

/** A DAG whose jobs were all refused is not empty as well. */
function isNamedByBrokenJob(
  compilation: Compilation,
  dag: DagNode,
  explicit: ReadonlyMap<JobNode, DagNode>,
): boolean {
  return compilation.jobs.some((job) => explicit.get(job) === dag);
}
