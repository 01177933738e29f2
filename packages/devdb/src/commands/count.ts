import { DocumentScan } from '../planner/execute.js';
import { planQuery } from '../planner/plan.js';
import { toDouble } from '../values/numbers.js';
import { type Doc, doc, int32, isNumeric, Long, type Value } from '../values/value.js';
import {
  type Command,
  type CommandContext,
  collectionName,
  countField,
  documentField,
  wrongType,
} from './command.js';
import { commandFilter, refuseCollation } from './find.js';
import { readableCollection } from './namespaces.js';
import { viewDocuments } from './views.js';

export const count: Command = {
  name: 'count',
  fields: ['query', 'limit', 'skip', 'hint', 'collation', 'fields'],
  unknownField: 40415,
  run: runCount,
};

function runCount(context: CommandContext): Doc {
  const { body } = context;
  const name = collectionName(context);
  refuseCollation(body);
  const filter = documentField(body, 'query') ?? new Map();
  const matcher = commandFilter(context, filter);
  const skip = countField(body, 'skip') ?? 0;
  const limit = readLimit(body.get('limit'));
  const view = context.store.catalogue.view(context.database, name);
  let total = 0;
  if (view !== undefined) {
    for (const document of viewDocuments(context, view)) if (matcher.matches(document)) total += 1;
  } else {
    const collection = readableCollection(context, name);
    if (collection !== undefined) {
      const plan = planQuery(collection, filter, { hint: body.get('hint') });
      if (filter.size === 0) total = collection.records.size;
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
  if (!isNumeric(value)) throw wrongType('limit', value, 'number');
  return Math.abs(Math.trunc(toDouble(value)));
}

/** An Int32 if it fits, else a Long. */
export function wholeNumber(value: number): Value {
  return value <= 0x7fffffff ? int32(value) : Long.fromNumber(value);
}
