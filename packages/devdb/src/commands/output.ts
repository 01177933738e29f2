/** The writing end of a pipeline: `$out` and `$merge`. */
import { type MergeTarget, type OutputTarget, unmatchedError } from '../aggregate/output/output.js';
import { DbError } from '../errors.js';
import { DocumentScan, type Found } from '../planner/execute.js';
import { planQuery } from '../planner/plan.js';
import { compileFilter } from '../query/compile-filter.js';
import type { Collection } from '../storage/collection.js';
import {
  addIndexes,
  createCollection,
  dropEntry,
  renameCollection,
} from '../storage/definitions.js';
import { Blocked } from '../storage/store.js';
import { FieldChanges } from '../update/field-changes.js';
import { identicalDocs, identicalValues } from '../values/identical.js';
import { compareText } from '../values/order.js';
import { type Doc, ObjectId, type Value } from '../values/value.js';
import { type CommandContext, checkNewName, waitForUnblock } from './command.js';
import { expressionEnv } from './expression-env.js';
import { insertOne } from './insert.js';
import { checkValidator, readableCollection, refuseView, waitForWriters } from './namespaces.js';

/** Writes the documents of a pipeline where its last stage says. Throws 263 in a transaction. */
export async function writeOutput(
  context: CommandContext,
  output: OutputTarget,
  documents: Iterable<Doc>,
): Promise<void> {
  if (context.transaction !== null) {
    throw new DbError(263, `$${output.kind} cannot be used in a transaction`);
  }
  const database = output.kind === 'merge' ? output.database : context.database;
  const target = { ...context, database };
  refuseView(target, output.collection);
  // All is read before anything is written: the target may be the source.
  const all = [...documents];
  if (output.kind === 'out') await replaceCollection(target, output.collection, all);
  else await mergeInto(target, output, all);
}

/** All or nothing: the collection is replaced once every document is known to fit its indexes. */
async function replaceCollection(
  context: CommandContext,
  name: string,
  documents: readonly Doc[],
): Promise<void> {
  checkNewName(context.database, name);
  await waitForWriters(context, name);
  const { store, unit, database } = context;
  const old = store.catalogue.collection(database, name);
  if (old?.identity.options.get('capped') === true) {
    throw new DbError(
      17152,
      `namespace '${database}.${name}' is capped so it can't be used for $out`,
    );
  }
  const specs = (old?.indexes ?? []).slice(1).map((index) => index.spec);
  const options = old?.identity.options ?? new Map();
  const temporary = `tmp.agg_out.${new ObjectId().toHexString()}`;
  const fresh = createCollection(store, unit, database, temporary, options);
  try {
    addIndexes(fresh, unit, specs);
    for (const document of documents) {
      const complete = withId(document);
      checkValidator(context, fresh, complete);
      store.insert(unit, fresh, complete);
    }
  } catch (error) {
    dropEntry(store, unit, database, temporary);
    throw error;
  }
  renameCollection(store, unit, fresh, { database, name });
}

function withId(document: Doc): Doc {
  if (document.has('_id')) return document;
  return new Map<string, Value>([['_id', new ObjectId()], ...document]);
}

async function mergeInto(
  context: CommandContext,
  target: MergeTarget,
  documents: readonly Doc[],
): Promise<void> {
  const filters = documents.map((document) => target.filterFor(document));
  let unmatched = false;
  for (const [position, document] of documents.entries()) {
    for (;;) {
      try {
        if ((await mergeOne(context, target, document, filters[position]!)) === 'unmatched') {
          unmatched = true;
        }
        break;
      } catch (error) {
        if (!(error instanceof Blocked)) throw error;
        await waitForUnblock(context, error);
      }
    }
  }
  if (unmatched) throw unmatchedError();
}

async function mergeOne(
  context: CommandContext,
  target: MergeTarget,
  document: Doc,
  filter: Doc,
): Promise<'done' | 'unmatched'> {
  const collection = readableCollection(context, target.collection);
  const existing = collection === undefined ? null : findOne(context, collection, filter);
  const write = target.decide(document, existing?.document);
  if (write === null) return 'done';
  switch (write.kind) {
    case 'unmatched':
      return 'unmatched';
    case 'insert':
      await insertOne(context, target.collection, write.document);
      return 'done';
    case 'duplicate':
      // The insert says which unique index is in the way.
      await insertOne(context, target.collection, write.document);
      throw new DbError(
        11000,
        'E11000 duplicate key error: a document with the same fields exists',
      );
    case 'merge':
    case 'replace': {
      if (identicalDocs(write.existing, write.document)) return 'done';
      checkValidator(context, collection!, write.document, existing!.document);
      const description = write.kind === 'merge' ? setFields(write) : undefined;
      context.store.replace(
        context.unit,
        collection!,
        existing!.recordId,
        write.document,
        description,
      );
      return 'done';
    }
  }
}

/** A merge as change streams tell it: a `$set` of the fields that are other ones now. */
function setFields({ existing, document }: { existing: Doc; document: Doc }): Doc {
  const changes = new FieldChanges();
  for (const name of [...document.keys()].sort(compareText)) {
    const value = document.get(name);
    if (!existing.has(name) || !identicalValues(existing.get(name), value))
      changes.set(name, value);
  }
  return changes.describe();
}

function findOne(context: CommandContext, collection: Collection, filter: Doc): Found | null {
  const matcher = compileFilter(filter, expressionEnv(context));
  return new DocumentScan(collection, planQuery(collection, filter), matcher.matches).next();
}
