/** The commands' side of aggregation: what a pipeline reads, and what its last stage writes. */
import { compilePipeline, type Pipeline } from '../aggregate/compile-pipeline.js';
import type { PipelineEnv } from '../aggregate/stage.js';
import { DocumentScan } from '../planner/execute.js';
import { planQuery } from '../planner/plan.js';
import { compileFilter } from '../query/compile-filter.js';
import { type Doc, doc, int32, isDoc, Long, type Value } from '../values/value.js';
import type { CommandContext } from './command.js';
import { expressionEnv } from './expression-env.js';
import { readableCollection } from './namespaces.js';
import { resolveName } from './views.js';
import { WorkTime } from './work-time.js';

/** Compiles a pipeline over a collection of the command's database; null for `{aggregate: 1}`. */
export function compileCommandPipeline(
  context: CommandContext,
  collection: string | null,
  pipeline: readonly Value[],
): Pipeline {
  const { nowMs } = context.store.clock;
  const work = new WorkTime(nowMs, context.deadlineMs - nowMs());
  const env = { ...pipelineEnv(context, collection), checkTime: () => work.check() };
  const compiled = compilePipeline(pipeline, env);
  return { ...compiled, run: (source) => work.measure(compiled.run(source)) };
}

/** The documents that come out of a pipeline over a collection or view; it must not write. */
export function pipelineDocuments(
  context: CommandContext,
  name: string,
  pipeline: readonly Value[],
): Iterable<Doc> {
  const resolved = resolveName(context, name);
  const compiled = compileCommandPipeline(context, resolved.collection, [
    ...resolved.pipeline,
    ...pipeline,
  ]);
  return runPipeline(context, resolved.collection, compiled);
}

/** Runs a compiled pipeline over what it reads. */
export function runPipeline(
  context: CommandContext,
  collection: string | null,
  compiled: Pipeline,
): Iterable<Doc> {
  const reads = collection !== null && !compiled.ignoresSource;
  return compiled.run(
    reads ? readDocuments(context, collection, compiled.leadingFilter ?? new Map()) : [],
  );
}

/** The documents of a collection that match a filter, as they are now. */
export function readDocuments(context: CommandContext, name: string, filter: Doc): Iterable<Doc> {
  const collection = readableCollection(context, name);
  if (collection === undefined) return [];
  const matcher = compileFilter(filter, expressionEnv(context));
  const scan = new DocumentScan(collection, planQuery(collection, filter), matcher.matches);
  const found = scan.toArray();
  // Natural order, whatever index found them.
  if (scan.plan.stage !== 'COLLSCAN') found.sort((left, right) => left.recordId - right.recordId);
  return found.map(({ document }) => document);
}

export function pipelineEnv(context: CommandContext, collection: string | null): PipelineEnv {
  return {
    ...expressionEnv(context),
    database: context.database,
    collection,
    readCollection(name, filter = new Map()) {
      if (context.store.catalogue.view(context.database, name) === undefined) {
        return readDocuments(context, name, filter);
      }
      const stages = filter.size > 0 ? [doc(['$match', filter])] : [];
      return pipelineDocuments(context, name, stages);
    },
    random: context.server.random,
    generate: (stage, specification) => generate(context, stage, specification, collection),
    isUniqueKey(name, fields) {
      const wanted = [...fields].sort().join('\0');
      if (wanted === '_id') return true;
      const found = readableCollection(context, name);
      return (found?.indexes ?? []).some(
        ({ spec }) =>
          spec.unique &&
          spec.partialFilter === undefined &&
          [...spec.key.keys()].sort().join('\0') === wanted,
      );
    },
  };
}

function generate(
  context: CommandContext,
  stage: string,
  specification: Value,
  collection: string | null,
): Iterable<Doc> | undefined {
  switch (stage) {
    case '$currentOp':
    case '$planCacheStats':
      return [];
    case '$listLocalSessions':
      return context.server.sessions.all().map((session) => doc(['_id', session.lsid]));
    case '$indexStats':
      return (
        collection === null ? [] : (readableCollection(context, collection)?.indexes ?? [])
      ).map((index) =>
        doc(
          ['name', index.spec.name],
          ['key', index.spec.key],
          ['host', context.server.address],
          ['accesses', doc(['ops', Long.ZERO], ['since', context.now])],
        ),
      );
    case '$collStats': {
      const found = collection === null ? undefined : readableCollection(context, collection);
      const stats = doc(
        ['ns', `${context.database}.${collection}`],
        ['host', context.server.address],
        ['localTime', context.now],
      );
      if (isDoc(specification) && specification.has('count')) {
        stats.set('count', int32(found?.records.size ?? 0));
      }
      return [stats];
    }
    default:
      return undefined;
  }
}
