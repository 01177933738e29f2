import type { AuthoredDependency } from '../../definition/graph.js';
import { nameOf } from '../../definition/graph.js';
import { readRecord } from '../../definition/records.js';
import { describeValue, isFlowError } from '../../errors.js';
import type { Compilation, Pass } from '../compilation.js';
import type { JobNode } from '../nodes.js';

/** Resolves each entry of `@DependsOn` to a job. */
export const link: Pass = (compilation) => {
  const jobOf = new Map<unknown, JobNode>();
  for (const job of compilation.jobs) jobOf.set(job.authored.target, job);
  for (const job of compilation.jobs) {
    job.authored.dependencies.forEach((dependency, index) => {
      const found = jobOf.get(dependency.value);
      if (found === undefined) {
        job.isLinked = false;
        reportUnresolved(compilation, job, dependency, index);
      } else if (job.dependencies.includes(found)) {
        compilation.problems.add(job, {
          code: 'dependency-twice',
          field: fieldOf(index),
          site: job.authored.dependenciesSite,
          message: `expected each job once, found ${found.name} twice`,
          hint: 'Its result is one argument; take it once.',
        });
      } else {
        job.dependencies.push(found);
      }
    });
  }
};

function reportUnresolved(
  { problems }: Compilation,
  job: JobNode,
  { value, thrown }: AuthoredDependency,
  index: number,
): void {
  const field = fieldOf(index);
  const site = job.authored.dependenciesSite;
  if (value === undefined || value === null || thrown !== undefined) {
    const found =
      thrown === undefined
        ? String(value)
        : `a function that threw: ${thrown instanceof Error || isFlowError(thrown) ? thrown.message : String(thrown)}`;
    problems.add(job, {
      code: 'dependency-undefined',
      field,
      site,
      message: `expected a class with @Job, found ${found}; the files of these two jobs probably import each other, so that the class did not exist yet`,
      hint: 'Move one of the two classes, or write @DependsOn(() => TheJob), which is looked up later.',
    });
    return;
  }
  const isDag = readRecord('Dag', value) !== undefined;
  const found =
    typeof value === 'function' ? `${nameOf(value)}, a class without it` : describeValue(value);
  problems.add(job, {
    code: 'dependency-unknown',
    field,
    site,
    message: `expected a class with @Job, found ${isDag ? `${nameOf(value)}, which is a @Dag` : found}`,
    hint: isDag
      ? `Write @Job({ dag: ${nameOf(value)} }) to join a DAG.`
      : typeof value === 'string'
        ? 'Import the class and name it without quotes.'
        : `Add @Job() to ${nameOf(value)}, or remove it here.`,
  });
}

function fieldOf(index: number): string {
  return `dependsOn[${index}]`;
}
