import { refuseWithoutCollection } from '../aggregate/compile-pipeline.js';
import { DbError } from '../errors.js';
import { planQuery } from '../planner/plan.js';
import { cursorReply, iteratorSource } from '../state/cursors.js';
import { typeName } from '../values/type-names.js';
import { type Doc, isDoc, isNumeric, Long, type Value } from '../values/value.js';
import { openChangeStream } from './change-streams.js';
import {
  booleanField,
  type Command,
  type CommandContext,
  checkNamespace,
  countField,
  documentField,
  strictBooleanField,
} from './command.js';
import { explainPipeline } from './explain.js';
import { readableCollection } from './namespaces.js';
import { openCursor } from './open-cursor.js';
import { writeOutput } from './output.js';
import { compileCommandPipeline, runPipeline } from './pipelines.js';
import { refuseCollation } from './query.js';
import { resolveName } from './views.js';

/** The batch size of an aggregate without one, as in MongoDB. */
const DEFAULT_BATCH = 101;

export const aggregate: Command = {
  name: 'aggregate',
  fields: [
    'pipeline',
    'cursor',
    'explain',
    'allowDiskUse',
    'bypassDocumentValidation',
    'collation',
    'hint',
    'fromMongos',
    'needsMerge',
    'exchange',
  ],
  unknownField: 9,
  inTransaction: true,
  run: runAggregate,
};

async function runAggregate(context: CommandContext): Promise<Doc> {
  const { body, database } = context;
  const target = body.get('aggregate');
  const name = readTarget(context, target);
  const pipeline = body.get('pipeline');
  if (!Array.isArray(pipeline)) {
    throw new DbError(14, "'pipeline' option must be specified as an array");
  }
  for (const stage of pipeline) {
    if (!isDoc(stage))
      throw new DbError(14, "Each element of the 'pipeline' array must be an object");
  }
  refuseCollation(body);
  strictBooleanField(body, 'allowDiskUse');
  const explains = booleanField(body, 'explain');
  const options = documentField(body, 'cursor');
  if (options === undefined && !explains) {
    throw new DbError(
      9,
      "The 'cursor' option is required, except for aggregate with the explain argument",
    );
  }
  for (const field of options?.keys() ?? []) {
    if (field !== 'batchSize')
      throw new DbError(
        9,
        `cursor object can't contain fields other than batchSize, found ${field}`,
      );
  }
  const batchSize = (options && countField(options, 'batchSize')) ?? DEFAULT_BATCH;
  const first = pipeline[0];
  if (isDoc(first) && first.has('$changeStream')) {
    return openChangeStream(context, name, pipeline as Doc[], batchSize);
  }
  const namespace = `${database}.${name ?? '$cmd.aggregate'}`;
  const resolved = name === null ? null : resolveName(context, name);
  const stages: Value[] = [...(resolved?.pipeline ?? []), ...pipeline];
  if (name === null) refuseWithoutCollection(pipeline);
  const compiled = compileCommandPipeline(context, resolved?.collection ?? null, stages);
  checkHint(context, resolved?.collection ?? null);
  checkOutputConcern(body, compiled.output?.kind);
  if (explains) return explainPipeline(context, resolved?.collection ?? null, stages);
  const documents = runPipeline(context, resolved?.collection ?? null, compiled);
  if (compiled.output !== undefined) {
    await writeOutput(context, compiled.output, documents);
    return cursorReply('firstBatch', [], Long.ZERO, namespace);
  }
  return openCursor(context, iteratorSource(documents[Symbol.iterator]()), namespace, {
    batchSize,
  });
}

/** Throws 72 for a pipeline that writes what it reads under `linearizable`. */
function checkOutputConcern(body: Doc, kind: string | undefined): void {
  const concern = body.get('readConcern');
  if (kind === undefined || !isDoc(concern) || concern.get('level') !== 'linearizable') return;
  throw new DbError(72, `$${kind} cannot be used with a read concern level of 'linearizable'`);
}

/** The collection's name, or null for `{aggregate: 1}`. */
function readTarget(context: CommandContext, target: Value): string | null {
  if (typeof target === 'string') {
    checkNamespace(context.database, target);
    return target;
  }
  if (!isNumeric(target)) {
    throw new DbError(14, `collection name has invalid type: ${typeName(target)}`);
  }
  if (Number(target.toString()) === 1) return null;
  throw new DbError(
    9,
    "Invalid command format: the 'aggregate' field must specify a collection name or 1",
  );
}

/** Throws 2 for a hint that names no index. Which index is used changes no answer. */
function checkHint(context: CommandContext, name: string | null): void {
  const collection = name === null ? undefined : readableCollection(context, name);
  if (collection !== undefined)
    planQuery(collection, new Map(), { hint: context.body.get('hint') });
}
