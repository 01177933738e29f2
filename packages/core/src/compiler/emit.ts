import { type DagDefinition, definitionSchema, type JobDefinition } from '../model/definition.js';
import { serveKeyOf, versionOf } from './canonical.js';
import type { DagNode, JobNode } from './nodes.js';
import { topologicalOrder } from './topology.js';

/** A DAG as it is deployed. */
export interface CompiledDag {
  readonly id: string;
  /** The first 20 hex digits of the SHA-256 of the definition's canonical JSON. */
  readonly version: string;
  readonly definition: DagDefinition;
}

/** Writes the definition of a DAG without errors. */
export function emitDag(dag: DagNode): CompiledDag {
  if (dag.settings === undefined) throw new TypeError(`the options of ${dag.name} were not read`);
  const definition: DagDefinition = {
    schema: definitionSchema,
    id: dag.id,
    ...dag.settings,
    jobs: topologicalOrder(dag.jobs).map((job) => emitJob(dag, job)),
  };
  return { id: dag.id, version: versionOf(definition), definition };
}

/** The serve key of a job in its DAG. */
export function serveKeyIn(dag: DagNode, job: JobNode): string {
  return serveKeyOf(
    dag.id,
    job.id,
    job.dependencies.map(({ id }) => id),
  );
}

function emitJob(dag: DagNode, job: JobNode): JobDefinition {
  if (job.settings === undefined) throw new TypeError(`the options of ${job.name} were not read`);
  return {
    id: job.id,
    dependsOn: job.dependencies.map(({ id }) => id),
    serveKey: serveKeyIn(dag, job),
    ...job.settings,
  };
}
