import type { Compilation } from '../compilation.js';
import type { DagNode, JobNode } from '../nodes.js';

/** Names the jobs where two DAGs meet: first downstream of both, and where there is none, upstream of both. */
export function reportTwoDags(
  { problems }: Compilation,
  jobs: readonly JobNode[],
  explicit: ReadonlyMap<JobNode, DagNode>,
): void {
  const dependents = new Map<JobNode, JobNode[]>(jobs.map((job) => [job, []]));
  for (const job of jobs) for (const other of job.dependencies) dependents.get(other)!.push(job);
  const downstream = meetings(
    jobs,
    explicit,
    (job) => job.dependencies,
    (job) => dependents.get(job)!,
  );
  const found =
    downstream.size > 0
      ? downstream
      : meetings(
          jobs,
          explicit,
          (job) => dependents.get(job)!,
          (job) => job.dependencies,
        );
  for (const [job, dags] of found) {
    const names = [...dags].map((dag) => dag.name).sort();
    problems.add(job, {
      code: 'job-in-two-dags',
      message: `expected one DAG, found ${names.join(' and ')} through its own option and the jobs it is connected with`,
      hint: 'A job belongs to exactly one DAG: write a class of its own for each (one may extend the other).',
    });
  }
}

/** The jobs whose set of DAGs, carried along edges, has more than one entry while that of each neighbour before has not. */
function meetings(
  jobs: readonly JobNode[],
  explicit: ReadonlyMap<JobNode, DagNode>,
  before: (job: JobNode) => readonly JobNode[],
  after: (job: JobNode) => readonly JobNode[],
): Map<JobNode, Set<DagNode>> {
  const dags = new Map<JobNode, Set<DagNode>>(jobs.map((job) => [job, new Set()]));
  const open: JobNode[] = [];
  for (const [job, dag] of explicit) {
    if (dags.has(job)) {
      dags.get(job)!.add(dag);
      open.push(job);
    }
  }
  for (let job = open.pop(); job !== undefined; job = open.pop()) {
    for (const next of after(job)) {
      const set = dags.get(next)!;
      const size = set.size;
      for (const dag of dags.get(job)!) set.add(dag);
      if (set.size > size) open.push(next);
    }
  }
  const first = jobs.filter(
    (job) => dags.get(job)!.size > 1 && before(job).every((other) => dags.get(other)!.size < 2),
  );
  return new Map(first.map((job) => [job, dags.get(job)!]));
}
