/**
 * Compiled definitions by DAG and version. They are immutable, so what was read once is kept.
 *
 * Stored as deflated JSON in one binary: a graph of 10,000 jobs stays far below a megabyte, and no name chosen by a user is
 * ever a field name of the database.
 */
import { promisify } from 'node:util';
import { deflate, inflate, inflateSync } from 'node:zlib';
import { Binary, type Collection } from 'mongodb';
import type { DagDefinition, JobDefinition } from '../model/definition.js';
import type { DagVersionDocument } from './collections.js';

const pack = promisify(deflate);
const unpack = promisify(inflate);

/** How many definitions are kept; the least recently used go first. */
const capacity = 500;

/** A definition with what the store asks of it again and again. */
export interface KnownVersion {
  readonly definition: DagDefinition;
  readonly jobs: ReadonlyMap<string, JobDefinition>;
  /** The jobs that depend on a job, in topological order. */
  readonly dependents: ReadonlyMap<string, readonly string[]>;
}

export class VersionCache {
  readonly #collection: Collection<DagVersionDocument>;
  readonly #known = new Map<string, Promise<KnownVersion | null>>();

  constructor(collection: Collection<DagVersionDocument>) {
    this.#collection = collection;
  }

  /** Null when there is no such version. Misses are not kept: it may be deployed later. */
  async get(dagId: string, version: string): Promise<KnownVersion | null> {
    const key = versionKey(dagId, version);
    const known = this.#known.get(key) ?? this.#read(key);
    this.#known.delete(key);
    this.#known.set(key, known);
    this.#forgetOldest();
    try {
      const found = await known;
      if (found === null) this.#known.delete(key);
      return found;
    } catch (error) {
      this.#known.delete(key);
      throw error;
    }
  }

  /** Reads those that are not known yet, all in one operation; what cannot be read is left to {@link get}, which says why. */
  async warm(wanted: readonly { readonly _id: string; readonly version: string }[]): Promise<void> {
    const keys = wanted.map(({ _id, version }) => versionKey(_id, version));
    const missing = [...new Set(keys)].filter((key) => !this.#known.has(key));
    if (missing.length < 2) return;
    for (const document of await this.#collection.find({ _id: { $in: missing } }).toArray()) {
      const read = decodeDefinition(document.definition).then(knownVersionOf);
      if (await read.catch(() => null)) this.#known.set(document._id, read);
    }
    this.#forgetOldest();
  }

  #forgetOldest(): void {
    while (this.#known.size > capacity) {
      this.#known.delete(this.#known.keys().next().value as string);
    }
  }

  async #read(key: string): Promise<KnownVersion | null> {
    const document = await this.#collection.findOne({ _id: key });
    return document === null ? null : knownVersionOf(await decodeDefinition(document.definition));
  }
}

/** `_id` of a version. */
export function versionKey(dagId: string, version: string): string {
  return `${dagId}/${version}`;
}

/** The stored form of a definition. */
export async function encodeDefinition(definition: DagDefinition): Promise<Binary> {
  return new Binary(await pack(Buffer.from(JSON.stringify(definition), 'utf8')));
}

/** Up to so many bytes are unpacked where they are: a thread of its own would take longer to be asked. */
const smallBytes = 16_384;

/** The definition of a stored form. */
export async function decodeDefinition(stored: Binary): Promise<DagDefinition> {
  const packed = stored.value();
  const bytes = packed.length <= smallBytes ? inflateSync(packed) : await unpack(packed);
  return JSON.parse(bytes.toString('utf8')) as DagDefinition;
}

function knownVersionOf(definition: DagDefinition): KnownVersion {
  const jobs = new Map(definition.jobs.map((job) => [job.id, job]));
  const dependents = new Map<string, string[]>();
  for (const job of definition.jobs) {
    for (const upstream of job.dependsOn) {
      const list = dependents.get(upstream);
      if (list) list.push(job.id);
      else dependents.set(upstream, [job.id]);
    }
  }
  return { definition, jobs, dependents };
}
