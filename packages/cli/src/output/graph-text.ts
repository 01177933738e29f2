import { describe } from '@flowline/core';
import type { DagDefinition } from '@flowline/core/internal';
import type { Terminal } from '../terminal/terminal.js';

/** The graph of a DAG as lines: each job, and what it waits for. */
export function graphText(terminal: Terminal, definition: DagDefinition, version: string): string {
  const { colors } = terminal;
  const schedule = definition.schedule === undefined ? 'on demand' : describe(definition.schedule);
  const width = Math.max(...definition.jobs.map(({ id }) => id.length));
  return [
    `${colors.bold(definition.id)} ${colors.dim(version)}  ${schedule}`,
    ...definition.jobs.map(({ id, dependsOn }) =>
      dependsOn.length === 0 ? `  ${id}` : `  ${id.padEnd(width)}  <- ${dependsOn.join(', ')}`,
    ),
  ].join('\n');
}

/** The graphs as one Mermaid flowchart, a subgraph for each DAG. */
export function graphMermaid(definitions: readonly DagDefinition[]): string {
  const node = (dag: string, job: string) => `${dag}__${job}`.replaceAll('-', '_');
  return [
    'flowchart LR',
    ...definitions.flatMap(({ id, jobs }) => [
      `  subgraph ${id.replaceAll('-', '_')}["${id}"]`,
      ...jobs.map((job) => `    ${node(id, job.id)}["${job.id}"]`),
      ...jobs.flatMap((job) =>
        job.dependsOn.map((dependency) => `    ${node(id, dependency)} --> ${node(id, job.id)}`),
      ),
      '  end',
    ]),
  ].join('\n');
}
