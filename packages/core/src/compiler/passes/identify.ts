import { describeSite } from '../../definition/site.js';
import { describeValue } from '../../errors.js';
import { isId } from '../../model/ids.js';
import { maxServeKeyIds } from '../canonical.js';
import type { Compilation, Pass } from '../compilation.js';
import type { DagNode, JobNode } from '../nodes.js';
import { type ProblemList, siteOfSubject } from '../problem-list.js';

/** Checks that ids are legal, unique where they must be, and short enough for the keys made from them. */
export const identify: Pass = (compilation) => {
  for (const job of compilation.jobs) checkId(compilation, job);
  for (const dag of compilation.dags) if (dag.authored !== undefined) checkId(compilation, dag);
  for (const dag of compilation.dags) {
    checkUnique(compilation.problems, 'duplicate-job-id', dag.jobs, `in ${dag.name}`);
    for (const job of dag.jobs) checkLength(compilation, dag, job);
  }
  checkUnique(compilation.problems, 'duplicate-dag-id', compilation.dags, 'in all');
};

function checkId({ problems }: Compilation, node: JobNode | DagNode): void {
  const given = (node.authored?.options as { id?: unknown } | null | undefined)?.id;
  if (isId(node.id) && (given === undefined || typeof given === 'string')) return;
  problems.add(node, {
    code: 'id-invalid',
    field: 'id',
    message: `expected 1 to 100 lower-case letters, digits and hyphens, found ${describeValue(given ?? node.id)}`,
    hint:
      given === undefined
        ? `Give it one: @${'dag' in node ? 'Job' : 'Dag'}({ id: '...' }).`
        : 'Example: nightly-sales.',
  });
}

function checkUnique(
  problems: ProblemList,
  code: 'duplicate-job-id' | 'duplicate-dag-id',
  nodes: readonly (JobNode | DagNode)[],
  where: string,
): void {
  const byId = new Map<string, (JobNode | DagNode)[]>();
  for (const node of nodes) byId.set(node.id, [...(byId.get(node.id) ?? []), node]);
  for (const [id, same] of byId) {
    if (same.length < 2) continue;
    const places = same.map((node) => `${node.name} (${describeSite(siteOfSubject(node))})`).sort();
    const isOnePlace = new Set(places).size === 1;
    // One report for each but the first, so that every file shows one.
    const [, ...later] = same.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
    for (const node of later) {
      problems.add(node, {
        code,
        field: 'id',
        message: `expected one ${code === 'duplicate-job-id' ? 'job' : 'DAG'} with the id '${id}' ${where}, found ${places.join(' and ')}`,
        hint: isOnePlace
          ? 'The file was loaded twice: compile either the sources or the build output, not both.'
          : `Rename a class, or give one an id of its own: { id: '${id}-2' }.`,
      });
    }
  }
}

function placeOf(node: JobNode | DagNode): string {
  const site = siteOfSubject(node);
  return site === undefined ? '' : `${site.file}:${String(site.line).padStart(9, '0')}`;
}

function checkLength({ problems }: Compilation, dag: DagNode, job: JobNode): void {
  const length = dag.id.length + job.id.length;
  if (length <= maxServeKeyIds) return;
  problems.add(job, {
    code: 'id-too-long',
    field: 'id',
    message: `expected the ids of DAG and job to have at most ${maxServeKeyIds} characters together, found ${length}`,
    hint: 'Give one of them a shorter id.',
  });
}
