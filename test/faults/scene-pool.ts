/**
 * Scenes in stock. Setting a scene through the store takes longer than what is done in it, so one is set and the others are its
 * copies: every document of its DAG, with the names of the DAG and of its run replaced.
 */
import type { Document } from 'mongodb';
import type { DagDefinition } from '../../packages/core/src/model/definition.js';
import { decodeDefinition, encodeDefinition } from '../../packages/core/src/store/version-cache.js';
import type { Bench } from '../store/scheduling.js';
import type { Scene } from './scenes.js';

/** So many copies are made at once. */
const copiesAtOnce = 40;

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
  readonly #stock: One[] = [];

  constructor(bench: Bench, make: () => Promise<One>) {
    this.#bench = bench;
    this.#make = make;
  }

  async take(): Promise<One> {
    if (this.#stock.length === 0) await this.#refill();
    return this.#stock.shift()!;
  }

  async #refill(): Promise<void> {
    this.#template ??= await this.#read(await this.#make());
    const { scene, documents } = this.#template;
    const copies = Array.from({ length: copiesAtOnce }, () => this.#renaming(scene));
    const definitions = documents.get('dagVersions')!;
    for (const name of collections) {
      const originals = documents.get(name)!;
      if (originals.length === 0) continue;
      const renamed = copies.flatMap((rename) => originals.map((one) => rename(one) as Document));
      if (name === 'dagVersions') {
        for (const [index, version] of renamed.entries()) {
          const original = await decodeDefinition(
            definitions[index % definitions.length]!.definition,
          );
          const rename = copies[Math.floor(index / definitions.length)]!;
          version.definition = await encodeDefinition(rename(original) as DagDefinition);
        }
      }
      await this.#bench.db.collection(name).insertMany(renamed);
    }
    this.#stock.push(...copies.map((rename) => rename(scene) as One));
  }

  async #read(scene: One) {
    const documents = new Map<string, Document[]>();
    for (const name of collections) {
      const filter: Document = name === 'dags' ? { _id: scene.id } : { dagId: scene.id };
      documents.set(name, await this.#bench.db.collection(name).find(filter).toArray());
    }
    // The original is left as it is: nobody looks at it, and nothing in it comes due.
    return { scene, documents };
  }

  /** A copy of anything made of plain data, under new names. */
  #renaming(scene: Scene): (value: unknown) => unknown {
    const id = this.#bench.id('scene-copy');
    const runId =
      scene.runId === '' ? '' : `${scene.runId.slice(0, -6)}${id.slice(-6).padStart(6, '0')}`;
    const rename = (text: string) => {
      const named = text.replaceAll(scene.id, id);
      return runId === '' ? named : named.replaceAll(scene.runId, runId);
    };
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
