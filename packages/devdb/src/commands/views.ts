import { DbError } from '../errors.js';
import type { DocumentSource } from '../state/cursors.js';
import type { View } from '../storage/catalogue.js';
import { type Doc, doc, Long, type Value } from '../values/value.js';
import type { CommandContext } from './command.js';
import { openCursor, type Query } from './find.js';
import { compileCommandPipeline, pipelineDocuments } from './pipelines.js';

/** How many views may stand on each other, as in MongoDB. */
const MAX_DEPTH = 20;

/** What a view reads in the end: a collection (which may not exist) and the pipelines of all views on the way. */
export interface ResolvedView {
  readonly collection: string;
  readonly pipeline: readonly Value[];
}

/** Follows a name through views. Throws 5 for a cycle and 165 for too long a chain. */
export function resolveName(context: CommandContext, name: string): ResolvedView {
  const { catalogue } = context.store;
  let pipeline: readonly Value[] = [];
  let current = name;
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    const view = catalogue.view(context.database, current);
    if (view === undefined) return { collection: current, pipeline };
    pipeline = [...view.pipeline, ...pipeline];
    current = view.viewOn;
  }
  throw new DbError(
    165,
    `View depth too deep or view cycle detected on ${context.database}.${name}`,
  );
}

/** Throws for a view that cannot be: a cycle, or a pipeline that does not compile or writes. */
export function checkView(context: CommandContext, view: Omit<View, 'id'>): void {
  const { catalogue } = context.store;
  let on: string | undefined = view.viewOn;
  for (let depth = 0; on !== undefined; depth++) {
    if (on === view.name) {
      throw new DbError(5, `View cycle detected: ${context.database}.${view.name}`);
    }
    if (depth > MAX_DEPTH) throw new DbError(165, 'View depth limit exceeded');
    on = catalogue.view(context.database, on)?.viewOn;
  }
  const last = view.pipeline.at(-1);
  if (last instanceof Map && (last.has('$out') || last.has('$merge'))) {
    throw new DbError(167, '$out and $merge are not allowed in the pipeline of a view');
  }
  compileCommandPipeline(context, view.viewOn, view.pipeline);
}

/** All documents of a view. */
export function viewDocuments(context: CommandContext, view: View): Iterable<Doc> {
  return pipelineDocuments(context, view.name, []);
}

/** A find on a view: its pipeline with the parts of the find as further stages. */
export function aggregateView(context: CommandContext, view: View, query: Query): Doc {
  const stages: Value[] = [];
  if (query.filter.size > 0) stages.push(doc(['$match', query.filter]));
  if (query.sort && query.sort.size > 0) stages.push(doc(['$sort', query.sort]));
  if (query.skip > 0) stages.push(doc(['$skip', Long.fromNumber(query.skip)]));
  if (query.limit > 0) stages.push(doc(['$limit', Long.fromNumber(query.limit)]));
  if (query.projection && query.projection.size > 0) {
    stages.push(doc(['$project', query.projection]));
  }
  const documents = pipelineDocuments(context, view.name, stages)[Symbol.iterator]();
  return openCursor(context, iteratorSource(documents), `${context.database}.${view.name}`, {
    batchSize: query.batchSize ?? 101,
    limit: query.limit,
    singleBatch: query.singleBatch,
  });
}

/** A source over an iterator. */
export function iteratorSource(documents: Iterator<Doc>): DocumentSource {
  return {
    next() {
      const step = documents.next();
      return step.done ? null : step.value;
    },
    close() {
      documents.return?.();
    },
  };
}
