import { describeSite } from '../../definition/site.js';
import type { Compilation, Pass } from '../compilation.js';
import type { DagNode, JobNode } from '../nodes.js';
import { rootsOf } from '../nodes.js';
import { graphOptionNames } from '../option-names.js';
import { siteOfSubject } from '../problem-list.js';

/**
 * Decides where each option of a graph is read from. It may stand on the `@Dag` class or on a root job, once: two
 * schedules of one DAG would owe two catch-ups for one outage.
 */
export const placeGraphOptions: Pass = (compilation) => {
  for (const dag of compilation.dags) {
    const roots = new Set(rootsOf(dag));
    for (const name of graphOptionNames) {
      const holders = dag.jobs.filter((job) => has(job, name));
      for (const job of holders) if (!roots.has(job)) reportInner(compilation, dag, job, name);
      const places = holders.filter((job) => roots.has(job));
      place(compilation, dag, name, has(dag, name) ? [dag, ...places] : places);
    }
  }
};

function place(
  { problems }: Compilation,
  dag: DagNode,
  name: string,
  places: readonly (DagNode | JobNode)[],
): void {
  const [first, ...others] = places;
  if (first === undefined) return;
  dag.optionPlaces.set(name, first);
  for (const other of others) {
    problems.add(other, {
      code: 'graph-option-twice',
      field: name,
      message: `expected ${name} once per DAG, found it on ${first.name} (${describeSite(siteOfSubject(first))}) too`,
      hint: `Keep the one on ${first.name}, or make two DAGs.`,
    });
  }
}

function reportInner({ problems }: Compilation, dag: DagNode, job: JobNode, name: string): void {
  const owner = dag.authored?.name ?? rootsOf(dag)[0]?.name;
  problems.add(job, {
    code: 'graph-option-on-inner-job',
    field: name,
    message: `expected ${name} on @Dag or on a root job, found it on a job that waits for ${job.dependencies.map((other) => other.name).join(', ')}`,
    hint:
      owner === undefined
        ? 'It is an option of the whole graph.'
        : `It is an option of the whole graph: move it to ${owner}.`,
  });
}

function has(node: DagNode | JobNode, name: string): boolean {
  const options = node.authored?.options as Record<string, unknown> | null | undefined;
  return typeof options === 'object' && options !== null && options[name] !== undefined;
}
