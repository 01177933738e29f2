import { refuseWithoutCollection } from '../aggregate/compile-pipeline.js';
import { DbError } from '../errors.js';
import { cursorReply } from '../state/cursors.js';
import { type Doc, isDoc, Long, type Value } from '../values/value.js';
import { openChangeStream } from './change-streams.js';
import {
  booleanField,
  type Command,
  type CommandContext,
  checkNamespace,
  countField,
  documentField,
  wrongType,
} from './command.js';
import { explainPipeline } from './explain.js';
import { openCursor, refuseCollation } from './find.js';
import { writeOutput } from './output.js';
import { compileCommandPipeline, runPipeline } from './pipelines.js';
import { iteratorSource, resolveName } from './views.js';

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
    throw pipeline === undefined
      ? new DbError(40414, "BSON field 'aggregate.pipeline' is missing but a required field")
      : wrongType('pipeline', pipeline, 'array');
  }
  for (const stage of pipeline) {
    if (!isDoc(stage))
      throw new DbError(14, "Each element of the 'pipeline' array must be an object");
  }
  refuseCollation(body);
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

/** The collection's name, or null for `{aggregate: 1}`. */
function readTarget(context: CommandContext, target: Value): string | null {
  if (typeof target === 'string') {
    checkNamespace(context.database, target);
    return target;
  }
  if (Number(target?.toString()) === 1) return null;
  throw new DbError(
    9,
    "Invalid command format: the 'aggregate' field must specify a collection name or 1",
  );
}
