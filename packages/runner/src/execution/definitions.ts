import { NotFoundError } from '@flowline/core';
import type { DagDefinition, JobDefinition, Store } from '@flowline/core/internal';

const mostCached = 1_000;

/** Compiled definitions by version. Versions are immutable, so what was read once is right for ever. */
export class Definitions {
  readonly #store: Pick<Store, 'getVersion'>;
  readonly #cache = new Map<string, Promise<DagDefinition>>();

  constructor(store: Pick<Store, 'getVersion'>) {
    this.#store = store;
  }

  /** The definition of a DAG version. Throws NotFoundError when the database does not have it. */
  get(dagId: string, version: string): Promise<DagDefinition> {
    const key = `${dagId}/${version}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    const reading = this.#store.getVersion(dagId, version).then((definition) => {
      if (definition === null) {
        throw new NotFoundError(`version ${version} of the DAG ${dagId} is not in the database`);
      }
      return definition;
    });
    // A failed read must not be remembered.
    reading.catch(() => this.#cache.delete(key));
    if (this.#cache.size >= mostCached)
      this.#cache.delete(this.#cache.keys().next().value as string);
    this.#cache.set(key, reading);
    return reading;
  }

  /** One job of a DAG version. Throws NotFoundError. */
  async job(
    dagId: string,
    version: string,
    jobId: string,
  ): Promise<{ dag: DagDefinition; job: JobDefinition }> {
    const dag = await this.get(dagId, version);
    const job = dag.jobs.find((candidate) => candidate.id === jobId);
    if (job === undefined)
      throw new NotFoundError(`the DAG ${dagId} has no job ${jobId} in version ${version}`);
    return { dag, job };
  }
}
