import { badValue, failedToParse } from '../errors.js';
import { DocumentScan } from '../planner/execute.js';
import { planQuery } from '../planner/plan.js';
import { toDouble } from '../values/numbers.js';
import { type Doc, doc, int32, isNumeric, Long, type Value } from '../values/value.js';
import { type Command, type CommandContext, collectionName, documentField } from './command.js';
import { timelessEnv } from './expression-env.js';
import { commandFilter } from './find.js';
import { readableCollection } from './namespaces.js';
import { pipelineDocuments } from './pipelines.js';
import { refuseOptionalCollation } from './query.js';

export const count: Command = {
  name: 'count',
  fields: ['query', 'limit', 'skip', 'hint', 'collation', 'fields'],
  unknownField: 40415,
  run: runCount,
};

function runCount(context: CommandContext): Doc {
  const { body } = context;
  const name = collectionName(context);
  refuseOptionalCollation(body);
  const filter = documentField(body, 'query') ?? new Map();
  const matcher = commandFilter(context, filter, timelessEnv(context));
  const skip = readSkip(body.get('skip'));
  const limit = readLimit(body.get('limit'));
  const view = context.store.catalogue.view(context.database, name);
  let total = 0;
  if (view !== undefined) {
    for (const document of pipelineDocuments(context, view.name, []))
      if (matcher.matches(document)) total += 1;
  } else {
    const collection = readableCollection(context, name);
    if (collection !== undefined) {
      const plan = planQuery(collection, filter, { hint: body.get('hint') });
      // A hint is followed, even to an index that leaves documents out.
      if (filter.size === 0 && plan.stage === 'COLLSCAN') total = collection.records.size;
      else total = new DocumentScan(collection, plan, matcher.matches).toArray().length;
    }
  }
  const rest = Math.max(0, total - skip);
  const counted = limit === 0 ? rest : Math.min(rest, limit);
  return doc(['n', wholeNumber(counted)]);
}

/** A negative limit means the same as the positive one. */
function readLimit(value: Value): number {
  if (value === undefined || value === null) return 0;
  if (!isNumeric(value)) throw badValue('limit value is not a valid number');
  const limit = toDouble(value);
  if (!Number.isInteger(limit)) throw failedToParse(`Expected an integer: limit: ${limit}`);
  if (limit <= -(2 ** 63)) throw badValue('limit value for count cannot be min long');
  return Math.abs(limit);
}

function readSkip(value: Value): number {
  if (value === undefined || value === null) return 0;
  if (!isNumeric(value)) throw badValue('skip value is not a valid number');
  const skip = toDouble(value);
  if (skip < 0) throw failedToParse(`Expected a positive number in: skip: ${skip}`);
  if (!Number.isInteger(skip)) throw failedToParse(`Expected an integer: skip: ${skip}`);
  return skip;
}

/** An Int32 if it fits, else a Long. */
export function wholeNumber(value: number): Value {
  return value <= 0x7fffffff ? int32(value) : Long.fromNumber(value);
}
