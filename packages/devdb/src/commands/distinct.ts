import { DbError } from '../errors.js';
import { distinctDocuments, planDistinct } from '../planner/distinct-scan.js';
import { DocumentScan } from '../planner/execute.js';
import { planQuery } from '../planner/plan.js';
import { encodeKeyPart } from '../values/index-key.js';
import { type Doc, doc, isDoc, type Value } from '../values/value.js';
import {
  type Command,
  type CommandContext,
  collectionName,
  documentField,
  wrongType,
} from './command.js';
import { timelessEnv } from './expression-env.js';
import { commandFilter } from './find.js';
import { readableCollection } from './namespaces.js';
import { pipelineDocuments } from './pipelines.js';
import { refuseOptionalCollation } from './query.js';

export const distinct: Command = {
  name: 'distinct',
  fields: ['key', 'query', 'collation'],
  unknownField: 40415,
  inTransaction: true,
  run: runDistinct,
};

function runDistinct(context: CommandContext): Doc {
  const { body } = context;
  const name = collectionName(context);
  refuseOptionalCollation(body);
  const key = body.get('key');
  if (key === undefined)
    throw new DbError(40414, "BSON field 'distinct.key' is missing but a required field");
  if (typeof key !== 'string') throw wrongType('distinct.key', key, 'string');
  if (key.includes('\0'))
    throw new DbError(31032, 'Key field cannot contain an embedded null byte');
  const filter = documentField(body, 'query') ?? new Map();
  const matcher = commandFilter(context, filter, timelessEnv(context));
  const found = new Map<string, Value>();
  const take = (document: Doc) => collectValues(document, key.split('.'), found);
  const view = context.store.catalogue.view(context.database, name);
  if (view !== undefined) {
    for (const document of pipelineDocuments(context, view.name, []))
      if (matcher.matches(document)) take(document);
  } else {
    const collection = readableCollection(context, name);
    if (collection !== undefined) {
      const leaps = planDistinct(collection, filter, key);
      if (leaps !== null) {
        for (const document of distinctDocuments(collection, leaps, matcher.matches))
          take(document);
      } else {
        const scan = new DocumentScan(collection, planQuery(collection, filter), matcher.matches);
        for (let next = scan.next(); next !== null; next = scan.next()) take(next.document);
      }
    }
  }
  return doc(['values', [...found.values()]]);
}

/** Adds the values at a path: arrays on the way and at the end count by their elements. */
function collectValues(from: Value, path: readonly string[], found: Map<string, Value>): void {
  let value = from;
  for (let depth = 0; depth < path.length; depth++) {
    const part = path[depth]!;
    if (Array.isArray(value)) {
      if (/^\d+$/.test(part)) {
        const position = Number(part);
        if (position < value.length) collectValues(value[position], path.slice(depth + 1), found);
      }
      for (const element of value)
        if (isDoc(element)) collectValues(element, path.slice(depth), found);
      return;
    }
    if (!isDoc(value) || !value.has(part)) return;
    value = value.get(part);
  }
  for (const one of Array.isArray(value) ? value : [value]) {
    const text = encodeKeyPart(one);
    if (!found.has(text)) found.set(text, one);
  }
}
