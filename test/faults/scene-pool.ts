/**
 * Many scenes of one kind. Setting a scene through the store takes longer than what is done in it, so one is set and the others are
 * its copies: every document of its DAG, with the names of the DAG and of its run replaced. A copy is made when it is
 * taken and not before: a leader that recovers another scene would work on it.
 */
import type { Document } from 'mongodb';
import type { DagDefinition } from '../../packages/core/src/model/definition.js';
import { decodeDefinition, encodeDefinition } from '../../packages/core/src/store/version-cache.js';
import type { Bench } from '../store/scheduling.js';
import type { Scene } from './scenes.js';

const collections = [
  'dags',
  'dagVersions',
  'runs',
  'tasks',
  'slots',
  'fires',
  'backfills',
] as const;

export class ScenePool<One extends Scene> {
  readonly #bench: Bench;
  readonly #make: () => Promise<One>;
  #template:
    | { readonly scene: One; readonly documents: ReadonlyMap<string, Document[]> }
    | undefined;

  constructor(bench: Bench, make: () => Promise<One>) {
    this.#bench = bench;
    this.#make = make;
  }

  async take(): Promise<One> {
    // The first is the original.
    if (this.#template === undefined) {
      const scene = await this.#make();
      this.#template = await this.#read(scene);
      return scene;
    }
    const { scene, documents } = this.#template;
    const rename = this.#renaming(scene, documents.get('runs')!);
    for (const name of collections) {
      const originals = documents.get(name)!;
      if (originals.length === 0) continue;
      const copies = originals.map((one) => rename(one) as Document);
      if (name === 'dagVersions') {
        for (const version of copies) {
          const original = await decodeDefinition(version.definition);
          version.definition = await encodeDefinition(rename(original) as DagDefinition);
        }
      }
      await this.#bench.db.collection(name).insertMany(copies);
    }
    return rename(scene) as One;
  }

  async #read(scene: One) {
    const documents = new Map<string, Document[]>();
    for (const name of collections) {
      const filter: Document = name === 'dags' ? { _id: scene.id } : { dagId: scene.id };
      documents.set(name, await this.#bench.db.collection(name).find(filter).toArray());
    }
    return { scene, documents };
  }

  /** A copy of anything made of plain data, under new names. */
  #renaming(scene: Scene, runs: readonly Document[]): (value: unknown) => unknown {
    const id = this.#bench.id('scene-copy');
    const ending = id.slice(-6).padStart(6, '0');
    // Two runs of one scene differ before their last characters, or else in the order of their making.
    const runIds = runs.map(({ _id }, index): [string, string] => [
      String(_id),
      `${String(_id).slice(0, -8)}${index}-${ending}`,
    ]);
    const rename = (text: string) =>
      runIds.reduce(
        (named, [from, to]) => named.replaceAll(from, to),
        text.replaceAll(scene.id, id),
      );
    const copy = (value: unknown): unknown => {
      if (typeof value === 'string') return rename(value);
      if (Array.isArray(value)) return value.map(copy);
      if (value === null || typeof value !== 'object') return value;
      if (Object.getPrototypeOf(value) !== Object.prototype) return value;
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, copy(one)]));
    };
    return copy;
  }
}
