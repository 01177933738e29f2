import { DbError } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import { fromPlain, fromPlainDoc, type Plain } from '../values/from-plain.js';
import type { Doc, Value } from '../values/value.js';
import { compilePipeline, type Pipeline } from './compile-pipeline.js';
import type { PipelineEnv } from './stage.js';

/** Documents written as literals. */
export type PlainDocs = readonly { readonly [key: string]: Plain }[];

/** `$$NOW` of {@link runPlain}. */
const NOW = new Date('2024-02-29T12:00:00.000Z');

/** An environment over collections in memory; the pipeline runs on the collection `c`. */
export function plainEnv(collections: { readonly [name: string]: PlainDocs }): PipelineEnv {
  const env = { now: NOW };
  return {
    ...env,
    database: 'test',
    collection: 'c',
    *readCollection(name, filter = new Map()) {
      const { matches } = compileFilter(filter, env);
      for (const plain of collections[name] ?? []) {
        const document = fromPlainDoc(plain);
        if (matches(document)) yield document;
      }
    },
    random: () => 0,
  };
}

/** Compiles a pipeline that is written as a literal. */
export function compilePlain(
  stages: readonly Plain[],
  collections: { readonly [name: string]: PlainDocs } = {},
): Pipeline {
  return compilePipeline(fromPlain(stages) as Value[], plainEnv(collections));
}

/**
 * Runs a pipeline over the collection `c`; an error of MongoDB's is given as `error <code>`, so
 * that tables of cases can hold both outcomes.
 */
export function runPlain(
  stages: readonly Plain[],
  collections: { readonly [name: string]: PlainDocs },
): Doc[] | string {
  try {
    const { run } = compilePlain(stages, collections);
    return [...run((collections.c ?? []).map(fromPlainDoc))];
  } catch (error) {
    if (error instanceof DbError) return `error ${error.code}`;
    throw error;
  }
}
