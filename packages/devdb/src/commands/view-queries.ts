import { DbError } from '../errors.js';
import { iteratorSource } from '../state/cursors.js';
import type { View } from '../storage/catalogue.js';
import { type Doc, doc, Long, type Value } from '../values/value.js';
import type { CommandContext } from './command.js';
import { openCursor } from './open-cursor.js';
import { compileCommandPipeline, pipelineDocuments } from './pipelines.js';
import type { Query } from './query.js';
import { MAX_VIEW_DEPTH } from './views.js';

/** Throws for a view that cannot be: a cycle, or a pipeline that does not compile or writes. */
export function checkView(context: CommandContext, view: Omit<View, 'id'>): void {
  const { catalogue } = context.store;
  let on: string | undefined = view.viewOn;
  for (let depth = 0; on !== undefined; depth++) {
    if (on === view.name) {
      throw new DbError(5, `View cycle detected: ${context.database}.${view.name}`);
    }
    if (depth > MAX_VIEW_DEPTH) throw new DbError(165, 'View depth limit exceeded');
    on = catalogue.view(context.database, on)?.viewOn;
  }
  const last = view.pipeline.at(-1);
  if (last instanceof Map && (last.has('$out') || last.has('$merge'))) {
    throw new DbError(167, '$out and $merge are not allowed in the pipeline of a view');
  }
  compileCommandPipeline(context, view.viewOn, view.pipeline);
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
